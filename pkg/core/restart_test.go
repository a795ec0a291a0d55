package core_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

// restart replaces the core by one that knows only what an API server would
// tell it: objects, decisions that were written, promises. Placements of
// planned starts are lost.
func (w *world) restart(events []batch.Event, edits ...func(*batch.Workload)) {
	var last []batch.Event
	for _, e := range events {
		switch e := e.(type) {
		case batch.PlanIssued, batch.AdmitFailed, batch.StartRefused:
			continue
		case batch.WorkloadObserved:
			now, ok := w.core.Workload(e.Workload.ID)
			if !ok {
				continue
			}
			for _, edit := range edits {
				edit(&now)
			}
			last = append(last, batch.WorkloadObserved{Workload: now})
		default:
			last = append(last, e)
		}
	}
	w.core = core.New()
	for _, e := range last {
		w.core.Step(e)
	}
}

func TestRestartBreaksNoPromiseAndStartsNothingTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, func(w *world) func(batch.Plan) {
			maybeQuotas(t, w)
			return nil
		})
		before := w.core.Snapshot()
		w.restart(w.events)
		if n := len(w.core.Snapshot().Started); n != len(before.Started) {
			t.Fatalf("%d workloads hold an allocation, before the restart %d", n, len(before.Started))
		}
		plan := w.core.Plan(w.now)
		checkGrants(w, plan)
		checkQuotas(w, plan)
		checkBuckets(w, plan)
		checkPromises(w, plan)
		if len(plan.Evict)+len(plan.Requeue)+len(plan.Finish) > 0 {
			t.Fatalf("a restart takes back or ends something: %s", brief(plan))
		}
		w.settle()
	})
}

// Work on whole nodes keeps its planned starts over a restart, though nobody
// remembers where they were.
func TestRestartMovesNoWorkOnWholeNodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.nodes(rapid.IntRange(1, 5).Draw(t, "nodes"), 8)
		minute := 0
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "step") == 0 {
				minute += rapid.IntRange(0, 12).Draw(t, "minutes")
				w.until(minute)
			}
			j := drawJob(t, i)
			j.gpu, j.edit, j.queue, j.runs = 8, nil, "main", min(j.runs, j.walltime)
			w.submit(j)
			w.until(minute)
		}
		w.restart(w.events)
		if plan := w.core.Plan(w.now); !plan.Empty() {
			t.Fatalf("a restart changes something: %s", brief(plan))
		}
	})
}

func TestB04RestartBringsNoFinishedWorkBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 2)
	w.submit(job{name: "a", gpu: 1, walltime: 5}, job{name: "b", gpu: 1, walltime: 5})
	w.until(10)
	w.submit(job{name: "r", gpu: 1, walltime: 60}, job{name: "p", gpu: 2, walltime: 60}, job{name: "q", gpu: 2, walltime: 60})
	w.until(10)
	w.want("a=0", "b=0", "r=10", "p~70", "q~130")
	for range 5 {
		w.restart(w.events)
		w.settle()
		w.want("a=0", "b=0", "r=10", "p~70", "q~130")
		sum := w.core.Summaries()["main"]
		if sum.Running != 1 || sum.Pending != 2 || sum.Used[""][batch.ResourceGPU] != 1 {
			t.Errorf("after a restart: %+v", sum)
		}
	}
	w.until(70)
	w.submit(job{name: "c", gpu: 2, walltime: 5})
	w.until(200)
	w.want("p=70", "q=130", "c=190")
	for name, j := range w.jobs {
		if j.starts != 1 || j.restarts != 0 {
			t.Errorf("%s started %d times", name, j.starts)
		}
	}
}
