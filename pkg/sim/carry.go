package sim

import (
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// roundsMax bounds the plans of one instant: work that ends as soon as it
// starts makes a plan each.
const roundsMax = 100_000

// settle plans and carries out until nothing is left to do at this instant.
func (w *world) settle() {
	for range roundsMax {
		if w.core == nil || w.breach != nil || w.failed != nil {
			return
		}
		w.takeIn()
		plan := w.core.Plan(w.time())
		w.meter.plans++
		w.wake = 0
		if !plan.Wake.IsZero() {
			w.wake = w.offset(plan.Wake)
		}
		if plan.Empty() {
			w.planned(plan)
			w.checkSettled()
			return
		}
		w.core.Step(batch.PlanIssued{Plan: plan})
		w.planned(plan)
		// Starts and ends on record free nothing. By invariant 8 the next plan
		// would only note that pods are ready, and the plan of the next moment
		// does that too: for a long trace, one plan a moment is enough.
		freed, gone := w.carry(plan)
		if !freed && !w.options.thorough() {
			return
		}
		if plan.Stats.Unsettled && !gone {
			return // it was cut short: the next goes on when something happens, or in a second
		}
	}
	w.broke("plans of one instant do not come to an end", "an empty plan", "none")
}

// carry does what a plan says, in its order. It says whether that may have
// freed anything, and whether somebody who was evicted is gone.
func (w *world) carry(plan batch.Plan) (freed, gone bool) {
	w.checkBuckets(plan)
	w.checkPreemption(plan)
	for _, d := range plan.Relimit {
		w.relimit(d)
	}
	for _, d := range plan.Evict {
		gone = w.evict(d) || gone
	}
	for _, d := range plan.Requeue {
		w.requeue(d)
	}
	for _, d := range plan.Finish {
		w.finish(d)
	}
	for _, d := range plan.Start {
		w.start(d)
		if w.breach != nil {
			return true, gone
		}
	}
	for _, d := range plan.Nominate {
		w.jobs[d.ID].workload.Nomination = d.Nomination
	}
	for _, d := range plan.Wait {
		w.wait(d)
	}
	for _, d := range plan.Ready {
		w.ready(d)
	}
	for _, d := range plan.Remember {
		w.jobs[d.ID].workload.Outcomes = d.Outcomes
	}
	return len(plan.Evict)+len(plan.Requeue) > 0, gone
}

// ready records whether the pods of a run are ready.
func (w *world) ready(d batch.ReadyDecision) {
	j := w.jobs[d.ID]
	j.workload.PodsReady = &d.Ready
	if d.Ready && j.workload.ReadySince.IsZero() {
		j.workload.ReadySince = w.time()
	}
}

// wait records why a job waits.
func (w *world) wait(d batch.WaitDecision) {
	j := w.jobs[d.ID]
	w.checkWait(j, d.Verdict)
	before := j.workload.Promise
	verdict := d.Verdict
	j.workload.LastVerdict, j.workload.Promise, j.workload.Basis = &verdict, verdict.PlannedStart, d.Basis
	if !before.Equal(verdict.PlannedStart) {
		w.notePlanned(j, before, verdict.PlannedStart)
	}
	if w.logs() {
		w.log(EventWait, d.ID, WaitDetail{Reason: verdict.Reason, Message: verdict.Message})
	}
}

func (w *world) notePlanned(j *job, before, planned time.Time) {
	if !planned.IsZero() {
		j.planned = append(j.planned, w.offset(planned))
		j.later = j.later || (!before.IsZero() && planned.After(before))
	}
	if !w.logs() {
		return
	}
	var text *string
	if !planned.IsZero() {
		s := offsetText(w.offset(planned))
		text = &s
	}
	w.log(EventPlan, j.workload.ID, PlanDetail{PlannedStart: text})
}
