package batch

import (
	"slices"
	"time"
)

// Reason is why a workload does not start yet. The set is closed; each reason
// states by its consequence what can end the wait.
type Reason string

// The reasons of this version (semantics, section 14).
const (
	// Ends when those ahead start or go.
	ReasonPriority Reason = "Priority"
	// Ends when running work ends.
	ReasonResources Reason = "Resources"
	// Enough in total, but not on nodes as the pods need it.
	ReasonTopology Reason = "Topology"
	// Ends when its victims are gone.
	ReasonPreempting Reason = "Preempting"
	// Ends when quota is freed, or changed.
	ReasonQuotaExceeded  Reason = "QuotaExceeded"
	ReasonBorrowingLimit Reason = "BorrowingLimit"
	// Ends when nodes return.
	ReasonNodesUnavailable Reason = "NodesUnavailable"
	// Ends by itself or by its author.
	ReasonHeld       Reason = "Held"
	ReasonRequeued   Reason = "Requeued"
	ReasonNotPlanned Reason = "NotPlanned"
	ReasonBeginTime  Reason = "BeginTime"
	ReasonDependency Reason = "Dependency"
	ReasonArrayLimit Reason = "ArrayLimit"
	// Ends when an admin acts.
	ReasonQueueStopped  Reason = "QueueStopped"
	ReasonQueueNotFound Reason = "QueueNotFound"
	ReasonAccessDenied  Reason = "AccessDenied"
	// Ends by an edit only; takes no part until then.
	ReasonNeverFits     Reason = "NeverFits"
	ReasonWalltimeLimit Reason = "WalltimeLimit"
	ReasonInvalidSpec   Reason = "InvalidSpec"

	ReasonDependencyNeverSatisfied Reason = "DependencyNeverSatisfied"
	ReasonDeadlineMissed           Reason = "DeadlineMissed"
)

// TakesPart says whether a workload with this reason has a place in the order.
func (r Reason) TakesPart() bool {
	switch r {
	case ReasonPriority, ReasonResources, ReasonTopology, ReasonPreempting, ReasonNodesUnavailable, ReasonNotPlanned,
		ReasonQuotaExceeded, ReasonBorrowingLimit:
		return true
	case ReasonHeld, ReasonRequeued, ReasonQueueStopped, ReasonQueueNotFound, ReasonAccessDenied,
		ReasonNeverFits, ReasonWalltimeLimit, ReasonInvalidSpec,
		ReasonBeginTime, ReasonDependency, ReasonArrayLimit, ReasonDependencyNeverSatisfied, ReasonDeadlineMissed:
		return false
	}
	return false
}

// Verdict says why a workload does not start now, with the numbers.
type Verdict struct {
	Reason Reason
	// PlannedStart is when it will start at the latest; zero: unknown or none.
	PlannedStart time.Time
	// Position in the order of those that take part, from 1; 0: takes no part.
	Position int
	// Message is the verdict in words (explain.Verdict). A verdict changes
	// when reason or planned start change; the message goes along.
	Message string
	// MovedBy names the event that made the planned start later; empty
	// otherwise.
	MovedBy string
	// Facts are the numbers and names that the message is made of.
	Facts Facts
}

