package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// QueueState says what a ClusterQueue does with work.
// +kubebuilder:validation:Enum=Up;Drain;Down;Inactive
type QueueState string

// The states of a ClusterQueue, as a Slurm partition has them.
const (
	QueueUp       QueueState = "Up"       // accepts and starts
	QueueDrain    QueueState = "Drain"    // accepts nothing new, starts what is queued
	QueueDown     QueueState = "Down"     // accepts, starts nothing
	QueueInactive QueueState = "Inactive" // accepts nothing, starts nothing
)

// Duration is a length of time as people write it: "90s", "30m", "2h", "7d",
// "1d12h". Units are d, h, m and s, each at most once, from large to small.
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=24
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,4}d)?([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?$')",messageExpression="'\"' + self + '\" is not a duration: write days, hours, minutes and seconds such as 90s, 30m, 2h, 7d or 1d12h, at most 9999d'"
type Duration string

// ClusterQueueSpec is what an admin sets.
// +kubebuilder:validation:XValidation:rule="has(self.cohortName) || !has(self.flavors) || self.flavors.all(f, !has(f.resources) || f.resources.all(r, !has(r.borrowingLimit) && !has(r.lendingLimit)))",message="borrowingLimit and lendingLimit need a cohort to borrow from and to lend to: set spec.cohortName, or leave them out",fieldPath=".flavors"
type ClusterQueueSpec struct {
	// state says what the queue does with work: Up (accept and start), Drain
	// (accept nothing new, start what is queued), Down (accept, start none) or
	// Inactive (neither). Left out: Up.
	// +optional
	// +default="Up"
	State QueueState `json:"state,omitempty"`

	// priorityTier ranks queues: work of a higher tier goes first, whatever
	// the priorities within the queues say. Left out: 1.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	PriorityTier *int32 `json:"priorityTier,omitempty"`

	// cohortName is the Cohort whose members this queue lends quota to, and
	// borrows from, while it is idle. If there is none of that name, the queue
	// has its own quota alone and its Active condition says so. Left out: none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	CohortName string `json:"cohortName,omitempty"`

	// flavors are the sets of nodes that work of this queue may run on, in
	// order of preference; a gang runs within one. Of flavors with a quota the
	// first one with room without borrowing is taken, else the first one with
	// room. Left out: all nodes.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Flavors []QueueFlavor `json:"flavors,omitempty"`

	// walltime bounds the run time of the queue's work. Left out: no default
	// and no maximum.
	// +optional
	Walltime *QueueWalltime `json:"walltime,omitempty"`

	// exclusive says whether work of the queue gets whole nodes: None (nodes
	// are shared) or Workload (no node is shared with another workload). Left
	// out: None; a Job can ask for it by itself.
	// +optional
	// +default="None"
	Exclusive ExclusiveMode `json:"exclusive,omitempty"`

	// size bounds a single workload. Left out: no bounds.
	// +optional
	Size *QueueSize `json:"size,omitempty"`

	// access says who may use the queue. Left out: everybody.
	// +optional
	Access *QueueAccess `json:"access,omitempty"`

	// preemption says what happens to this queue's work when somebody takes its
	// place, and what its own waiting work may take. Left out: its work runs to
	// its end, and takes the place of work in queues of a lower priority tier
	// whose mode lets it go.
	// +optional
	Preemption *QueuePreemption `json:"preemption,omitempty"`
}

// ExclusiveMode says whether workloads share nodes.
// +kubebuilder:validation:Enum=None;Workload
type ExclusiveMode string

// The values of ExclusiveMode.
const (
	ExclusiveNone     ExclusiveMode = "None"
	ExclusiveWorkload ExclusiveMode = "Workload"
)

// QueueFlavor refers to a ResourceFlavor.
type QueueFlavor struct {
	// name is the name of a ResourceFlavor. If there is none of that name, the
	// flavor has no nodes and the queue's Active condition says so.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// resources are the queue's quotas in this flavor. A resource that is not
	// listed, here or in a Cohort above the queue, is bounded by the nodes
	// alone. Left out: all of them are, as in a Slurm partition.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Resources []FlavorQuota `json:"resources,omitempty"`
}

// FlavorQuota is a quota of one resource of one flavor. Amounts are quantities
// as pods have them, without a sign or an exponent (64, 1500m, 2Ti), up to
// 9223372036854775807, and of cpu up to 9223372036854775: more is refused. Parts of
// a unit are rounded up, but for cpu.
// +kubebuilder:validation:XValidation:rule="type(self.nominalQuota) == int ? self.nominalQuota >= 0 : !self.nominalQuota.startsWith('-')",messageExpression="'nominalQuota is ' + string(self.nominalQuota) + ': it must not be below 0'",fieldPath=".nominalQuota"
// +kubebuilder:validation:XValidation:rule="!has(self.borrowingLimit) || (type(self.borrowingLimit) == int ? self.borrowingLimit >= 0 : !self.borrowingLimit.startsWith('-'))",messageExpression="'borrowingLimit is ' + string(self.borrowingLimit) + ': it must not be below 0; 0 lets nothing be borrowed, leave it out for no limit'",fieldPath=".borrowingLimit"
// +kubebuilder:validation:XValidation:rule="!has(self.lendingLimit) || (type(self.lendingLimit) == int ? self.lendingLimit >= 0 : !self.lendingLimit.startsWith('-'))",messageExpression="'lendingLimit is ' + string(self.lendingLimit) + ': it must not be below 0; 0 lends nothing, leave it out to lend all'",fieldPath=".lendingLimit"
// +kubebuilder:validation:XValidation:rule="!self.name.contains('/') || type(self.nominalQuota) == int || !self.nominalQuota.endsWith('m')",messageExpression="'nominalQuota: ' + self.name + ' is counted in whole units'",fieldPath=".nominalQuota"
type FlavorQuota struct {
	// name is the resource, such as nvidia.com/gpu, cpu, memory or pods.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Name string `json:"name,omitempty"`

	// nominalQuota is what there is for whoever the quota belongs to, whatever
	// others do.
	// +required
	NominalQuota resource.Quantity `json:"nominalQuota,omitempty"`

	// borrowingLimit is how much more than that may be used while others in the
	// cohort leave theirs idle. Of a Cohort it holds for all of its members
	// together. Left out: all that is idle.
	// +optional
	BorrowingLimit *resource.Quantity `json:"borrowingLimit,omitempty"`

	// lendingLimit is how much of it others in the cohort may use while it is
	// idle. Of a Cohort it holds for all of its members together. Left out: all
	// of it.
	// +optional
	LendingLimit *resource.Quantity `json:"lendingLimit,omitempty"`
}

// QueueWalltime bounds run times.
// +kubebuilder:validation:XValidation:rule="!has(self.default) || !has(self.max) || int('0' + self.default.find('^[0-9]+d').find('^[0-9]+')) * 86400 + duration('0s' + self.default.find('[0-9hms]*$')).getSeconds() <= int('0' + self.max.find('^[0-9]+d').find('^[0-9]+')) * 86400 + duration('0s' + self.max.find('[0-9hms]*$')).getSeconds()",messageExpression="'default ' + self.default + ' is longer than max ' + self.max + ': lower spec.walltime.default or raise spec.walltime.max'",fieldPath=".default"
type QueueWalltime struct {
	// default is the walltime of work that declares none. Left out: max, and
	// without that unlimited.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]') || !self.matches('^[0-9]')",messageExpression="'default is ' + self + ': work can not run for no time; leave default out for no default'"
	Default Duration `json:"default,omitempty"`

	// max is the longest walltime that work may declare; more is refused with
	// the reason WalltimeLimit. Left out: unlimited.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]') || !self.matches('^[0-9]')",messageExpression="'max is ' + self + ': work can not run for no time; leave max out for no limit'"
	Max Duration `json:"max,omitempty"`

	// overrun is how long a run may go on past its deadline before it is
	// ended. Planning counts with the deadline, and after it with one minute
	// more at a time. Left out: 0s.
	// +optional
	Overrun Duration `json:"overrun,omitempty"`
}

// QueueSize bounds a single workload.
// +kubebuilder:validation:XValidation:rule="!has(self.minNodes) || !has(self.maxNodes) || self.minNodes <= self.maxNodes",message="minNodes is above maxNodes, so nothing could use the queue: lower spec.size.minNodes or raise spec.size.maxNodes",fieldPath=".minNodes"
type QueueSize struct {
	// minNodes is the smallest number of nodes that a workload must need.
	// Left out: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	MinNodes *int32 `json:"minNodes,omitempty"`

	// maxNodes is the largest number of nodes that a workload may need. Left
	// out: any.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxNodes *int32 `json:"maxNodes,omitempty"`

	// maxPods is the largest number of pods that a workload may have. Left
	// out: any.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxPods *int32 `json:"maxPods,omitempty"`
}

// QueueAccess says who may use a queue.
type QueueAccess struct {
	// namespaceSelector picks, by their labels, the namespaces whose work is
	// let in; work of others waits with the reason AccessDenied. Left out: all.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="an operator must be In, NotIn, Exists or DoesNotExist",fieldPath=".matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && size(e.values) > 0))",message="In and NotIn need values, Exists and DoesNotExist take none",fieldPath=".matchExpressions"
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// allowAccounts are the Accounts whose work is let in, with those below
	// them; work of others, and work without an account, waits with the reason
	// AccessDenied. What runs goes on. Left out, or empty: all, and work without
	// an account.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	AllowAccounts []string `json:"allowAccounts,omitempty"`

	// denyAccounts are the Accounts whose work is kept out, with those below
	// them, whatever allowAccounts says. Left out: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	DenyAccounts []string `json:"denyAccounts,omitempty"`
}

// PreemptionMode says what happens to work whose place is taken.
// +kubebuilder:validation:Enum=Never;Requeue;Cancel
type PreemptionMode string

// The values of PreemptionMode.
const (
	PreemptNever   PreemptionMode = "Never"   // it runs to its end
	PreemptRequeue PreemptionMode = "Requeue" // it waits again, at its old place
	PreemptCancel  PreemptionMode = "Cancel"  // it has ended as Preempted
)

// PreemptWithinQueue says which work of its own queue a workload may take the
// place of.
// +kubebuilder:validation:Enum=Never;LowerPriority
type PreemptWithinQueue string

// The values of PreemptWithinQueue.
const (
	WithinQueueNever         PreemptWithinQueue = "Never"
	WithinQueueLowerPriority PreemptWithinQueue = "LowerPriority"
)

// ReclaimWithinCohort says of which work in other queues a workload may take
// the place, to get back quota that its queue has lent.
// +kubebuilder:validation:Enum=Never;LowerPriority;Any
type ReclaimWithinCohort string

// The values of ReclaimWithinCohort.
const (
	ReclaimNever         ReclaimWithinCohort = "Never"
	ReclaimLowerPriority ReclaimWithinCohort = "LowerPriority"
	ReclaimAny           ReclaimWithinCohort = "Any"
)

// BorrowWithinCohort says of which work in other queues a workload may take the
// place, to borrow quota.
// +kubebuilder:validation:Enum=Never;LowerPriority
type BorrowWithinCohort string

// The values of BorrowWithinCohort.
const (
	BorrowNever         BorrowWithinCohort = "Never"
	BorrowLowerPriority BorrowWithinCohort = "LowerPriority"
)

// QueuePreemption says what happens to the queue's work when somebody takes its
// place, and what its own waiting work may take.
type QueuePreemption struct {
	// mode says what happens to the queue's work when somebody may take its
	// place: Never (it runs to its end), Requeue (it is ended after its grace
	// and waits again, at its old place in the order) or Cancel (it is ended
	// after its grace, for good). Left out: Never.
	// +optional
	// +default="Never"
	Mode PreemptionMode `json:"mode,omitempty"`

	// grace is what work has from the notice on. Work that asks to be told
	// (the annotation berth.dev/checkpoint) runs on for so long, or until it
	// has acknowledged, and then its pods have their own
	// terminationGracePeriodSeconds. Other work is told to end with the notice:
	// the admission policy raises terminationGracePeriodSeconds of each Job to
	// the grace on creation, the only time at which that can be done. Left out:
	// the pods' own grace.
	// +optional
	Grace Duration `json:"grace,omitempty"`

	// exempt is how long each run of the queue's work is safe, from the moment
	// at which its pods are ready. Left out: 0s.
	// +optional
	Exempt Duration `json:"exempt,omitempty"`

	// withinQueue says whether waiting work of this queue may take the place of
	// running work of this queue: Never, or LowerPriority (of work with a lower
	// priority, if mode lets it go). Left out: Never.
	// +optional
	// +default="Never"
	WithinQueue PreemptWithinQueue `json:"withinQueue,omitempty"`

	// reclaimWithinCohort says whether waiting work of this queue, while the
	// queue stays within its nominal quota, may take the place of running work
	// of queues of its cohort that hold more than theirs: Never, LowerPriority
	// (of work with a lower priority) or Any; always where that queue's mode
	// lets it go. Left out: Never.
	// +optional
	// +default="Never"
	ReclaimWithinCohort ReclaimWithinCohort `json:"reclaimWithinCohort,omitempty"`

	// borrowWithinCohort says whether waiting work of this queue may take the
	// place of running work of other queues of its cohort in order to borrow:
	// Never, or LowerPriority (of work with a lower priority in queues that
	// hold more than their nominal quota). Left out: Never.
	// +optional
	// +default="Never"
	BorrowWithinCohort BorrowWithinCohort `json:"borrowWithinCohort,omitempty"`
}

// ClusterQueueStatus is what Berth answers.
type ClusterQueueStatus struct {
	// conditions has one of type Active: whether work sent here can start now.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// pending is the number of workloads that wait in this queue.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pending *int32 `json:"pending,omitempty"`

	// running is the number of workloads that hold an allocation here, those
	// whose pods are still ending included.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Running *int32 `json:"running,omitempty"`

	// usage is what the running workloads hold, by flavor and resource: of all
	// that the queue has a quota for, and of all else that is used.
	// +optional
	// +listType=map
	// +listMapKey=flavor
	// +listMapKey=resource
	// +kubebuilder:validation:MaxItems=256
	Usage []QueueUsage `json:"usage,omitempty"`

	// gpus is how many GPUs (nvidia.com/gpu) of all flavors are used, of how
	// many: "12/64". Without a quota the use alone, absent without GPUs.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	GPUs string `json:"gpus,omitempty"`

	// plannedNext is the earliest planned start among the waiting workloads.
	// Absent when none has one.
	// +optional
	PlannedNext *metav1.Time `json:"plannedNext,omitempty"`

	// lingering are pods of the queue's work whose objects were removed by
	// force, before their nodes had ended them: what they hold stays charged
	// until then. Those of which that takes longest, if there are more.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Lingering []LingeringPod `json:"lingering,omitempty"`
}

// LingeringPod is a pod that is gone from the API, and perhaps not from its node.
type LingeringPod struct {
	// name is that of the pod, with its namespace: namespace/name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Name string `json:"name,omitempty"`

	// uid is the pod's own.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	UID string `json:"uid,omitempty"`

	// node is the node that it was on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`

	// workload is the QueuedWorkload (namespace/name) that it belonged to, which
	// may be gone too.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Workload string `json:"workload,omitempty"`

	// flavor is the ResourceFlavor that it is charged to. Absent in a queue
	// without flavors.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Flavor string `json:"flavor,omitempty"`

	// until is when its processes have ended at the latest.
	// +required
	Until metav1.Time `json:"until,omitempty"`

	// requests are what it asked for.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// QueueUsage is what one queue holds of one resource of one flavor.
type QueueUsage struct {
	// flavor is the ResourceFlavor, or "-" in a queue without flavors.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Flavor string `json:"flavor,omitempty"`

	// resource is the name of the resource, such as nvidia.com/gpu.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Resource string `json:"resource,omitempty"`

	// used is the amount held, as a quantity ("64", "1500m").
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Used string `json:"used,omitempty"`

	// nominal is the nominal quota; of a Cohort its own, and that of all its
	// members together. Absent where nobody has set one.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Nominal string `json:"nominal,omitempty"`

	// borrowed is how much of what is used is beyond the nominal quota, and so is some
	// other member's of the cohort. Absent without a quota and a cohort.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Borrowed string `json:"borrowed,omitempty"`

	// lent is how much of the nominal quota others in the cohort use now.
	// Absent without a quota and a cohort.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Lent string `json:"lent,omitempty"`
}

// ClusterQueue is a partition: where work runs, at what tier, how long, how much.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cq,categories=berth
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.spec.state`
// +kubebuilder:printcolumn:name="Tier",type=integer,JSONPath=`.spec.priorityTier`
// +kubebuilder:printcolumn:name="Cohort",type=string,JSONPath=`.spec.cohortName`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].status`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.pending`
// +kubebuilder:printcolumn:name="Running",type=integer,JSONPath=`.status.running`
// +kubebuilder:printcolumn:name="GPUs",type=string,JSONPath=`.status.gpus`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.plannedNext`
// +kubebuilder:printcolumn:name="Max-Walltime",type=string,JSONPath=`.spec.walltime.max`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Active")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:fieldPath=".metadata",rule="size(self.metadata.name) <= 63",message="a ClusterQueue's name has at most 63 characters"
type ClusterQueue struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what an admin sets.
	// +optional
	Spec ClusterQueueSpec `json:"spec,omitempty"`
	// status is what Berth answers.
	// +optional
	Status ClusterQueueStatus `json:"status,omitempty"`
}

// ClusterQueueList is a list of ClusterQueues.
//
// +kubebuilder:object:root=true
type ClusterQueueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterQueue `json:"items"`
}
