package core_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/planner"
)

// forgetful holds every plan of a world to the one that remembers nothing.
func (w *world) forgetful() {
	w.look = func(with batch.Plan) {
		snapshot := w.core.Snapshot()
		snapshot.Carried = batch.Carried{}
		without := planner.Plan(snapshot, w.now)
		if was, is := brief(without), brief(with); was != is {
			w.t.Errorf("%d (-from scratch +with what was carried):\n%s", minuteOf(w.now), cmp.Diff(was, is))
		}
	}
}

// keepsPlaces is a world of two nodes whose work gives way to that of front within
// 3 minutes, that of side within 6, and takes as long.
func keepsPlaces(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.nodes(2, 8)
	gives := func(grace time.Duration) batch.Preemption {
		return batch.Preemption{Mode: batch.PreemptRequeue, Grace: grace}
	}
	w.giving(gives(3 * time.Minute))
	w.queue("side", func(q *batch.Queue) { q.Tier, q.Preemption = 1, gives(6*time.Minute) })
	w.lingers = func(id batch.WorkloadID) int {
		if id == "ns/late" {
			return 6
		}
		return 3
	}
	return w
}

// fullNode is keepsPlaces with a node of which one half is given back sooner than
// the other.
func fullNode(t *testing.T) *world {
	t.Helper()
	w := keepsPlaces(t)
	w.submit(job{name: "soon", gpu: 4, walltime: 90, edit: on("n1")}, job{name: "late", queue: "side", gpu: 4, walltime: 90, edit: on("n1")})
	w.until(1)
	return w
}

// A place that is kept is found again when what it rests on is another, also where
// nothing that runs is.
func TestAPlaceThatIsKeptIsFoundAgainWhenWhatItRestsOnChanges(t *testing.T) {
	t.Parallel()
	t.Run("one that comes before it goes away", func(t *testing.T) {
		t.Parallel()
		w := keepsPlaces(t)
		w.submit(job{name: "soon", gpu: 8, walltime: 90, edit: on("n1")}, job{name: "late", queue: "side", gpu: 8, walltime: 90, edit: on("n2")})
		w.until(1)
		w.submit(job{name: "top", queue: "front", gpu: 8, walltime: 30, edit: on("n1")})
		w.until(2)
		w.forgetful()
		w.until(3)
		w.submit(job{name: "next", gpu: 8, walltime: 30, edit: on("n1")})
		w.until(3)
		w.want("top~4", "next~34")
		w.step(batch.WorkloadGone{ID: id("top")})
		delete(w.jobs, "top")
		w.until(3)
		w.want("next~4")
	})
	t.Run("another is to have the first turn", func(t *testing.T) {
		t.Parallel()
		w := fullNode(t)
		w.submit(
			job{name: "top", queue: "front", gpu: 4, walltime: 30, priority: 9, edit: on("n1")},
			job{name: "next", queue: "front", gpu: 4, walltime: 30, priority: 5, edit: on("n1")})
		w.until(2)
		w.forgetful()
		w.want("top~4", "next~7")
		w.jobs["next"].priority = 20
		w.step(batch.WorkloadObserved{Workload: w.workload(w.jobs["next"])})
		w.until(2)
		w.want("top~7", "next~4")
	})
	t.Run("its walltime is edited", func(t *testing.T) {
		t.Parallel()
		w := fullNode(t)
		w.submit(
			job{name: "top", queue: "front", gpu: 4, walltime: 30, priority: 9, edit: on("n1")},
			job{name: "next", queue: "front", gpu: 4, walltime: 30, priority: 5, edit: on("n1")},
			job{name: "rest", gpu: 8, walltime: 30, edit: on("n1")})
		w.until(2)
		w.forgetful()
		w.want("top~4", "next~7", "rest~37")
		w.jobs["next"].walltime = 60
		w.step(batch.WorkloadObserved{Workload: w.workload(w.jobs["next"])})
		w.until(2)
		w.want("top~4", "next~7", "rest~67")
	})
	t.Run("one comes before it", func(t *testing.T) {
		t.Parallel()
		w := fullNode(t)
		w.submit(job{name: "next", queue: "front", gpu: 4, walltime: 30, priority: 5, edit: on("n1")})
		w.until(2)
		w.forgetful()
		w.want("next~7")
		w.submit(job{name: "top", queue: "front", gpu: 4, walltime: 30, priority: 9, edit: on("n1")})
		w.until(2)
		w.want("top~5", "next~7")
	})
	t.Run("a victim ends before its grace is over", func(t *testing.T) {
		t.Parallel()
		w := fullNode(t)
		w.submit(job{name: "top", queue: "front", gpu: 8, walltime: 30, edit: on("n1")}, job{name: "rest", gpu: 2, walltime: 2, edit: on("n1")})
		w.until(2)
		w.forgetful()
		w.want("top~7")
		for _, r := range w.remnants {
			w.leave(r)
		}
		w.remnants = nil
		w.until(2)
		w.want("top=2")
	})
}