// Facts are what a verdict rests on. Which of them are set depends on the
// reason; explain.Verdict turns them into words.
type Facts struct {
	Asked  []Ask      // what it asks for
	Queue  QueueName  // where
	Flavor FlavorName // where in it; empty: all nodes of the queue
	// FreeNow is for how many of its pods there is room now, FreeNodes on how
	// many nodes.
	FreeNow, FreeNodes int
	// Resource is the one that decides, Need what one pod (or the gang, in a
	// bound of the queue) asks of it, Limit the most that could ever be had: of
	// what waits for room, all that the nodes have that would do. Free of it are
	// free now.
	Resource          ResourceName
	Need, Limit, Free Amount
	// Cohort is whose quota decides, where that is not the queue's own; Used
	// and Lent are what of that quota its own use, and others', take now.
	Cohort     CohortName
	Used, Lent Amount
	// Bound is the field of the queue or of the policy that is in the way.
	Bound string
	// InTurn says that others of its queue wait before it, and nothing overtakes
	// there.
	InTurn bool `json:",omitempty"`
	// Ahead are the higher-ranked ones that are in the way, First of them and
	// its planned start.
	Ahead   int
	First   string
	FirstAt time.Time
	// Lost is the work that is lost by those that give way, in seconds of the
	// resource.
	Lost Amount
	// Nodes would do but are not available: NotReady and Tainted of them, and the
	// names of the first few of each.
	NotReady, Tainted           int
	NotReadyNames, TaintedNames string
	// SafeUntil is when the first of those is exempt no more whose place it may take;
	// zero: none is, or it stands too far back to be told.
	SafeUntil time.Time
	// Walltimes asked and allowed.
	Walltime, WalltimeMax Walltime
	// Window is how far ahead planned starts are shown, where there is one that
	// lies beyond it.
	Window time.Duration
	// Until is when a requeued workload is tried again, when one may begin, or
	// by when one must have ended.
	Until time.Time
	// Level is that of the topology under one domain of which all pods must lie.
	Level string `json:",omitempty"`
	// Loose is what was asked to keep its pods together, and does not.
	Loose Loose `json:",omitzero"`
	// Account is who would be charged, User who asks for it.
	Account AccountName
	User    string
	// Text is what somebody else said: why a spec is invalid, what a name is.
	Text string
	// Selector is what a queue asks of the labels of a namespace.
	Selector string
	// Terms tell apart the quotas as they were set when it was judged: an edit
	// of one makes another number.
	Terms uint64 `json:",omitempty"`
}

// Ask is a number of like pods.
type Ask struct {
	Pods     int
	Least    int // of an elastic set, the fewest that it starts with; else Pods
	Requests Resources
}

// SameAnswer says whether two verdicts tell a person the same.
//
// Of work that takes part, numbers in the message alone make no difference, or
// every event would rewrite the status of all that wait. Of work that does not,
// the facts are the answer: they say who has to do what, and they change only
// when somebody has done something. Quotas stand between the two: how much of
// them is used changes with every start and end, and makes no difference; what
// is set is an admin's word, and whoever waits for it reads the new one. So with
// nodes that are away: which of them, and why, is what somebody has to act on; and
// with the bounds of planned starts.
func (v Verdict) SameAnswer(other Verdict) bool {
	if v.Reason != other.Reason || !v.PlannedStart.Equal(other.PlannedStart) || !v.Facts.SafeUntil.Equal(other.Facts.SafeUntil) {
		return false
	}
	switch {
	case v.Reason == ReasonQuotaExceeded, v.Reason == ReasonBorrowingLimit:
		return v.Facts.Terms == other.Facts.Terms
	case v.Reason == ReasonNodesUnavailable && !v.Facts.SameAway(other.Facts):
		return false
	case v.Reason == ReasonNotPlanned && (v.Facts.Bound != other.Facts.Bound || v.Facts.Limit != other.Facts.Limit):
		return false
	case v.Reason.TakesPart():
		return v.Facts.InTurn == other.Facts.InTurn && v.Facts.Loose == other.Facts.Loose
	}
	return v.Facts.sameCause(other.Facts)
}

// SameAway says whether the same nodes are not available for the same reasons, as
// far as that is told.
func (f Facts) SameAway(other Facts) bool {
	return f.NotReady == other.NotReady && f.Tainted == other.Tainted && f.NotReadyNames == other.NotReadyNames && f.TaintedNames == other.TaintedNames
}

// sameNames says whether two facts are about the same.
func (f Facts) sameNames(other Facts) bool {
	return f.Queue == other.Queue && f.Flavor == other.Flavor && f.Bound == other.Bound && f.Text == other.Text && f.Selector == other.Selector &&
		f.Account == other.Account && f.Level == other.Level && f.User == other.User
}

// sameCause says whether two facts, judged at whatever times, are the same.
func (f Facts) sameCause(other Facts) bool {
	return f.sameNames(other) &&
		f.FreeNow == other.FreeNow && f.FreeNodes == other.FreeNodes &&
		f.Resource == other.Resource && f.Need == other.Need && f.Limit == other.Limit &&
		f.Walltime == other.Walltime && f.WalltimeMax == other.WalltimeMax &&
		f.Until.Equal(other.Until) &&
		slices.EqualFunc(f.Asked, other.Asked, func(a, b Ask) bool { return a.Pods == b.Pods && a.Least == b.Least && a.Requests.Equal(b.Requests) })
}
