package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadWalltime is a promised run time: a Duration, or UNLIMITED.
type WorkloadWalltime string

// UnlimitedWalltime is the WorkloadWalltime without an end.
const UnlimitedWalltime WorkloadWalltime = "UNLIMITED"

// RequeuePolicy says what becomes of a workload that is evicted.
// +kubebuilder:validation:Enum=Requeue;Never
type RequeuePolicy string

// The values of RequeuePolicy.
const (
	RequeueAgain RequeuePolicy = "Requeue"
	RequeueNever RequeuePolicy = "Never"
)

// QueuedWorkloadSpec is what was asked for. Berth derives it from the owner
// and follows the owner's edits while the workload waits.
type QueuedWorkloadSpec struct {
	// queueName is the LocalQueue, in the same namespace. It need not exist
	// yet: until it does the workload waits with the reason QueueNotFound.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	QueueName string `json:"queueName,omitempty"`

	// podSets are the groups of like pods; all of them start, or none.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	PodSets []PodSet `json:"podSets,omitempty"`

	// walltime is the declared limit: a duration such as 1d12h, or UNLIMITED.
	// Left out: the queue's default. A text that is neither is kept as it was
	// written, and the workload waits with the reason InvalidSpec.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Walltime WorkloadWalltime `json:"walltime,omitempty"`

	// priority ranks the workload within its queue's tier, higher first: the
	// value of its PriorityClass. Left out: 0.
	// +optional
	Priority *int32 `json:"priority,omitempty"`

	// priorityClassName is the PriorityClass that priority came from.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// submitter is the user who made the owner, as the API server saw him.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Submitter string `json:"submitter,omitempty"`

	// accountName is the Account that is to be charged, as the owner says. Left
	// out: the LocalQueue's, if that has one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	AccountName string `json:"accountName,omitempty"`

	// timeMin is the shortest acceptable limit for a start now. Left out: the
	// walltime.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeMin WorkloadWalltime `json:"timeMin,omitempty"`

	// begin is the time before which the workload takes no part: RFC 3339, or
	// what was written instead. Left out: at once.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Begin string `json:"begin,omitempty"`

	// endBefore is the latest end that is wanted: RFC 3339, or what was
	// written instead. Left out: none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	EndBefore string `json:"endBefore,omitempty"`

	// after lists what must have happened before: after:NAME, afterok:NAME,
	// afterany:NAME, afternotok:NAME, singleton. Left out: nothing.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=300
	After []string `json:"after,omitempty"`

	// jobName is the name that singleton compares. Left out: the owner's name.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	JobName string `json:"jobName,omitempty"`

	// exclusive says whether the workload shares its nodes. Left out: as the
	// queue says.
	// +optional
	Exclusive ExclusiveMode `json:"exclusive,omitempty"`

	// requeue says whether the workload waits again when it is evicted: Requeue,
	// or Never, which ends it as Preempted. Left out: Requeue.
	// +optional
	Requeue RequeuePolicy `json:"requeue,omitempty"`

	// checkpoint is how the workload wants to hear that it will be ended, as in
	// the annotation berth.dev/checkpoint. Left out: its pods are told to end.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Checkpoint string `json:"checkpoint,omitempty"`

	// hold says whether the workload is kept from starting: None or Hold.
	// Left out: None.
	// +optional
	// +kubebuilder:validation:Enum=None;Hold
	Hold HoldPolicy `json:"hold,omitempty"`
}

// PodSetTopology is where in the network pods lie.
type PodSetTopology struct {
	// required is the level of the flavor's Topology under one domain of which
	// all pods lie.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Required string `json:"required,omitempty"`
}

// PodSet is a group of like pods.
type PodSet struct {
	// name tells the pod sets of a workload apart.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// count is the number of pods that run at the same time. 0 means the owner
	// is paused: nothing starts and nothing is charged.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Count *int32 `json:"count,omitempty"`

	// minCount is the fewest pods that an elastic set starts with. Left out:
	// count.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MinCount *int32 `json:"minCount,omitempty"`

	// topology says where in the network all pods of the workload lie. Left out:
	// anywhere.
	// +optional
	Topology *PodSetTopology `json:"topology,omitempty"`

	// requests is what one pod asks for in all: containers, init containers,
	// sidecars, overhead and pod-level requests, as kube-scheduler counts them.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// nodeSelector is the pods' own.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// affinity is the pods' own. Required node affinity is honoured, and
	// required anti-affinity of the pods to one another by host name; other
	// rules between pods are answered with InvalidSpec.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints are the pods' own. One with DoNotSchedule is
	// answered with InvalidSpec.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// tolerations are the pods' own.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// hostPorts are the ports of the node that a pod takes for itself: two pods
	// with one cannot share a node.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	HostPorts []int32 `json:"hostPorts,omitempty"`

	// labels are the pods' own labels, kept only where an anti-affinity rule
	// needs them.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
}

