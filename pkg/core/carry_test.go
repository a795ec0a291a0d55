package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/planner"
)

// What one plan leaves to the next saves work, and decides nothing: the plan
// made from scratch is the dumb twin of the one that remembers.
func TestWhatIsCarriedChangesNoPlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawWorld(t, func(w *world) func(batch.Plan) {
			maybeQuotas(t, w)
			return func(batch.Plan) {
				snapshot := w.core.Snapshot()
				with := planner.Plan(snapshot, w.now)
				snapshot.Carried = batch.Carried{}
				without := planner.Plan(snapshot, w.now)
				if diff := cmp.Diff(without, with); diff != "" {
					w.t.Fatalf("at %d (-from scratch +with what was carried):\n%s", minuteOf(w.now), diff)
				}
			}
		})
	})
}

// What the plan before has held is not taken for what this one holds, because
// there is as much of it: one that was held has started, and another is held.
func TestHoldsOfThePlanBeforeAreNotTakenForThoseOfThisOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(func(p *batch.Policy) { p.Depth = 1 })
	w.nodes(2, 8)
	w.submit(job{name: "a", gpu: 8, walltime: 10, edit: on("n1")}, job{name: "b", gpu: 8, walltime: 10, edit: on("n2")})
	w.until(0)
	w.submit(
		job{name: "first", gpu: 4, walltime: 5, runs: 8, priority: 9, edit: on("n2")},
		job{name: "second", gpu: 8, walltime: 60, priority: 5, edit: on("n2")},
		job{name: "beyond", gpu: 2, walltime: 20})
	w.until(0)
	w.want("first~10", "second~-", "beyond~-")
	w.until(10)
	w.want("first=10", "second~15", "beyond=10")
	w.until(30)
	w.want("second=18")
}

// A planned start that stays where it was is handed on as the one that it was:
// of a thousand that wait nothing has to be copied or compared.
func TestAPlannedStartThatStaysIsTheSameOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "runs", gpu: 8, walltime: 10}, job{name: "waits", gpu: 8, walltime: 10})
	w.until(0)
	held := w.core.Snapshot().Waiting[0].Held
	holds := w.core.Plan(w.now).Holds
	if len(holds) != 1 || held == nil || holds[0].Allocation != held {
		t.Errorf("held %+v before, and %+v now", held, holds)
	}
}

// TestWhoIsSeenARunFurtherOnIsToldAnew: another controller has let it run and wait again
// meanwhile, and nothing of what this one has told it stands there any more, though its
// planned start is where it was.
func TestWhoIsSeenARunFurtherOnIsToldAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "runs", gpu: 8, walltime: 60}, job{name: "waits", gpu: 8, walltime: 10})
	w.until(0)
	w.until(1)
	w.forgetful()
	delete(w.waits, "waits")
	seen := w.workload(w.jobs["waits"])
	seen.Restarts = 1
	w.step(batch.WorkloadObserved{Workload: seen})
	w.until(2)
	w.want("waits~60")
	w.reason("waits", batch.ReasonResources)
}
