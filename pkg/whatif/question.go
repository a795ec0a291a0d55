package whatif

import (
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

// World is a working set that questions are asked of.
type World struct {
	core *core.Core
	now  time.Time
}

// New returns an empty world at a time.
func New(now time.Time) *World {
	return &World{core: core.New(), now: now.UTC().Truncate(time.Second)}
}

// Observe folds in an event. What was last said of a workload is left out, so
// that the plan says it afresh, with all its numbers.
func (w *World) Observe(e batch.Event) {
	if seen, ok := e.(batch.WorkloadObserved); ok {
		seen.Workload.LastVerdict = nil
		e = seen
	}
	w.core.Step(e)
}

// Workload is the record of a workload; false: there is none.
func (w *World) Workload(id batch.WorkloadID) (batch.Workload, bool) { return w.core.Workload(id) }

// Answer is what there is to say of a waiting workload.
type Answer struct {
	Workload batch.Workload
	Now      time.Time
	// StartsNow: the next plan starts it.
	StartsNow bool
	Verdict   batch.Verdict
	// Nodes are those of its planned start; empty: none is planned.
	Nodes []batch.NodeName
	// Waits are those whose end it waits for, by time.
	Waits []Obstacle
	// Sooner are changes that would let it start sooner, best first; Tried are
	// the kinds of change that were looked for. What it waits for may be such
	// that no change helps, and then none is.
	Sooner []Change
	Tried  []ChangeKind
}

// Ask answers for one workload; false: it does not wait.
func (w *World) Ask(id batch.WorkloadID) (Answer, bool) {
	workload, ok := w.core.Workload(id)
	if !ok || workload.Allocation != nil || workload.Finished != nil {
		return Answer{}, false
	}
	out := Answer{Workload: workload, Now: w.now}
	plan := w.core.Plan(w.now)
	is := outcomeOf(plan, id)
	out.StartsNow, out.Verdict = is.startsNow, is.verdict
	if out.StartsNow {
		return out, true
	}
	nomination := workload.Nomination
	if is.nominated != nil {
		nomination = is.nominated
	}
	switch {
	case nomination != nil && is.verdict.Reason == batch.ReasonPreempting:
		out.Nodes = Nodes(&nomination.Allocation)
		out.Waits = w.victims(plan, nomination, id)
		return out, true // its place is made for it: no change brings a better one
	case is.hold != nil:
		out.Nodes = Nodes(is.hold)
		out.Waits = w.before(plan, is.hold, id)
	case is.verdict.Reason.TakesPart():
		out.Waits = w.endless()
	}
	out.Tried, out.Sooner = w.changes(workload, is)
	return out, true
}

// outcome is what a plan says of one workload.
type outcome struct {
	startsNow bool
	verdict   batch.Verdict
	hold      *batch.Allocation
	nominated *batch.Nomination // by this plan
}

func outcomeOf(plan batch.Plan, id batch.WorkloadID) outcome {
	var out outcome
	for i := range plan.Start {
		out.startsNow = out.startsNow || plan.Start[i].ID == id
	}
	for i := range plan.Wait {
		if plan.Wait[i].ID == id {
			out.verdict = plan.Wait[i].Verdict
		}
	}
	for i := range plan.Holds {
		if plan.Holds[i].ID == id {
			out.hold = plan.Holds[i].Allocation
		}
	}
	for i := range plan.Nominate {
		if plan.Nominate[i].ID == id {
			out.nominated = plan.Nominate[i].Nomination
		}
	}
	return out
}

// Nodes are the nodes of an allocation, each once.
func Nodes(a *batch.Allocation) []batch.NodeName {
	var names []batch.NodeName
	for _, placement := range a.PodSets {
		names = append(names, placement.Hosts...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
