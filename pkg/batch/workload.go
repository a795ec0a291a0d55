package batch

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Workload is one unit of admission: all of it starts, or none. It carries
// what was asked for and what the API server holds of earlier decisions.
type Workload struct {
	ID  WorkloadID
	UID string // of the QueuedWorkload; the last tie-break of every order

	Namespace string
	Name      string // of the owner: what a person typed

	LocalQueue LocalQueueName // it need not exist
	PodSets    []PodSet
	Walltime   Walltime // as declared; 0: the queue's default
	Priority   int32    // higher first, within a tier
	Submitter  string
	Account    AccountName // to be charged; empty: the LocalQueue's
	Held       bool        // by its author
	QueuedAt   time.Time   // first submission; an eviction does not change it
	Invalid    string      // why it can never be planned, in words; empty if it can

	TimeMin   Walltime     // shortest acceptable limit for a start now; 0: Walltime
	Begin     time.Time    // takes no part before; zero: at once
	EndBefore time.Time    // latest end that its author wants, and a cap of the limit; zero: none
	After     []Dependency // what must have happened before
	JobName   string       // what singleton compares; empty: Name
	Array     *ArrayMember // nil: not a member of an array
	Exclusive Exclusive    // whole nodes or not; empty: None
	NoRequeue bool         // ends as Preempted (or NodeFailed) when it is evicted, and never waits again

	// Checkpoint is how it wants to hear of its eviction, and what it saves.
	Checkpoint Checkpoint
	// CheckpointedAt is when it last said that it has saved its work; zero:
	// never. A time before the start of the run does not count for it.
	CheckpointedAt time.Time

	// Below: decisions that stand in the API server.

	Restarts     int         // runs that were taken back
	RequeueAfter time.Time   // not tried again before; zero: at once
	Promise      time.Time   // planned start that binds; zero: none
	Basis        Basis       // what LastVerdict and Promise rest on; empty: not known
	Revoked      time.Time   // planned start that bound before a person's edit, until the next is found; zero: none
	RevokedBy    string      // what the person has edited; empty: the workload itself
	Allocation   *Allocation // nil while it waits
	Relimited    bool        // its walltime was edited while it runs, and no plan has answered that
	Nomination   *Nomination // the placement that is kept for it while its victims end; nil: none
	Eviction     *Eviction   // not nil from the decision to take it back until it waits again
	Notice       *Notice     // that the deadline of this run comes near (Checkpoint.Lead); nil: none was given
	Finished     *End        // not nil when the end is on record
	PodsReady    *bool       // what its PodsReady condition says of this run; nil: it was never ready
	ReadySince   time.Time   // when the pods of this run were first all ready; zero: they were not
	HeldBy       string      // what its PodsReady condition says keeps its pods from their nodes; empty: nothing
	HeldSince    time.Time   // since when HeldBy has been something; zero: it is nothing, or not known
	TakenBack    string      // while it waits: why its last run was taken back, in words; empty: it was not
	LastVerdict  *Verdict    // what its Pending condition says now; nil: nothing yet
	Outcomes     []Outcome   // what came of those that it depends on, as far as that is on record, by name
}

// PodSet is a group of like pods.
type PodSet struct {
	Name        string
	Count       int       // pods that run at the same time; of an elastic set, the most
	MinCount    int       // the fewest that an elastic set starts with; 0: Count
	Requests    Resources // of one pod, ResourcePods: 1 included
	Selector    NodeSelector
	Tolerations []Toleration
	PerNodeMax  int // pods of this set on one node; 0: any
	// Domain is the level under one domain of which all pods of the workload
	// must lie, the same for all of its sets; empty: anywhere.
	Domain string `json:",omitempty"`
}

// Least is the fewest pods that the set starts with.
func (s *PodSet) Least() int {
	if s.MinCount > 0 && s.MinCount < s.Count {
		return s.MinCount
	}
	return s.Count
}

// Via is how a workload came to start.
type Via string

// The ways to start.
const (
	ViaOrder    Via = "Order"
	ViaBackfill Via = "Backfill" // before a higher-ranked workload that could use the same nodes

	ViaPreemption Via = "Preemption" // in the place that others have given up for it
)

// Allocation is what a started workload holds: placement, start and deadline.
type Allocation struct {
	Queue    QueueName
	Flavor   FlavorName
	Via      Via
	Start    time.Time
	Deadline time.Time // zero: unlimited
	Planned  time.Time // the planned start that it had; zero: none
	PodSets  []Placement
}

// Same says whether two allocations are the same.
func (a *Allocation) Same(other *Allocation) bool {
	return a.Queue == other.Queue && a.Flavor == other.Flavor && a.Via == other.Via &&
		a.Start.Equal(other.Start) && a.Deadline.Equal(other.Deadline) && a.Planned.Equal(other.Planned) &&
		slices.EqualFunc(a.PodSets, other.PodSets, func(x, y Placement) bool {
			return x.PodSet == y.PodSet && slices.Equal(x.Hosts, y.Hosts)
		})
}

// Placement says where the pods of one pod set go: Hosts[i] is the node of the
// pod with rank i.
type Placement struct {
	PodSet string
	Hosts  []NodeName
}

// EndState is how a workload, or one run of it, ended.
type EndState string

// The final states.
const (
	Completed EndState = "Completed"
	Failed    EndState = "Failed"
	Timeout   EndState = "Timeout"
	Cancelled EndState = "Cancelled"
	Requeued  EndState = "Requeued" // of a run only
	// Preempted: it was evicted for another and may not wait again.
	Preempted EndState = "Preempted"
	// NodeFailed: one of its nodes was lost, and it may not wait again.
	NodeFailed EndState = "NodeFailed"
)

