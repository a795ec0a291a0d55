package core_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

func TestAPromiseSticksWhenRoomAppearsEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(job{name: "early", gpu: 8, walltime: 240, runs: 60}, job{name: "steady", gpu: 8, walltime: 120})
	w.until(1)
	w.submit(job{name: "high", pods: 2, gpu: 8, walltime: 60})
	w.until(2)
	w.submit(job{name: "low", gpu: 8, walltime: 120})
	w.until(30)
	w.want("high~240", "low~120")
	w.until(600)
	w.want("low=60", "high=180")
	if via := w.jobs["low"].via; via != batch.ViaBackfill {
		t.Errorf("low started via %s", via)
	}
	if len(w.moved) > 0 {
		t.Errorf("moved later: %v", w.moved)
	}
}

func TestHoldTakesTheNodesThatFreeUpLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(3, 8)
	w.submit(job{name: "run1", gpu: 8, walltime: 60}, job{name: "run2", gpu: 8, walltime: 60})
	w.until(1)
	w.submit(job{name: "pair", pods: 2, gpu: 8, walltime: 60})
	w.until(2)
	w.submit(job{name: "long", gpu: 8, walltime: 600})
	w.until(60)
	w.want("long=2", "pair=60")
}

// A hold that begins on a node which has become idle early changes places with
// what frees up later, so that the idle one is not kept for nothing.
func TestNothingIdleIsKeptForNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(3, 8)
	w.submit(job{name: "r1", gpu: 8, walltime: 60, runs: 10}, job{name: "r2", gpu: 8, walltime: 60}, job{name: "r3", gpu: 8, walltime: 60})
	w.until(1)
	w.submit(job{name: "pair", pods: 2, gpu: 8, walltime: 60})
	w.until(2)
	w.submit(job{name: "long", gpu: 8, walltime: 600})
	w.want("pair~60")
	w.until(60)
	w.want("long=10", "pair=60")
}

func TestTouchingIntervalsDoNotCollide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(3, 8)
	w.submit(job{name: "r", gpu: 8, walltime: 30})
	w.until(1)
	w.submit(job{name: "t", pods: 3, gpu: 8, walltime: 60})
	w.until(2)
	w.submit(job{name: "over", gpu: 8, walltime: 28, edit: func(w *batch.Workload) { w.Walltime += batch.Walltime(time.Second) }})
	w.until(3)
	w.want("over~90")
	w.submit(job{name: "exact", gpu: 8, walltime: 27})
	w.until(200)
	w.want("exact=3", "t=30", "over=90")
}

func TestOneGPUPlanLeavesTheRestOfTheNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "six", gpu: 6, walltime: 60})
	w.until(1)
	w.submit(job{name: "four", gpu: 4, walltime: 60})
	w.until(2)
	w.submit(job{name: "single", gpu: 1, walltime: 120})
	w.until(3)
	w.submit(job{name: "pair", gpu: 2, walltime: 120})
	w.until(3)
	w.want("four~60", "single=2", "pair~60")
	w.until(60)
	w.want("four=60", "pair=60")
}

func TestUnlimitedWorkStartsOnlyWhereItMeetsNoPlannedStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(3, 8)
	w.submit(job{name: "r", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "pair", pods: 3, gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "forever", gpu: 8})
	w.until(0)
	w.want("pair~60", "forever~120")
	w.until(120)
	w.want("pair=60", "forever=120")
	// Nothing is planned behind what never ends.
	w.submit(job{name: "all", pods: 3, gpu: 8, walltime: 5}, job{name: "two", pods: 2, gpu: 8})
	w.until(121)
	w.want("all~-", "two=120")
	w.reason("all", batch.ReasonResources, "no start is known")
	w.end("two")
	w.end("forever")
	w.until(130)
	w.want("all=121")
}

func TestRanksFollowTheNamesOfNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(3, 8)
	w.submit(job{name: "four", gpu: 4, walltime: 60, edit: on("n2")})
	w.until(0)
	w.submit(job{name: "gang", pods: 5, gpu: 4, walltime: 60})
	w.until(0)
	if diff := cmp.Diff([]string{"n1", "n1", "n2", "n3", "n3"}, w.jobs["gang"].hosts); diff != "" {
		t.Error(diff)
	}
}

func TestSizeOfAQueueIsABound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(4, 8)
	w.queue("main", func(q *batch.Queue) { q.MinNodes, q.MaxNodes = 2, 3 })
	w.submit(job{name: "one", gpu: 8, walltime: 5}, job{name: "two", pods: 2, gpu: 8, walltime: 5}, job{name: "four", pods: 4, gpu: 8, walltime: 5})
	w.until(0)
	w.want("one=-", "two=0", "four=-")
	w.reason("one", batch.ReasonNeverFits, "that is 1 node", "at least 2 (size.minNodes)")
	w.reason("four", batch.ReasonNeverFits, "that is 4 nodes", "at most 3 (size.maxNodes)")
	// An admin widens the bound, and nobody submits anything again.
	w.queue("main", nil)
	w.until(1)
	w.want("one=0", "four~5")
}

func TestSummariesSayWhatAQueueHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.queue("idle", nil)
	w.submit(job{name: "a", pods: 2, gpu: 6, walltime: 60})
	w.until(0)
	w.submit(job{name: "b", gpu: 8, walltime: 60}, job{name: "c", gpu: 9, walltime: 60})
	w.until(1)
	want := map[batch.QueueName]batch.QueueSummary{
		"main": {
			Pending: 2, Running: 1, PlannedNext: zero.Add(time.Hour),
			Used: map[batch.FlavorName]batch.Resources{"": {batch.ResourceGPU: 12, batch.ResourcePods: 2}},
		},
		"idle": {},
	}
	if diff := cmp.Diff(want, w.core.Summaries()); diff != "" {
		t.Error(diff)
	}
}
