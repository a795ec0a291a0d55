package batch

import "time"

// Event is something that happened: seen in the API server, or the outcome of
// carrying out a plan. Events are levels, not edges: the same one twice
// changes nothing.
type Event interface{ isEvent() }

type (
	// NodeObserved carries a node as it is now.
	NodeObserved struct{ Node Node }
	// NodeGone says that a node was deleted.
	NodeGone struct{ Name NodeName }

	// PodObserved carries a pod as it is now.
	PodObserved struct{ Pod Pod }
	// PodGone says that a pod's object was deleted. By: if its removal was
	// forced (grace cut below what its node had begun to wait), the time at
	// which its processes are gone at the latest; zero: gone now.
	PodGone struct {
		UID PodUID
		By  time.Time
	}

	// QueueObserved carries a ClusterQueue as it is now.
	QueueObserved struct{ Queue Queue }
	// QueueGone says that a ClusterQueue was deleted.
	QueueGone struct{ Name QueueName }

	// CohortObserved carries a Cohort as it is now.
	CohortObserved struct{ Cohort Cohort }
	// CohortGone says that a Cohort was deleted.
	CohortGone struct{ Name CohortName }

	// AccountObserved carries an Account as it is now.
	AccountObserved struct{ Account Account }
	// AccountGone says that an Account was deleted.
	AccountGone struct{ Name AccountName }

	// LocalQueueObserved carries a LocalQueue as it is now.
	LocalQueueObserved struct{ LocalQueue LocalQueue }
	// LocalQueueGone says that a LocalQueue was deleted.
	LocalQueueGone struct{ Name LocalQueueName }

	// FlavorObserved carries a ResourceFlavor as it is now.
	FlavorObserved struct{ Flavor Flavor }
	// FlavorGone says that a ResourceFlavor was deleted.
	FlavorGone struct{ Name FlavorName }

	// TopologyObserved carries a Topology as it is now.
	TopologyObserved struct{ Topology Topology }
	// TopologyGone says that a Topology was deleted.
	TopologyGone struct{ Name TopologyName }

	// NamespaceObserved carries a namespace's labels.
	NamespaceObserved struct {
		Name   string
		Labels Labels
	}
	// NamespaceGone says that a namespace was deleted.
	NamespaceGone struct{ Name string }

	// PolicyObserved carries the SchedulingPolicy, or DefaultPolicy.
	PolicyObserved struct{ Policy Policy }

	// WorkloadObserved carries a QueuedWorkload as the API server has it. It
	// may be older than decisions of ours that are still being written: state
	// keeps the newer of the two (see Workload.Restarts).
	WorkloadObserved struct{ Workload Workload }
	// WorkloadGone says that a QueuedWorkload, or its owner, was deleted. What
	// its pods hold is free when they are gone.
	WorkloadGone struct {
		ID WorkloadID
		// Released says that it was an array as a whole, and that its members
		// take its place: that is no end.
		Released bool `json:",omitempty"`
	}

	// OwnerObserved carries how far the owner (the Job or Pod) has come. It
	// may arrive before the WorkloadObserved of the same ID.
	OwnerObserved struct {
		ID    WorkloadID
		Owner Owner
	}

	// PlanIssued says that a plan is being carried out: its decisions hold
	// from now on, before the API server has confirmed them.
	PlanIssued struct{ Plan Plan }

	// AdmitFailed says that a start could not be written; the workload waits
	// again and its placement is free.
	AdmitFailed struct {
		ID  WorkloadID
		Run int // Workload.Restarts of the start that failed
		Err string
	}
	// StartRefused says that the owner or one of its pods could not be
	// released for good (an admission plugin refused, say); the run is taken
	// back.
	StartRefused struct {
		ID   WorkloadID
		Run  int
		Text string // whose refusal, in its own words
	}
)

// Owner is how far the object that owns a workload has come.
type Owner struct {
	// Suspended says that the owner makes no pods now.
	Suspended bool
	// Paused says that the owner asks for no pods at all, now.
	Paused bool `json:",omitempty"`
	// Started says that the owner was released for the allocation it has.
	Started bool
	// Run is, with Started, the run it was released for: Workload.Restarts at
	// that start. A mark left over from an earlier run does not count.
	Run int
	// Fixed says that the owner cannot be stopped and started again (a bare
	// pod whose gate is gone): a late start is waited for, never taken back,
	// and when its place is taken it has ended for good.
	Fixed bool
	// Termination is what its pods have of their own from being told to end to
	// the kill; 0: not known.
	Termination time.Duration `json:",omitempty"`
	// Cancel is the time that its user grants it when he cancels it; nil: he
	// does not.
	Cancel *time.Duration
	// Needed is, for each pod set by its index, how many pods still run or
	// must run at the same time; nil: all.
	Needed []int
	// Done are, for each pod set by its index, the ranks that have finished
	// and whose place is free; nil: none, or ranks have no meaning.
	Done [][]int
	// End is the owner's own end; nil: not ended.
	End *End
}

func (NodeObserved) isEvent()       {}
func (NodeGone) isEvent()           {}
func (PodObserved) isEvent()        {}
func (PodGone) isEvent()            {}
func (QueueObserved) isEvent()      {}
func (QueueGone) isEvent()          {}
func (CohortObserved) isEvent()     {}
func (CohortGone) isEvent()         {}
func (AccountObserved) isEvent()    {}
func (AccountGone) isEvent()        {}
func (LocalQueueObserved) isEvent() {}
func (LocalQueueGone) isEvent()     {}
func (FlavorObserved) isEvent()     {}
func (FlavorGone) isEvent()         {}
func (TopologyObserved) isEvent()   {}
func (TopologyGone) isEvent()       {}
func (NamespaceObserved) isEvent()  {}
func (NamespaceGone) isEvent()      {}
func (PolicyObserved) isEvent()     {}
func (WorkloadObserved) isEvent()   {}
func (WorkloadGone) isEvent()       {}
func (OwnerObserved) isEvent()      {}
func (PlanIssued) isEvent()         {}
func (AdmitFailed) isEvent()        {}
func (StartRefused) isEvent()       {}
