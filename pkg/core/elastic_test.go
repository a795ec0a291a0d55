package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

func least(pods int) func(*batch.Workload) {
	return func(w *batch.Workload) { w.PodSets[0].MinCount = pods }
}

// size is with how many pods a job started.
func (w *world) size(name string, want int) {
	w.t.Helper()
	if got := len(w.jobs[name].hosts); got != want {
		w.t.Errorf("%s started with %d pods, want %d", name, got, want)
	}
}

func TestElasticGangStartsWithWhatFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.step(batch.PodObserved{Pod: unmanaged("u", "n2", 7)})
	w.submit(job{name: "ten", pods: 10, gpu: 1, walltime: 60, edit: least(8)})
	w.until(1)
	w.size("ten", 9)
	w.submit(job{name: "seven", pods: 7, gpu: 1, walltime: 30})
	w.until(2)
	w.submit(job{name: "four", pods: 4, gpu: 1, walltime: 60, edit: least(3)})
	w.until(3)
	w.want("ten=0", "seven~60", "four~90")
	w.reason("four", batch.ReasonResources, "asks 3 to 4 × 1 nvidia.com/gpu")
	w.until(100)
	w.want("seven=60", "four=90")
	w.size("seven", 7)
	w.size("four", 4)
}

func TestElasticGangIsPlannedWithItsMinimumAndDelaysNoPlannedStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(4, 8)
	w.submit(job{name: "r", pods: 2, gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "gang", pods: 3, gpu: 8, walltime: 60})
	w.until(0)
	// One node is left at 60, two until then; and the next planned start has
	// the lower rank.
	w.submit(job{name: "long", pods: 4, gpu: 8, walltime: 90, priority: 5, edit: least(1)},
		job{name: "short", pods: 4, gpu: 8, walltime: 30, edit: least(1)})
	w.until(0)
	w.want("gang~60", "long=0", "short=0")
	w.size("long", 1)
	w.size("short", 1)
	w.until(60)
	w.want("gang=60")
	if len(w.moved) > 0 {
		t.Errorf("moved later: %v", w.moved)
	}
}

func TestElasticGangGoesBeforeWhoArrivesWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(job{name: "elastic", pods: 3, gpu: 8, walltime: 60, priority: 5, edit: least(1)}, job{name: "single", gpu: 8, walltime: 30})
	w.until(0)
	w.want("elastic=0", "single~60")
	w.size("elastic", 2)
	if diff := cmp.Diff(batch.ViaOrder, w.jobs["elastic"].via); diff != "" {
		t.Error(diff)
	}
}

func TestElasticSetsNeverStartBelowTheirMinimum(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("main", func(q *batch.Queue) { q.MaxPods = 5 })
	w.nodes(2, 8)
	w.submit(job{name: "r", gpu: 7, pods: 2, walltime: 60})
	w.until(0)
	w.submit(job{name: "e", walltime: 60, edit: func(w *batch.Workload) {
		w.PodSets = []batch.PodSet{
			{Name: "leader", Count: 1, Requests: batch.Resources{batch.ResourceGPU: 1, batch.ResourcePods: 1}},
			{Name: "worker", Count: 9, MinCount: 2, Requests: batch.Resources{batch.ResourceGPU: 1, batch.ResourcePods: 1}},
		}
	}})
	w.until(0)
	w.want("e~60")
	w.until(60)
	w.want("e=60")
	w.size("e", 5) // the bound of the queue
}

// With its most pods it goes elsewhere than with its fewest; what it kept until
// then another takes in the same plan.
func TestElasticGangThatGrowsLeavesItsPlaceToOthersInTheSamePlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(job{name: "r", gpu: 6, walltime: 60, edit: on("n1")})
	w.until(0)
	w.submit(job{name: "grows", pods: 3, gpu: 2, walltime: 60, edit: least(1)}, job{name: "pinned", gpu: 2, walltime: 60, edit: on("n1")})
	w.until(0)
	w.size("grows", 3)
	w.want("grows=0", "pinned=0")
}