// QueuedWorkloadStatus is what Berth answers. Only pkg/apply writes it.
type QueuedWorkloadStatus struct {
	// conditions are Pending, Admitted, PodsReady, Evicted and Finished.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// summary is the line that `kubectl get queuedworkloads` prints.
	// +optional
	Summary *WorkloadSummary `json:"summary,omitempty"`

	// plannedStartTime is when the waiting workload will start at the latest,
	// as far as declared walltimes tell. It binds over a restart of Berth.
	// Absent: not planned; the Pending condition says why.
	// +optional
	PlannedStartTime *metav1.Time `json:"plannedStartTime,omitempty"`

	// basis is what the Pending condition and plannedStartTime rest on, in words
	// for programs: a digest of what was asked, and for each ClusterQueue its
	// tier, and its walltimes where they count. Where it is another one when Berth
	// comes back, something was edited meanwhile, and the workload is ranked anew.
	// Absent: not known, and plannedStartTime binds.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Basis string `json:"basis,omitempty"`

	// allocation is what the started workload holds. It stays as a record when
	// the workload has finished.
	// +optional
	Allocation *Allocation `json:"allocation,omitempty"`

	// notice is what the running workload was told: that it is being taken
	// back, or, with the cause Walltime, that its deadline comes near. Absent:
	// nothing.
	// +optional
	Notice *WorkloadNotice `json:"notice,omitempty"`

	// nomination is the placement that is kept for the waiting workload while
	// its victims end. It binds over a restart of Berth. Absent: none is.
	// +optional
	Nomination *WorkloadNomination `json:"nomination,omitempty"`

	// runs are the last ten runs that have ended, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Runs []WorkloadRun `json:"runs,omitempty"`

	// restarts is how often the workload was taken back and queued again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Restarts *int32 `json:"restarts,omitempty"`

	// requeueAfter is the time before which a workload that could not be
	// started is not tried again.
	// +optional
	RequeueAfter *metav1.Time `json:"requeueAfter,omitempty"`

	// dependencies are what came of the work that spec.after names, as far as
	// it has come to something. It binds over a restart of Berth, when that
	// work itself may have been deleted.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Dependencies []DependencyOutcome `json:"dependencies,omitempty"`
}

// DependencyOutcome is what came of work that a workload waits for.
type DependencyOutcome struct {
	// name is that of the Job or Pod, or of the array, as in spec.after.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=300
	Name string `json:"name,omitempty"`

	// state is Started, or the final state: Completed, Failed, Timeout,
	// Cancelled. An array has that of its first member that did not complete.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`

	// workload is the QueuedWorkload that it was. Absent for an array.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Workload string `json:"workload,omitempty"`

	// member is the index of the first member of the array that did not
	// complete. Absent: all have, or it is no array.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Member *int32 `json:"member,omitempty"`
}

// WorkloadSummary is one workload in one line.
type WorkloadSummary struct {
	// clusterQueue is the ClusterQueue behind the LocalQueue, when known.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ClusterQueue string `json:"clusterQueue,omitempty"`

	// state is Pending, Starting, Running, Stopping, or the final state:
	// Completed, Failed, Timeout, Cancelled, Preempted, NodeFailed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`

	// reason is why it waits, how it started, or why it is stopping.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// start is the real start, or the planned one marked with "~".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Start string `json:"start,omitempty"`

	// until is when it ends: its deadline while it runs, the end of its grace
	// while it is stopping, and its end when it has ended. Absent while it
	// waits, and where it has no limit.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Until string `json:"until,omitempty"`

	// message says in a line how it stands now: what it waits for, what keeps
	// its pods, until when it runs, how it ended. The conditions say it in full.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// gpus is the number of GPUs of all pods together.
	// +optional
	GPUs *int64 `json:"gpus,omitempty"`

	// nodes is the number of nodes it runs on. Absent while it waits.
	// +optional
	Nodes *int32 `json:"nodes,omitempty"`
}

// Allocation is what a started workload holds: where, from when, until when.
type Allocation struct {
	// clusterQueue is the queue that is charged.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterQueue string `json:"clusterQueue,omitempty"`

	// flavor is the ResourceFlavor it runs in. Absent in a queue without flavors.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Flavor string `json:"flavor,omitempty"`

	// via is how it came to start: Order, Backfill (before a higher-ranked
	// workload, without delaying it), or Preemption (in the place of others).
	// +optional
	// +kubebuilder:validation:Enum=Order;Backfill;Preemption
	Via string `json:"via,omitempty"`

	// startTime is when the allocation was made.
	// +required
	StartTime metav1.Time `json:"startTime,omitempty"`

	// deadline is startTime plus the granted walltime; the run is ended then.
	// Absent: no limit.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`

	// walltime is the spec's walltime that the deadline answers, be it by leaving
	// it as it was; "": none was declared. Where the spec has another one, it was
	// edited and is still to be answered. Absent: not known, taken as answered.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Walltime *WorkloadWalltime `json:"walltime,omitempty"`

	// plannedStartTime is the last planned start before this one, kept so that
	// plan and reality can be compared. Absent: it was never planned.
	// +optional
	PlannedStartTime *metav1.Time `json:"plannedStartTime,omitempty"`

	// readyTime is when the pods of this run were first all ready. Absent: they
	// were not yet.
	// +optional
	ReadyTime *metav1.Time `json:"readyTime,omitempty"`

	// podSets say which pod runs where.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	PodSets []PodSetAllocation `json:"podSets,omitempty"`
}

