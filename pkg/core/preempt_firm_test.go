package core_test

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// firmLoad is work on two nodes of 8 GPUs. One queue owns all of the quota and
// takes back what it has lent; the other two borrow, one of them with a higher
// tier.
var firmLoad = []struct {
	name                     string
	queue                    string
	pods, gpu                int
	walltime, runs, priority int
	final, later             bool // ends for good if it is evicted; comes with the next
}{
	{name: "j1", queue: "side", pods: 1, gpu: 2, walltime: 60, runs: 30, priority: 3},
	{name: "j2", queue: "front", pods: 1, gpu: 3, walltime: 30, runs: 30, final: true, later: true},
	{name: "j5", queue: "front", pods: 3, gpu: 2, runs: 7},
	{name: "j6", queue: "front", pods: 2, gpu: 4, walltime: 60, runs: 30, priority: 2, final: true},
	{name: "j7", queue: "main", pods: 1, gpu: 3, walltime: 20, runs: 10, priority: 1},
	{name: "j9", queue: "front", pods: 1, gpu: 4, walltime: 10, runs: 13, final: true, later: true},
	{name: "j10", queue: "front", pods: 2, gpu: 2, runs: 7},
	{name: "j11", queue: "front", pods: 1, gpu: 2, walltime: 10, runs: 10, priority: 2},
	{name: "j12", queue: "main", pods: 1, gpu: 4, walltime: 20, runs: 23, priority: 2},
	{name: "j13", queue: "front", pods: 2, gpu: 1, walltime: 5, runs: 2, priority: 2, final: true},
	{name: "j15", queue: "front", pods: 3, gpu: 3, walltime: 5, runs: 7, priority: 3},
}

// Whoever is found a place beside what starts in a plan gets it beside these:
// they start first, as the next plan would find them. Else he is seated where
// they would be, is lost to one that may take it there, and gets his place in
// the next plan after all. (Every plan of a world is held to be followed by an
// empty one.)
func TestWhoIsFoundAPlaceBesideAStartIsSeatedBesideIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	for i, name := range []string{"main", "front", "side"} {
		w.queue(name, func(q *batch.Queue) {
			q.Tier, q.Cohort = int32([]int{1, 5, 1}[i]), "all"
			q.Quotas = batch.Quotas{"": {batch.ResourceGPU: batch.Quota{Nominal: batch.Amount([]int{16, 0, 0}[i])}}}
			q.Preemption = batch.Preemption{
				Mode: batch.PreemptRequeue, Grace: time.Duration([]int{3, 0, 0}[i]) * time.Minute,
				WithinQueue: batch.WhomNever, ReclaimWithinCohort: batch.WhomAny, BorrowWithinCohort: batch.WhomNever,
			}
			if name == "front" {
				q.Preemption.WithinQueue = batch.WhomLowerPriority
			}
		})
	}
	w.step(batch.CohortObserved{Cohort: batch.Cohort{Name: "all"}})
	lingers := []int{1, 3, 0, 1, 2}
	w.lingers = func(batch.WorkloadID) (minutes int) {
		if len(lingers) > 0 {
			minutes, lingers = lingers[0], lingers[1:]
		}
		return minutes
	}
	w.until(9)
	for _, j := range firmLoad {
		if j.name == "j15" {
			w.until(12)
		}
		w.submit(job{name: j.name, queue: j.queue, pods: j.pods, gpu: j.gpu, walltime: j.walltime, runs: j.runs, priority: j.priority, edit: func(w *batch.Workload) {
			w.NoRequeue = j.final
			if j.name == "j5" {
				w.PodSets = append(w.PodSets, batch.PodSet{Name: "leader", Count: 1, Requests: batch.Resources{batch.ResourceGPU: 1, batch.ResourcePods: 1}})
			}
		}})
		if !j.later {
			w.until(minuteOf(w.now))
		}
	}
	w.until(42)
}
