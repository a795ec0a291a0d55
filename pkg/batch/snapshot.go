package batch

import "time"

// Snapshot is all that a plan is made from. It is frozen: state replaces what
// changes and never edits what it has handed out.
type Snapshot struct {
	Policy      Policy
	Nodes       []*NodeView // by name
	Queues      map[QueueName]*Queue
	Cohorts     map[CohortName]*Cohort
	Accounts    Accounts
	LocalQueues map[LocalQueueName]*LocalQueue
	Flavors     map[FlavorName]*Flavor
	Topologies  map[TopologyName]*Topology
	Namespaces  map[string]*Labels
	Waiting     []*Waiting // by CompareRank
	Started     []*Started // by ID
	// Uses are what is taken of quotas, by workload; nil where nobody has any.
	Uses []Use
	// Fates are what is known of those that waiting work depends on, by index
	// where they are members of an array; a name that is not known has none.
	Fates map[DependencyName][]Fate
	// Ending are those that have ended, or were deleted, and have pods on nodes
	// still, by ID: who they were. Of one whose deletion was not seen that is
	// nil.
	Ending map[WorkloadID]*Workload

	// Settled says that nothing has become free since the last plan was issued:
	// no end, no edit, only what takes more.
	Settled bool

	// Carried is what the last plan that was carried out has left.
	Carried Carried
}

// DependencyName is a name that others may depend on: of an owner, or of an
// array as a whole.
type DependencyName struct{ Namespace, Name string }

// Fate is how far a workload has come that others depend on.
type Fate struct {
	ID      WorkloadID
	Index   int      // in its array
	Members int      // of its array; 0: not known
	Started bool     // it runs, or has run
	End     EndState // empty: it has not ended
	Gone    bool     // its record was deleted; without an end on record that is Cancelled
	Living  bool     // some of its pods are still ending, whatever its record says
}

// Carried is what a plan leaves for the next one, so that this need not find
// out again what has not changed. What is in it is frozen, and the planner's
// alone. It changes no decision: a plan without it is the same.
type Carried struct{ left any }

// Carry wraps what a plan leaves.
func Carry(left any) Carried { return Carried{left: left} }

// Value is what was left; nil: nothing.
func (c Carried) Value() any { return c.left }

// Equal is true: what is carried makes no difference.
func (c Carried) Equal(Carried) bool { return true }

// NodeView is a node and what sits on it.
type NodeView struct {
	Node    *Node
	Charges []Charge // by workload, then pod
	// Lost says that the node was not ready for too long; LostAt is when it is
	// lost if it does not become ready, zero where it is ready or lost.
	Lost   bool
	LostAt time.Time
}

// Charge is what something takes of a node.
type Charge struct {
	// By is the workload that is charged; empty: a pod that Berth does not
	// manage.
	By WorkloadID
	// Name is what a person calls it: of the workload's owner, or of the pod.
	Name     string
	Requests Resources
	// Until is when it is expected to end; zero: never.
	Until time.Time
	// Exact says that it ends at Until whatever is seen; otherwise it may
	// run over.
	Exact bool
	// Left says that it is what an earlier run of the workload has left: it goes
	// by itself, whatever the workload does.
	Left bool
}

// Same says whether two charges are equal.
func (c *Charge) Same(other *Charge) bool {
	return c.By == other.By && c.Name == other.Name && c.Exact == other.Exact && c.Left == other.Left &&
		c.Until.Equal(other.Until) && c.Requests.Equal(other.Requests)
}

// OverrunStep is by how much the expected end of what should have ended
// already lies ahead, at each minute anew.
const OverrunStep = time.Minute

// AnyMoment is when something ends that should be over: a time long past,
// which counts as less than a minute ahead.
func AnyMoment() time.Time { return time.Unix(0, 0) }

// Over says whether the charge has ended by itself.
func (c *Charge) Over(now time.Time) bool {
	return c.Exact && !c.Until.IsZero() && !c.Until.After(now)
}

// Overdue says whether the charge should have ended, and has not.
func (c *Charge) Overdue(now time.Time) bool {
	return !c.Exact && !c.Until.IsZero() && !c.Until.After(now)
}

// End is when the charge is expected to end, seen from now; zero: never.
//
// What has run over ends at the next full minute after its expected end: one
// minute from now at most, and at a time that does not change with every look
// at it, so that a plan made between two minutes is the same plan.
func (c *Charge) End(now time.Time) time.Time {
	if !c.Overdue(now) {
		return c.Until
	}
	return now.Add(OverrunStep - now.Sub(c.Until)%OverrunStep)
}