// PodSetAllocation says which pods of a pod set run where.
type PodSetAllocation struct {
	// name is the pod set.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// count is the number of pods that were started.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count *int32 `json:"count,omitempty"`

	// domains are the hosts in the order of the pods' ranks, run-length
	// encoded: [{host: a, pods: 2}, {host: b, pods: 1}] puts ranks 0 and 1 on
	// a, rank 2 on b.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100000
	Domains []HostRun `json:"domains,omitempty"`
}

// HostRun is a number of consecutive ranks on one host.
type HostRun struct {
	// host is the name of the node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`

	// pods is the number of consecutive ranks there.
	// +required
	// +kubebuilder:validation:Minimum=1
	Pods int32 `json:"pods,omitempty"`
}

// WorkloadNotice tells a running workload that it will be ended, why, and how
// long it has.
type WorkloadNotice struct {
	// cause is why: Preempted, Reclaimed, Cancelled, Drained, NodeLost,
	// StartTimeout, Suspended, or Walltime.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Cause string `json:"cause,omitempty"`

	// by is who or what: the Job that takes the place (namespace/name), or the
	// error that led to it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	By string `json:"by,omitempty"`

	// for is the QueuedWorkload (namespace/name) that takes the place. Absent:
	// none does.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	For string `json:"for,omitempty"`

	// time is when the notice was given.
	// +required
	Time metav1.Time `json:"time,omitempty"`

	// until is the end of the grace: the pods are told to end then at the
	// latest, and sooner if all of them acknowledge. Where they are told at
	// once (no checkpoint, or term), they are killed then.
	// +required
	Until metav1.Time `json:"until,omitempty"`

	// stopTime is when the owner was suspended, so that its pods end. Absent:
	// they run on.
	// +optional
	StopTime *metav1.Time `json:"stopTime,omitempty"`

	// then is what becomes of the workload when its pods are gone: Preempted or
	// Cancelled for good, or Requeued. Absent, with the cause Walltime: the
	// deadline ends it.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Then string `json:"then,omitempty"`
}

// WorkloadNomination is a placement that is kept while those who hold it end.
type WorkloadNomination struct {
	// cause is what the victims are told: Preempted or Reclaimed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Cause string `json:"cause,omitempty"`

	// since is when the victims had their notice.
	// +required
	Since metav1.Time `json:"since,omitempty"`

	// victims are the QueuedWorkloads (namespace/name) that make room.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MaxLength=317
	Victims []string `json:"victims,omitempty"`

	// allocation is what the workload will hold; its startTime is when the last
	// victim is gone at the latest.
	// +required
	Allocation Allocation `json:"allocation,omitempty"`
}

// WorkloadRun is one run that has ended.
type WorkloadRun struct {
	// start is when the run was admitted.
	// +required
	Start metav1.Time `json:"start,omitempty"`

	// end is when the last pod was gone, or the owner ended.
	// +required
	End metav1.Time `json:"end,omitempty"`

	// state is how it ended: Completed, Failed, Timeout, Cancelled, Preempted, NodeFailed,
	// Requeued.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`

	// notice is when it was told that it is being taken back. Absent when it
	// ended by itself.
	// +optional
	Notice *metav1.Time `json:"notice,omitempty"`

	// cause is why it was taken back. Absent when it ended by itself.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Cause string `json:"cause,omitempty"`

	// by is who or what took it back, or the error that did.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	By string `json:"by,omitempty"`

	// meanwhile is what else happened to it before its last pod was gone, such as
	// the loss of one of its nodes. Absent when nothing did.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Meanwhile string `json:"meanwhile,omitempty"`
}

// QueuedWorkload is one unit of admission. Berth makes one for each queued Job
// and each queued Pod without an owner; people read it, Berth writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=qw,categories=berth
// +kubebuilder:printcolumn:name="Queue",type=string,JSONPath=`.spec.queueName`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.summary.state`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.summary.reason`
// +kubebuilder:printcolumn:name="Start",type=string,JSONPath=`.status.summary.start`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.status.summary.until`
// +kubebuilder:printcolumn:name="GPUs",type=integer,JSONPath=`.status.summary.gpus`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.summary.nodes`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.summary.message`
type QueuedWorkload struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what was asked for.
	// +required
	Spec QueuedWorkloadSpec `json:"spec,omitempty"`
	// status is what Berth answers.
	// +optional
	Status QueuedWorkloadStatus `json:"status,omitempty"`
}

// QueuedWorkloadList is a list of QueuedWorkloads.
//
// +kubebuilder:object:root=true
type QueuedWorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []QueuedWorkload `json:"items"`
}
