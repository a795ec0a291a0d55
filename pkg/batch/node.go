package batch

import (
	"maps"
	"slices"
	"time"
)

// Node is a node as the planner sees it.
type Node struct {
	Name     NodeName
	Labels   Labels
	Taints   []Taint   // those with effect NoSchedule or NoExecute; a cordon is one
	Capacity Resources // allocatable, ResourcePods included
	Ready    bool
	// NotReadySince is when it last turned from ready to not ready, as far as
	// that is known; zero: it is ready.
	NotReadySince time.Time
}

// Same says whether two nodes are the same.
func (n *Node) Same(other *Node) bool {
	return n.Name == other.Name && n.Ready == other.Ready && n.NotReadySince.Equal(other.NotReadySince) && maps.Equal(n.Labels, other.Labels) &&
		slices.Equal(n.Taints, other.Taints) && maps.Equal(n.Capacity, other.Capacity)
}

// PodPhase is how far a pod has come, as far as capacity is concerned.
type PodPhase string

// The phases that matter here.
const (
	PodWaiting   PodPhase = "Waiting"   // no host yet: holds nothing on a node
	PodBound     PodPhase = "Bound"     // bound, not ready
	PodReady     PodPhase = "Ready"     // bound and ready
	PodSucceeded PodPhase = "Succeeded" // terminal
	PodFailed    PodPhase = "Failed"    // terminal
)

// Pod is a pod as the planner sees it: managed by Berth or not.
type Pod struct {
	UID      PodUID
	Name     string     // namespace/name, for messages
	Workload WorkloadID // empty: not managed by Berth
	Node     NodeName   // empty: not bound
	Requests Resources  // ResourcePods: 1 included
	Phase    PodPhase
	// GoneBy is the deadline of a termination under way (deletionTimestamp,
	// which is request plus grace); zero: not being deleted. A termination
	// once under way cannot be shortened on the node.
	GoneBy time.Time
	// Held is what keeps a pod without a node from getting one, in the words
	// of whoever keeps it (a foreign gate, kube-scheduler); empty: nothing known.
	Held string
	// Queue and Flavor are whom the pod is charged to, also when its workload
	// is gone; empty before Berth has released it.
	Queue  QueueName
	Flavor FlavorName
	// CheckpointedAt is when it last said that its work is saved; zero: never.
	CheckpointedAt time.Time
	// Disrupted is who ended it, or ends it, other than its owner and itself:
	// the reason of its condition DisruptionTarget; empty: nobody.
	Disrupted string `json:",omitempty"`
	// Run is the run that it was made for, the first being 1; 0: not known. A
	// pod on a node that was lost outlives its run.
	Run int `json:",omitempty"`
}

// Terminal says whether the pod has left its node's resources.
func (p Pod) Terminal() bool { return p.Phase == PodSucceeded || p.Phase == PodFailed }
