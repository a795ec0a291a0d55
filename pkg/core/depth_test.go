package core_test

import (
	"testing"

	"github.com/berth-dev/berth/pkg/batch"
)

// Whom a place is kept for spends nothing of the depth, so the last planned start
// lies one further back in the order. It is found there again: else it would
// count as gone, all places would be chosen anew, and the second plan would move
// what the first has left. (Every plan of a world is held to be followed by an
// empty one.)
func TestThePlannedStartBehindOneThatAPlaceIsKeptForIsFoundAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policy := batch.DefaultPolicy()
	policy.Depth = 2
	w.step(batch.PolicyObserved{Policy: policy})
	w.editQueue("main", func(q *batch.Queue) { q.Preemption.Mode = batch.PreemptRequeue })
	w.queue("front", func(q *batch.Queue) { q.Tier = 5 })
	w.lingers = func(batch.WorkloadID) int { return 1 }
	w.nodes(4, 8)
	w.submit(job{name: "victim", pods: 3, gpu: 8, walltime: 20})
	w.until(9)
	w.submit(job{name: "spread", pods: 3, gpu: 2, priority: 3, edit: func(w *batch.Workload) { w.PodSets[0].PerNodeMax = 1 }})
	w.submit(job{name: "urgent", queue: "front", pods: 3, gpu: 8, walltime: 5})
	w.until(9)
	w.submit(job{name: "half", gpu: 4, walltime: 10})
	w.until(9)
	w.submit(job{name: "last", gpu: 8, walltime: 20, priority: 2})
	w.until(9)
	w.want("spread~15", "half=9", "last~19")
}
