package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackfillMode says how waiting work is planned.
// +kubebuilder:validation:Enum=Conservative;EASY;None;Strict
type BackfillMode string

// The modes of backfill.
const (
	// BackfillConservative plans a start for every waiting workload; nothing
	// that starts out of order delays one.
	BackfillConservative BackfillMode = "Conservative"
	// BackfillEASY plans a start for the first blocked workload of each queue
	// only.
	BackfillEASY BackfillMode = "EASY"
	// BackfillNone plans nothing: whatever fits now starts.
	BackfillNone BackfillMode = "None"
	// BackfillStrict lets nothing overtake in its queue.
	BackfillStrict BackfillMode = "Strict"
)

// SchedulingPolicySpec is how the whole cluster is planned.
type SchedulingPolicySpec struct {
	// backfill says how waiting work is planned. Left out: Conservative with
	// its defaults.
	// +optional
	Backfill *BackfillPolicy `json:"backfill,omitempty"`

	// preemption says who may take whose place, over all queues. Left out: its
	// defaults.
	// +optional
	Preemption *PreemptionPolicy `json:"preemption,omitempty"`

	// priority says what the priority of waiting work is made of, beside the
	// value of its PriorityClass. Left out: of nothing else.
	// +optional
	Priority *PriorityPolicy `json:"priority,omitempty"`

	// requeueDelay is how long a workload whose place was taken waits before it
	// takes part again. Left out: 0s, it does so at once.
	// +optional
	RequeueDelay Duration `json:"requeueDelay,omitempty"`

	// startTimeout is how long a started workload may have pods that are not
	// bound to a node; then it is taken back whole and waits again, longer
	// after each try. Left out: 5m.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]') || !self.matches('^[0-9]')",messageExpression="'startTimeout is ' + self + ': no pod is bound in no time; leave startTimeout out for 5m'"
	StartTimeout Duration `json:"startTimeout,omitempty"`

	// nodeFailure says when a node is given up. Left out: its defaults.
	// +optional
	NodeFailure *NodeFailurePolicy `json:"nodeFailure,omitempty"`
}

// NodeFailurePolicy says when a node is given up.
type NodeFailurePolicy struct {
	// timeout is how long a node may be not ready; then it is lost: what runs on
	// it is taken back whole and waits again, and nobody is charged for what is
	// left there. Shorter outages end nothing. It should be shorter than the
	// 300s after which Kubernetes deletes the pods of such a node, which counts
	// as a failure of theirs. Left out: 60s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]') || !self.matches('^[0-9]')",messageExpression="'timeout is ' + self + ': every late heartbeat would end work; leave timeout out for 60s'"
	Timeout Duration `json:"timeout,omitempty"`
}

// PreemptionSwitch turns a way of preemption on or off.
// +kubebuilder:validation:Enum=Enabled;Disabled
type PreemptionSwitch string

// The values of PreemptionSwitch.
const (
	PreemptionEnabled  PreemptionSwitch = "Enabled"
	PreemptionDisabled PreemptionSwitch = "Disabled"
)

// VictimOrder says which of the workloads whose place may be taken give way
// first.
// +kubebuilder:validation:Enum=LeastLost;Youngest;SmallestFirst
type VictimOrder string

// The values of VictimOrder.
const (
	// VictimsLeastLost takes those that lose the least work: GPUs times the
	// time since the last checkpoint, or since the start.
	VictimsLeastLost VictimOrder = "LeastLost"
	// VictimsYoungest takes those that started last.
	VictimsYoungest VictimOrder = "Youngest"
	// VictimsSmallestFirst takes those that hold the least.
	VictimsSmallestFirst VictimOrder = "SmallestFirst"
)

// PreemptionPolicy says who may take whose place.
type PreemptionPolicy struct {
	// tiers says whether waiting work of a queue may take the place of running
	// work of a queue with a lower priority tier, where that queue's
	// preemption.mode lets it go: Enabled or Disabled. Left out: Enabled.
	// +optional
	// +default="Enabled"
	Tiers PreemptionSwitch `json:"tiers,omitempty"`

	// victims says which give way, of those with the lowest standing that would
	// do: LeastLost (those that lose the least work), Youngest (those that
	// started last) or SmallestFirst (those that hold the least). Left out:
	// LeastLost.
	// +optional
	// +default="LeastLost"
	Victims VictimOrder `json:"victims,omitempty"`
}

