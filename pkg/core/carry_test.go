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