// Waiting is a workload that waits.
type Waiting struct {
	Workload *Workload
	Owner    *Owner // nil: not seen yet
	// Shape is the same text for workloads that ask for the same pods.
	Shape string
	// Held is the placement of its planned start, if it is known; after a
	// restart it is not.
	Held *Allocation
}

// Started is a workload that holds an allocation.
type Started struct {
	Workload *Workload
	Owner    *Owner // nil: not seen yet
	// Live are its pods on nodes that are not terminal, those being deleted
	// included; Ready and Succeeded count pods in these phases. What is left on
	// a node that is lost, and what is left of an earlier run, is neither live
	// nor ready: nobody waits for it.
	Live, Ready, Succeeded int
	// Gone is when the last pod that was removed by force is really gone;
	// zero: none was.
	Gone time.Time
	// Lost is the first by name of the nodes under it that are lost; empty: none
	// is.
	Lost NodeName
	// Disrupted is the first by name of the pods of this run that somebody else
	// has ended, or ends; nil: there is none.
	Disrupted *Disruption
	// Released says that the owner was released for this allocation or has
	// live pods, Suspended that it was suspended after that by somebody else.
	Released, Suspended bool
	// Refused is why the start was refused for good; empty: it was not.
	Refused string
	// Acknowledged says that it is being taken back, and that each of its live
	// pods has said since the notice that its work is saved.
	Acknowledged bool
	// Ending is the first by name of its live pods while it is being taken back:
	// whom others wait for; empty: there is none.
	Ending string
	// HeldBy is what keeps a released pod from its node (Pod.Held), and which;
	// empty: nothing is known.
	HeldBy string
}

// Disruption is a pod that was ended neither by itself nor by its owner.
type Disruption struct {
	Pod    string // namespace/name
	Node   NodeName
	Reason string // Pod.Disrupted
}

// Reasons of disruptions (Kubernetes): by whom. Of all others the cause is a
// drain.
const (
	DisruptedByKubelet      = "TerminationByKubelet"   // its node shuts down, or is short of something
	DisruptedByTaintManager = "DeletionByTaintManager" // its node has a taint that it does not tolerate: not reachable, say
	DisruptedByPodGC        = "DeletionByPodGC"        // its node is gone, or out of service
	DisruptedByEviction     = "EvictionByEvictionAPI"  // kubectl drain, an autoscaler
	DisruptedByScheduler    = "PreemptionByScheduler"  // a pod that Berth did not place
)

// Cause is why a run is taken back of which the pod was.
func (d *Disruption) Cause() Cause {
	switch d.Reason {
	case DisruptedByKubelet, DisruptedByTaintManager, DisruptedByPodGC:
		return CauseNodeLost
	}
	return CauseDrained
}

// Words say what happened to the pod.
func (d *Disruption) Words() string {
	how := "was ended (" + d.Reason + ")"
	switch d.Reason {
	case DisruptedByKubelet:
		how = "was ended by its node, which shuts down or is short of something"
	case DisruptedByTaintManager:
		how = "was ended because of a taint on its node"
	case DisruptedByPodGC:
		how = "was removed with its node"
	case DisruptedByEviction:
		how = "was evicted through the API, as kubectl drain does"
	case DisruptedByScheduler:
		how = "was preempted by kube-scheduler"
	}
	return "pod " + d.Pod + " on node " + string(d.Node) + " " + how
}

// Places is the number of pods that the allocation has places for.
func (a *Allocation) Places() int {
	n := 0
	for _, p := range a.PodSets {
		n += len(p.Hosts)
	}
	return n
}

// Needs is the number of pods that must run at the same time. More than there
// are places it cannot be.
func (s *Started) Needs() int {
	places := s.Workload.Allocation.PodSets
	n := 0
	for i := range places {
		needed := len(places[i].Hosts)
		if s.Owner != nil && i < len(s.Owner.Needed) {
			needed = min(needed, s.Owner.Needed[i])
		}
		n += needed
	}
	return n
}

// Ended is the number of pods that have succeeded and that the owner still
// counts as needed: it hears of them a moment later than we do.
func (s *Started) Ended() int {
	known := s.Workload.Allocation.Places() - s.Needs()
	return max(0, s.Succeeded-known)
}
