package batch

import "time"

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
	// Ends when nodes return.
	ReasonNodesUnavailable Reason = "NodesUnavailable"
	// Ends by itself or by its author.
	ReasonHeld       Reason = "Held"
	ReasonRequeued   Reason = "Requeued"
	ReasonNotPlanned Reason = "NotPlanned"
	// Ends when an admin acts.
	ReasonQueueStopped  Reason = "QueueStopped"
	ReasonQueueNotFound Reason = "QueueNotFound"
	ReasonAccessDenied  Reason = "AccessDenied"
	// Ends by an edit only; takes no part until then.
	ReasonNeverFits     Reason = "NeverFits"
	ReasonWalltimeLimit Reason = "WalltimeLimit"
	ReasonInvalidSpec   Reason = "InvalidSpec"
)

// TakesPart says whether a workload with this reason has a place in the order.
func (r Reason) TakesPart() bool {
	switch r {
	case ReasonPriority, ReasonResources, ReasonTopology, ReasonNodesUnavailable, ReasonNotPlanned:
		return true
	case ReasonHeld, ReasonRequeued, ReasonQueueStopped, ReasonQueueNotFound, ReasonAccessDenied,
		ReasonNeverFits, ReasonWalltimeLimit, ReasonInvalidSpec:
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
}

// SameAnswer says whether two verdicts tell a person the same: numbers in the
// message alone do not make a difference, or every event would rewrite the
// status of all that wait.
func (v Verdict) SameAnswer(other Verdict) bool {
	return v.Reason == other.Reason && v.PlannedStart.Equal(other.PlannedStart)
}
