package core_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

// checkRebuilt holds a core that has lived long to one that is made from what
// it knows, and remembers nothing of how it came to know it: the same working
// set, the same sums of quotas, the same plan.
func checkRebuilt(w *world, plan batch.Plan) {
	rebuilt := core.Restore(w.core.Image())
	if diff := cmp.Diff(plan, rebuilt.Plan(w.now)); diff != "" {
		w.t.Fatalf("%d: the plan (-lived +rebuilt):\n%s", minuteOf(w.now), diff)
	}
	was, is := w.core.Snapshot(), rebuilt.Snapshot()
	was.Carried, is.Carried = batch.Carried{}, batch.Carried{}
	if diff := cmp.Diff(was, is, cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("%d: the working set (-lived +rebuilt):\n%s", minuteOf(w.now), diff)
	}
	if diff := cmp.Diff(w.core.Summaries(), rebuilt.Summaries(), cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("%d: sums (-lived +rebuilt):\n%s", minuteOf(w.now), diff)
	}
}

// After any sequence of edits, moves and deletions of queues, cohorts, flavors
// and nodes, of work that comes, runs, gives way and ends, the core that has
// seen all of it plans as one that is made anew from what is there.
func TestALongLifeMakesNoDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, func(w *world) func(batch.Plan) {
			maybeQuotas(t, w)
			return func(plan batch.Plan) { checkRebuilt(w, plan) }
		})
		for range rapid.IntRange(1, 8).Draw(t, "rearrangements") {
			rearrange(t, w)
			w.until(minuteOf(w.now) + rapid.IntRange(0, 9).Draw(t, "minutes"))
		}
	})
}

// The twin sees what it should: a core that has lost its promises is another.
func TestALifeWithoutPromisesIsAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(job{name: "runs", pods: 2, gpu: 8, walltime: 60}, job{name: "waits", pods: 2, gpu: 8, walltime: 60})
	w.until(1)
	image := w.core.Image()
	for i := range image.Records {
		image.Records[i].Held = nil
	}
	image.Held = nil
	if diff := cmp.Diff(w.core.Snapshot().Waiting, core.Restore(image).Snapshot().Waiting); diff == "" {
		t.Error("no difference is seen")
	}
}

// rearrange lets an admin change, move or delete a queue, a cohort, a flavor or
// a node between two plans.
func rearrange(t *rapid.T, w *world) {
	snapshot := w.core.Snapshot()
	var flavors []batch.FlavorName
	for name := range snapshot.Flavors { //order:any sorted below
		flavors = append(flavors, name)
	}
	slices.Sort(flavors)
	switch rapid.IntRange(0, 4).Draw(t, "rearrangement") {
	case 0, 1:
		reorganize(t, w)
	case 2:
		if len(flavors) > 0 {
			w.step(batch.FlavorGone{Name: rapid.SampledFrom(flavors).Draw(t, "flavor")})
		}
	case 3:
		w.step(batch.FlavorObserved{Flavor: batch.Flavor{Name: "f", Selector: batch.LabelSelector{
			All: []batch.Requirement{{Key: "host", Op: batch.OpIn, Values: []string{"n1", "n2"}}},
		}}})
	case 4:
		if _, queued := snapshot.Queues["front"]; queued {
			w.step(batch.QueueGone{Name: "front"})
		}
	}
}