// End is the end of a workload.
type End struct {
	State   EndState
	Time    time.Time
	Message string
}

// Exclusive says whether a workload shares its nodes.
type Exclusive string

// The values of Exclusive.
const (
	ExclusiveNone     Exclusive = "None"
	ExclusiveWorkload Exclusive = "Workload" // whole nodes for this workload alone
)

// DependencyKind is what must have happened to another workload.
type DependencyKind string

// The kinds of dependency, as Slurm has them.
const (
	After      DependencyKind = "after"      // it has started
	AfterOK    DependencyKind = "afterok"    // it has completed
	AfterAny   DependencyKind = "afterany"   // it has ended, however
	AfterNotOK DependencyKind = "afternotok" // it has ended otherwise than completed
	Singleton  DependencyKind = "singleton"  // no older workload of the same user and job name waits or runs in the namespace, or has pods there
)

// Dependency is one condition on another workload of the same namespace, by
// its owner's name, or on all members of an array by the array's. A name that
// is not known yet is waited for. Of several workloads of one name the one that
// was queued last is meant.
//
// A workload that was deleted before it ended counts as cancelled: that ends
// afterany and afternotok, and after too, as in Slurm; afterok it makes
// impossible.
type Dependency struct {
	Kind DependencyKind
	Name string // empty for Singleton
}

// Outcome is what came of a workload, or of an array as a whole, that another
// depends on. It stands in the dependent's own status: what it is about may be
// deleted before the dependent starts, and then nobody else knows.
type Outcome struct {
	Name   string     // as in Dependency
	ID     WorkloadID // whose it is; empty for an array
	State  EndState   // how it ended; empty: it has started, and no more is known
	Member *int       // index in the array of the first member that did not complete; nil: none, or no array
}

// ParseDependency reads "afterok:NAME", "after:NAME", "afterany:NAME",
// "afternotok:NAME" or "singleton".
func ParseDependency(text string) (Dependency, error) {
	kind, name, named := strings.Cut(text, ":")
	switch d := (Dependency{Kind: DependencyKind(kind), Name: name}); d.Kind {
	case Singleton:
		if !named {
			return d, nil
		}
	case After, AfterOK, AfterAny, AfterNotOK:
		return d, d.named(text)
	}
	return Dependency{}, fmt.Errorf("%q is not a dependency; write after:NAME, afterok:NAME, afterany:NAME, afternotok:NAME or singleton", text)
}

// named says what is wrong with the name of a dependency. Slurm has more forms of it.
func (d Dependency) named(text string) error {
	if _, delay, delayed := strings.Cut(d.Name, "+"); delayed {
		return fmt.Errorf("%q: a delay after a start (+%s) is not known; write %s:NAME alone", text, delay, d.Kind)
	}
	if strings.Contains(d.Name, "?") {
		return fmt.Errorf("%q: one of several (?) is not known; all that are written must have happened", text)
	}
	if first, more, several := strings.Cut(text, ","); several {
		return fmt.Errorf("%q holds several dependencies; write each by itself: %q, %q", text, first, strings.TrimSpace(more))
	}
	if names := strings.Split(d.Name, ":"); len(names) > 1 {
		each := string(d.Kind) + ":" + strings.Join(names, ", "+string(d.Kind)+":")
		return fmt.Errorf("%q names %d jobs, and a dependency is on one; write one for each: %s", text, len(names), each)
	}
	if !isDotted(d.Name) {
		return fmt.Errorf("%q is not a dependency: %q is not the name of a job of this namespace, or of an array; write %s:NAME", text, d.Name, d.Kind)
	}
	return nil
}

// WholeArray is the index of an array that waits as a whole: it is held, and
// its members take its place when it is released.
const WholeArray = -1

// ArrayMember places a workload in an array: members are workloads of their
// own, taken in the order of their index, at most Limit at a time.
type ArrayMember struct {
	Name  string // of the array; members are Name-0, Name-1, …
	Index int    // WholeArray: it is no member, but the array before it has any
	Count int    // members in all; 0: those that are known
	Limit int    // members that hold an allocation at the same time; 0: all
}

// Contradiction says which of the times that its author wrote can't hold beside the
// others, TimeMin or EndBefore, what it says and what would do; empty: all can.
func (w *Workload) Contradiction() (field, words string) {
	bounded := w.Walltime != 0 && w.Walltime != Unlimited
	if bounded && (w.TimeMin > w.Walltime || w.TimeMin == Unlimited) {
		return "TimeMin", fmt.Sprintf("is %s, above the walltime of %s: write the shortest limit that will do, up to that",
			FormatWalltime(w.TimeMin), FormatWalltime(w.Walltime))
	}
	least := w.Walltime
	if w.TimeMin > 0 {
		least = w.TimeMin
	}
	if w.EndBefore.IsZero() || w.Begin.IsZero() {
		return "", ""
	}
	first := w.Begin
	if least != Unlimited {
		first = first.Add(time.Duration(least))
	}
	if w.EndBefore.Before(first) || !w.EndBefore.After(w.Begin) {
		asks := ""
		if least > 0 && least != Unlimited {
			asks = " and asks for " + FormatWalltime(least) + " at least"
		}
		return "EndBefore", fmt.Sprintf("is %s, and it may not begin before %s%s: write a later one, or an earlier begin or a shorter limit",
			w.EndBefore.UTC().Format(time.RFC3339), w.Begin.UTC().Format(time.RFC3339), asks)
	}
	return "", ""
}
