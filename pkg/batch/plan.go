package batch

import "time"

// Plan is what should happen, decided at one time from one snapshot. It lists
// changes only: planning again without an event gives an empty plan. A workload
// may be in Requeue and in Start or Wait of the same plan: carry out the lists
// in their order.
type Plan struct {
	At time.Time

	// Evict: take these allocations back. The notice is given now, and the owner
	// suspended now or later (Eviction.Stopped); the allocation stays charged
	// until its pods are gone.
	Evict []EvictDecision
	// Notify: these are told that their deadline comes near. Nothing is taken
	// back.
	Notify []NotifyDecision
	// Relimit: a person has edited the walltime of these while they run; their
	// deadline follows.
	Relimit []RelimitDecision
	// Stop: these were noticed before, and their grace is over or all their
	// pods have acknowledged: their owner is suspended now.
	Stop []StopDecision
	// Requeue: these were evicted and their pods are gone; they wait again.
	Requeue []RequeueDecision
	// Finish: these have ended; put the end on record.
	Finish []FinishDecision
	// Start: give these their allocation.
	Start []StartDecision
	// Nominate: these have their placement kept while their victims end, or no
	// longer.
	Nominate []NominateDecision
	// Wait: these wait, and the reason or the planned start has changed.
	Wait []WaitDecision
	// Ready: these have all their pods ready, or no longer have.
	Ready []ReadyDecision
	// Remember: what came of those that these depend on, put on record with
	// them.
	Remember []RememberDecision

	// Holds are the placements of all planned starts. They are no change to be
	// written, and Empty does not count them: state keeps them, so that the
	// next plan can leave them where they are.
	Holds []HoldDecision

	// Wake is the next moment at which the plan changes by itself (planned
	// start, deadline, start timeout, requeue time); zero: none.
	Wake time.Time

	Stats Stats

	// Carried is for the next plan; state puts it into the next snapshot.
	Carried Carried `json:"-"`
}

// Empty says whether the plan changes nothing.
func (p Plan) Empty() bool {
	return len(p.Notify)+len(p.Relimit)+len(p.Evict)+len(p.Stop)+len(p.Requeue)+len(p.Nominate)+len(p.Finish)+len(p.Start)+len(p.Wait)+len(p.Ready)+len(p.Remember) == 0
}

type (
	// StartDecision admits a workload.
	StartDecision struct {
		ID         WorkloadID
		Run        int // Workload.Restarts at this start
		Allocation Allocation
		Walltime   Walltime `json:",omitempty"` // as declared; the deadline follows from it
		Loose      Loose    `json:",omitzero"`
	}
	// EvictDecision takes an allocation back.
	EvictDecision struct {
		ID       WorkloadID
		Eviction Eviction
	}
	// NotifyDecision tells a workload of its deadline, as long before as it
	// has asked for.
	NotifyDecision struct {
		ID     WorkloadID
		Notice Notice
	}
	// RelimitDecision gives a run another deadline, as its walltime was edited.
	RelimitDecision struct {
		ID       WorkloadID
		Run      int       // Workload.Restarts
		Walltime Walltime  `json:",omitempty"` // as declared now; this answers it
		Deadline time.Time // zero: none any more
		// Refused is why the deadline is left as it is, in words; empty: it is not.
		Refused string `json:",omitempty"`
	}
	// StopDecision ends the grace of a workload that runs on after its notice.
	StopDecision struct {
		ID WorkloadID
		At time.Time
		// By is what has happened to one of its pods meanwhile, so that not all
		// can acknowledge, in words; empty: nothing.
		By string `json:",omitempty"`
	}
	// NominateDecision keeps a placement for a preemptor; nil: no longer.
	NominateDecision struct {
		ID         WorkloadID
		Nomination *Nomination
	}
	// RequeueDecision lets an evicted workload wait again.
	RequeueDecision struct {
		ID           WorkloadID
		Restarts     int       // the new count
		RequeueAfter time.Time // zero: eligible at once
		Meanwhile    string    `json:",omitempty"` // Eviction.Meanwhile
	}
	// FinishDecision records an end.
	FinishDecision struct {
		ID  WorkloadID
		End End
	}
	// WaitDecision records why a workload waits.
	WaitDecision struct {
		ID      WorkloadID
		Verdict Verdict
		Basis   Basis `json:",omitempty"`
	}
	// HoldDecision keeps a placement for a waiting workload: Allocation.Start
	// is its planned start.
	HoldDecision struct {
		ID         WorkloadID
		Allocation *Allocation
	}
	// ReadyDecision records whether a run has as many pods ready as it needs,
	// and what keeps those that are not on a node from it, as far as is known.
	ReadyDecision struct {
		ID     WorkloadID
		Ready  bool
		HeldBy string
	}
	// RememberDecision records what came of those that a workload depends on:
	// all of it, by name.
	RememberDecision struct {
		ID       WorkloadID
		Outcomes []Outcome
	}
)

// Stats counts what a planning pass saw.
type Stats struct {
	Considered int // waiting workloads that took part
	Planned    int // of those, with a planned start
	Waiting    int // all that wait
	Running    int // all that hold an allocation
	// Unsettled says that the plan was gone over as often as it may be: something
	// could still have moved earlier, or somebody have been found a place.
	Unsettled bool
}

// QueueSummary is what a queue holds and what waits for it.
type QueueSummary struct {
	Pending, Running int
	Used             map[FlavorName]Resources // FlavorName "" in a queue without flavors
	PlannedNext      time.Time                // zero: none
	// Quotas are how it stands in each resource that a quota of it, or of a
	// cohort above it, bounds; by flavor and resource.
	Quotas []Standing
	// Lingering are pods of its work that were removed by force, in order of
	// their end, then name: they are charged until then.
	Lingering []Pod
	// Circle is the circle of cohorts that keeps it from starting anything; nil:
	// there is none.
	Circle []CohortName
}

// CohortSummary is how a cohort stands.
type CohortSummary struct {
	Quotas []Standing
	// Circle is the circle of parents that it is in, or below; nil: none.
	Circle []CohortName
}

// Standing is how a queue or a cohort stands in one resource of one flavor.
type Standing struct {
	Flavor   FlavorName
	Resource ResourceName
	Quota    Quota
	// Nominal is the nominal quota of a queue; of a cohort, its own and that of
	// all below it. Bounded says that somebody has set one.
	Nominal Limit
	Used    Amount // by all that is below, whoever's quota it is
	// Borrowed is what it uses beyond its own: a queue beyond its nominal
	// quota, a cohort beyond what it and its members have. Without a cohort
	// above, nothing is borrowed.
	Borrowed Amount
	// Lent is what others use of its own. What is lent adds up to what is
	// borrowed, less what quotas of cohorts cover; these go first, then members
	// with idle quota, by name, cohorts before queues.
	Lent Amount
	// Promised are the nominal quotas of all queues and cohorts together, and
	// Has is what there is on the nodes of the flavor.
	Promised, Has Amount
}
