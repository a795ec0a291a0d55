package whatif

import (
	"cmp"
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
	// Sooner are changes that would let it start sooner, best first.
	Sooner []Change
}

// Obstacle is something that must end first.
type Obstacle struct {
	Name  string    // of a workload's owner, or of a pod that Berth does not manage
	Until time.Time // zero: nobody knows
	// Planned: it does not run yet; it is planned before.
	Planned bool
	Overdue bool // it should have ended
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
	if is.hold != nil {
		out.Nodes = Nodes(is.hold)
		out.Waits = w.obstacles(plan, is.hold, id)
	} else if !is.startsNow && is.verdict.Reason.TakesPart() {
		out.Waits = w.endless()
	}
	if !is.startsNow {
		out.Sooner = w.changes(workload, is)
	}
	return out, true
}

// outcome is what a plan says of one workload.
type outcome struct {
	startsNow bool
	verdict   batch.Verdict
	hold      *batch.Allocation
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
			out.hold = &plan.Holds[i].Allocation
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

// obstacles are those on the nodes of a planned start that end before it.
func (w *World) obstacles(plan batch.Plan, hold *batch.Allocation, id batch.WorkloadID) []Obstacle {
	on := map[batch.NodeName]bool{}
	for _, name := range Nodes(hold) {
		on[name] = true
	}
	found := map[string]Obstacle{}
	for _, view := range w.core.Snapshot().Nodes {
		if !on[view.Node.Name] {
			continue
		}
		for i := range view.Charges {
			c := &view.Charges[i]
			if end := c.End(w.now); !end.IsZero() && !end.After(hold.Start) {
				found[c.Name] = Obstacle{Name: c.Name, Until: end, Overdue: c.Overdue(w.now)}
			}
		}
	}
	for i := range plan.Holds {
		other := &plan.Holds[i]
		end := other.Allocation.Deadline
		if other.ID == id || end.IsZero() || end.After(hold.Start) || !shares(&other.Allocation, on) {
			continue
		}
		name := w.nameOf(other.ID)
		found[name] = Obstacle{Name: name, Until: end, Planned: true}
	}
	return sorted(found)
}

func shares(a *batch.Allocation, on map[batch.NodeName]bool) bool {
	for _, name := range Nodes(a) {
		if on[name] {
			return true
		}
	}
	return false
}

func (w *World) nameOf(id batch.WorkloadID) string {
	if workload, ok := w.core.Workload(id); ok {
		return workload.Namespace + "/" + workload.Name
	}
	return string(id)
}

// endless are those of whom nobody knows when they end.
func (w *World) endless() []Obstacle {
	found := map[string]Obstacle{}
	for _, view := range w.core.Snapshot().Nodes {
		for i := range view.Charges {
			if c := &view.Charges[i]; c.By != "" && c.End(w.now).IsZero() {
				found[c.Name] = Obstacle{Name: c.Name}
			}
		}
	}
	return sorted(found)
}

func sorted(found map[string]Obstacle) []Obstacle {
	out := make([]Obstacle, 0, len(found))
	for _, o := range found { //order:any sorted below
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Obstacle) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Name, b.Name))
	})
	return out
}