// PriorityPolicy says what the priority of waiting work is made of.
type PriorityPolicy struct {
	// weights are how much each part counts. Left out: as if each were 0.
	// +optional
	Weights *PriorityWeights `json:"weights,omitempty"`
}

// PriorityWeights are how much each part of the priority counts. This version
// computes none of them yet, so that each may be 0 alone, which is what one
// that is left out counts as too; a version that computes a part gives it a
// weight by default. Who writes the 0 keeps it then.
type PriorityWeights struct {
	// age is the weight of the time for which work has been eligible. Only 0 is
	// accepted: older work goes first among equals in any case. Left out: 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 0",message="this version does not have priority by age yet; the only weight is 0"
	Age *int32 `json:"age,omitempty"`

	// fairShare is the weight of what users and their accounts have used,
	// against their shares. Only 0 is accepted. Left out: 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 0",message="this version does not have fair share yet; the only weight is 0"
	FairShare *int32 `json:"fairShare,omitempty"`

	// size is the weight of how much of the cluster is asked for. Only 0 is
	// accepted. Left out: 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 0",message="this version does not have priority by size yet; the only weight is 0"
	Size *int32 `json:"size,omitempty"`

	// queue is the weight of the ClusterQueue's priorityFactor, which this
	// version does not have. Only 0 is accepted. Left out: 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 0",message="this version does not have priority by queue yet (priorityTier ranks queues); the only weight is 0"
	Queue *int32 `json:"queue,omitempty"`

	// qos is the weight of the priority of the QualityOfService, which this
	// version does not have. Only 0 is accepted. Left out: 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 0",message="this version does not have service classes yet; the only weight is 0"
	QoS *int32 `json:"qos,omitempty"`
}

// BackfillPolicy says how waiting work is planned.
type BackfillPolicy struct {
	// mode is Conservative (every waiting workload has a planned start that
	// nothing later delays), EASY (only the first blocked workload of each
	// queue has one), None (no plans, whatever fits starts) or Strict (nothing
	// overtakes in its queue). Left out: Conservative.
	// +optional
	// +default="Conservative"
	Mode BackfillMode `json:"mode,omitempty"`

	// depth is how many waiting workloads get a planned start; the rest show
	// NotPlanned with their position, and still start when they fit. Left
	// out: 1000.
	// +optional
	// +default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Depth *int32 `json:"depth,omitempty"`

	// window is how far ahead planned starts are shown; one beyond is kept and
	// shown as unknown. Left out: 30d.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]') || !self.matches('^[0-9]')",messageExpression="'window is ' + self + ': no start could be shown; leave window out for 30d'"
	Window Duration `json:"window,omitempty"`

	// perUser is how many planned starts the work of one user may have; the
	// rest show NotPlanned, and still start when they fit. Left
	// out: any.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	PerUser *int32 `json:"perUser,omitempty"`

	// perQueue is how many planned starts the work of one ClusterQueue may
	// have; the rest show NotPlanned, and still start when they fit. Left out:
	// any.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	PerQueue *int32 `json:"perQueue,omitempty"`
}

// SchedulingPolicy is how the whole cluster is planned. There is one, named
// default; without it all defaults hold.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=berth
// +kubebuilder:printcolumn:name="Backfill",type=string,JSONPath=`.spec.backfill.mode`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:fieldPath=".metadata",rule="self.metadata.name == 'default'",message="the SchedulingPolicy is named default: there is one for the whole cluster"
type SchedulingPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is how the whole cluster is planned.
	// +optional
	Spec SchedulingPolicySpec `json:"spec,omitempty"`
}

// SchedulingPolicyList is a list of SchedulingPolicies.
//
// +kubebuilder:object:root=true
type SchedulingPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SchedulingPolicy `json:"items"`
}
