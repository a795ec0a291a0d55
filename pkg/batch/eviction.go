package batch

import (
	"slices"
	"strings"
	"time"
)

// Cause is why an allocation is taken back.
type Cause string

// The causes of an eviction.
const (
	// CausePreempted: a workload of higher standing takes the place.
	CausePreempted Cause = "Preempted"
	// CauseReclaimed: a queue takes back the quota that it has lent.
	CauseReclaimed Cause = "Reclaimed"
	// CauseStartTimeout: pods could not be released or bound in time.
	CauseStartTimeout Cause = "StartTimeout"
	// CauseSuspended: somebody else suspended the owner while it ran, or lets it
	// ask for no pods.
	CauseSuspended Cause = "Suspended"
	// CauseCancelled: its user cancels it and grants it some time.
	CauseCancelled Cause = "Cancelled"
	// CauseDrained: an admin wants one of its nodes empty.
	CauseDrained Cause = "Drained"
	// CauseNodeLost: one of its nodes was not ready for too long, or was deleted.
	CauseNodeLost Cause = "NodeLost"
	// CauseWalltime is of a notice before the deadline, never of an eviction.
	CauseWalltime Cause = "Walltime"
)

// Notice tells a running workload that it will be ended.
type Notice struct {
	Cause Cause
	// By is who or what, in words: the owner of the preemptor
	// ("namespace/name"), or the error that led to it.
	By   string
	Time time.Time // when it was given
	// Until is when its pods are told to end at the latest, for Delivery term
	// when they are killed: the end of the grace. Never before Time.
	Until time.Time
}

// Words say why a run is taken back: where it is, for what waits again, and for
// the end of what does not.
func (n *Notice) Words() string {
	switch n.Cause {
	case CausePreempted:
		return "preempted by " + n.By
	case CauseReclaimed:
		return n.By + " took back quota that its queue had lent"
	case CauseCancelled:
		return "cancelled by its user"
	case CauseDrained:
		if strings.HasPrefix(n.By, "pod ") {
			return n.By // which was ended by whoever drains
		}
		return "its node is drained: " + n.By
	case CauseWalltime:
		return "its deadline comes near"
	case CauseStartTimeout, CauseSuspended, CauseNodeLost:
	}
	return n.By
}

// Eviction is an allocation being taken back: from the notice to the moment at
// which its pods are gone.
//
// The steps: noticed (it is on record) → stopped (the owner is suspended, its
// pods end within their own grace) → gone (no pod is left) → it waits again, or
// it has ended as Final. A workload whose delivery is term is stopped with the
// notice.
type Eviction struct {
	Notice
	// For is the workload that takes the place; empty: nobody does.
	For WorkloadID
	// Stopped is when the owner was told to make no more pods; zero: its pods
	// run on until all have acknowledged the notice or Until has come.
	Stopped time.Time
	// Final is the state in which it ends when its pods are gone; empty: it
	// waits again.
	Final EndState
	// Meanwhile is what else has happened to it until its pods were gone, in
	// words, such as the loss of one of its nodes; empty: nothing. It is known
	// when it is over.
	Meanwhile string `json:",omitempty"`
}

// Words say why a run is taken back, and what else has happened to it since.
func (e *Eviction) Words() string {
	if e.Meanwhile == "" {
		return e.Notice.Words()
	}
	return e.Notice.Words() + "; meanwhile " + e.Meanwhile
}

// GoneBy is when its pods are gone at the latest, as far as is known: they are
// told to end at the end of the grace, or were, and have so long of their own.
func (e *Eviction) GoneBy(own time.Duration) time.Time {
	switch {
	case own <= 0:
		return e.Until
	case e.Stopped.IsZero():
		return e.Until.Add(own)
	}
	return e.Stopped.Add(own)
}

// EvictedAtOnce is an eviction without grace: the owner is suspended now, and
// its pods have their own grace, which is all there is.
func EvictedAtOnce(n Notice) *Eviction {
	n.Until = n.Time
	return &Eviction{Notice: n, Stopped: n.Time}
}

// Nomination is the placement that is kept for a preemptor, from the notice to
// its victims until it starts, or goes away, or asks for something else.
type Nomination struct {
	// Allocation is what it will hold; Allocation.Start is when the last of its
	// victims must be gone.
	Allocation Allocation
	Victims    []WorkloadID // in order of ID
	Cause      Cause        // Preempted or Reclaimed
	Since      time.Time
}

// Delivery is how a workload hears of its eviction.
type Delivery string

// The deliveries (semantics, section 6).
const (
	DeliverTerm       Delivery = ""           // its pods are told to end at once, with the grace as theirs
	DeliverSignal     Delivery = "signal"     // a signal to process 1
	DeliverExec       Delivery = "exec"       // a command in the container
	DeliverHTTP       Delivery = "http"       // a POST to each pod
	DeliverAnnotation Delivery = "annotation" // nothing but the annotation on the pods
)

// Checkpoint is how a workload saves its work.
type Checkpoint struct {
	Delivery Delivery
	// Every is how often it saves by itself, as far as is known; 0: not known.
	Every time.Duration
	// Lead is how long before the deadline it gets the same notice; 0: none.
	Lead time.Duration
}

// PreemptionMode is what happens to the work of a queue whose place is taken.
type PreemptionMode string

// The modes of preemption; empty is Never.
const (
	PreemptNever   PreemptionMode = "Never"
	PreemptRequeue PreemptionMode = "Requeue"
	PreemptCancel  PreemptionMode = "Cancel"
)

// PreemptWhom is which victims a queue may have under one of its switches.
type PreemptWhom string

// The values of the switches; empty is Never.
const (
	WhomNever         PreemptWhom = "Never"
	WhomLowerPriority PreemptWhom = "LowerPriority"
	WhomAny           PreemptWhom = "Any"
)

// Preemption is what happens to the work of a queue when somebody takes its
// place, and what its own waiting work may take.
type Preemption struct {
	Mode   PreemptionMode
	Grace  time.Duration // from the notice to the kill; 0: the pods' own grace is all there is
	Exempt time.Duration // protected time of each run, since its pods are ready

	WithinQueue         PreemptWhom // Never or LowerPriority
	ReclaimWithinCohort PreemptWhom // Never, LowerPriority or Any
	BorrowWithinCohort  PreemptWhom // Never or LowerPriority
}

// LetsGo says whether work of the queue gives way to anybody.
func (p *Preemption) LetsGo() bool { return p.Mode != "" && p.Mode != PreemptNever }

// TakesByPriority says whether it depends on the priority of the queue's work whose
// place it may take.
func (p *Preemption) TakesByPriority() bool {
	return slices.Contains([]PreemptWhom{p.WithinQueue, p.ReclaimWithinCohort, p.BorrowWithinCohort}, WhomLowerPriority)
}

// TakesMore says whether work of the queue may take the place of more than work
// of lower tiers.
func (p *Preemption) TakesMore() bool {
	for _, whom := range []PreemptWhom{p.WithinQueue, p.ReclaimWithinCohort, p.BorrowWithinCohort} {
		if whom != "" && whom != WhomNever {
			return true
		}
	}
	return false
}

// VictimOrder is which of the sets of victims that would do is taken.
type VictimOrder string

// The orders of victims; empty is LeastLost.
const (
	VictimsLeastLost     VictimOrder = "LeastLost"
	VictimsYoungest      VictimOrder = "Youngest"
	VictimsSmallestFirst VictimOrder = "SmallestFirst"
)
