package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

// Semantics, section 4, example (a).
func TestB03StreamMayUseTheGapOnlyUntilThePlannedStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(4, 8)
	for i := 1; i <= 4; i++ {
		w.submit(job{name: fmt.Sprintf("r%d", i), gpu: 8, walltime: 10 * i, priority: 9})
	}
	w.until(0)
	w.submit(job{name: "B", pods: 4, gpu: 8, walltime: 60, priority: 5})
	w.until(0)
	w.want("B~40")
	w.submit(job{name: "short", gpu: 8, walltime: 15}, job{name: "long", gpu: 8, walltime: 35})
	w.until(10)
	w.want("short=10", "long=-")
	if via := w.jobs["short"].via; via != batch.ViaBackfill {
		t.Errorf("short started via %s", via)
	}
	w.until(40)
	w.want("B=40", "long~100")
}

// Semantics, section 4, example (b), and B28.
func TestB28LowerPlanNeverPushesAHigherOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("other", nil)
	w.nodes(6, 8)
	w.submit(job{name: "a", pods: 3, gpu: 8, walltime: 60, priority: 9}, job{name: "b", pods: 3, gpu: 8, walltime: 120, priority: 9})
	w.until(0)
	w.submit(
		job{name: "hi", pods: 4, gpu: 8, walltime: 120, priority: 5, queue: "other"},
		job{name: "lo", pods: 3, gpu: 8, walltime: 180, priority: 3},
		job{name: "short", pods: 3, gpu: 8, walltime: 60})
	w.until(0)
	w.want("hi~120", "lo~240", "short~60")
	for i := range 20 {
		w.until(i)
		w.submit(job{name: fmt.Sprintf("s%d", i), gpu: 8, walltime: 5})
		w.until(i)
		w.want("hi~120", "lo~240")
	}
	w.until(240)
	w.want("short=60", "hi=120", "lo=240")
	if len(w.moved) != 0 {
		t.Errorf("planned starts moved: %v", w.moved)
	}
}

// Semantics, section 4, example (c), and B26.
func TestB26MissingWalltimeCountsAsTheDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("main", func(q *batch.Queue) {
		q.WalltimeDefault, q.WalltimeMax = batch.Walltime(time.Hour), batch.Walltime(24*time.Hour)
	})
	w.nodes(2, 8)
	w.submit(job{name: "R", gpu: 8, walltime: 30, priority: 9})
	w.until(0)
	w.submit(
		job{name: "T", pods: 2, gpu: 8, walltime: 60, priority: 5},
		job{name: "S1", gpu: 8, runs: 5},
		job{name: "S2", gpu: 8, walltime: 20})
	w.until(0)
	w.want("T~30", "S1=-", "S2=0")
	w.reason("S1", batch.ReasonResources)
	w.until(200)
	w.want("T=30", "S1=90")
}

func TestWorkOfExactlyTheGapStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(job{name: "R", gpu: 8, walltime: 30, priority: 9})
	w.until(0)
	w.submit(job{name: "T", pods: 2, gpu: 8, walltime: 60, priority: 5}, job{name: "S", gpu: 8, walltime: 30},
		job{name: "U", gpu: 8})
	w.until(0)
	w.want("T~30", "S=0", "U=-")
}

// Semantics, section 4, example (d).
func TestOneGPUPlanHoldsOneGPU(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "six", gpu: 6, walltime: 60, priority: 9})
	w.until(0)
	w.submit(job{name: "three", gpu: 3, walltime: 60, priority: 5}, job{name: "one", gpu: 1, walltime: 600}, job{name: "two", gpu: 1, walltime: 60})
	w.until(0)
	w.want("three~60", "one=0", "two=0")
}

func TestPromiseSticksWhenRoomAppearsEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(job{name: "r1", gpu: 8, walltime: 60, runs: 10, priority: 9}, job{name: "r2", gpu: 8, walltime: 100, priority: 9})
	w.until(0)
	w.submit(job{name: "A", gpu: 8, walltime: 30, priority: 5}, job{name: "big", pods: 2, gpu: 8, walltime: 10, priority: 4})
	w.until(0)
	w.want("A~60", "big~100")
	w.until(10)
	w.want("A=10", "big~100")
	if diff := cmp.Diff([]string(nil), w.moved); diff != "" {
		t.Error(diff)
	}
}

// Nodes that lose a part for ever have no room for whole-node work any more, not
// taken together either: its planned starts end.
func TestPlannedStartsOnWholeNodesEndWhenAPartOfEachIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(job{name: "r", pods: 2, gpu: 8, walltime: 20})
	w.until(0)
	w.submit(job{name: "a", gpu: 8, walltime: 5}, job{name: "b", gpu: 8, walltime: 5})
	w.until(1)
	w.want("a~20", "b~20")
	w.step(batch.PodObserved{Pod: unmanaged("u1", "n1", 1)})
	w.step(batch.PodObserved{Pod: unmanaged("u2", "n2", 1)})
	w.until(30)
	w.want("a=-", "b=-", "a~-", "b~-")
	w.step(batch.PodGone{UID: "u2", By: w.now})
	w.until(60)
	w.want("a=30", "b=35")
}

// A gang whose own hold is in its way to an earlier start: its leader would sit
// where its worker is planned.
func TestGangMovesEarlierThroughItsOwnHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(3, 8)
	w.submit(job{name: "half", gpu: 4, walltime: 60, edit: on("n1")}, job{name: "early", gpu: 8, walltime: 120, runs: 30, edit: on("n2")},
		job{name: "full", gpu: 8, walltime: 60, edit: on("n3")})
	w.until(0)
	w.submit(job{name: "gang", walltime: 60, edit: func(w *batch.Workload) {
		w.PodSets = []batch.PodSet{
			{Name: "leader", Count: 1, Requests: batch.Resources{batch.ResourceGPU: 1, batch.ResourcePods: 1}},
			{Name: "worker", Count: 1, Requests: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 1}},
		}
	}})
	w.until(0)
	w.want("gang~60")
	w.until(30)
	w.want("gang=30")
}
