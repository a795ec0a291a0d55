package core_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
)

// gpus is a quota of GPUs in flavor f.
func gpus(nominal batch.Amount) batch.Quotas { return gpusWith(batch.Quota{Nominal: nominal}) }

func gpusWith(q batch.Quota) batch.Quotas {
	return batch.Quotas{"f": {batch.ResourceGPU: q}}
}

// paying makes a queue of a cohort pay for GPUs in flavor f.
func (w *world) paying(name string, cohort batch.CohortName, quotas batch.Quotas) {
	w.step(batch.FlavorObserved{Flavor: batch.Flavor{Name: "f"}})
	w.queue(name, func(q *batch.Queue) {
		q.Flavors, q.Cohort, q.Quotas = []batch.FlavorName{"f"}, cohort, quotas
	})
}

func TestQuotaIsPlannedLikeNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(4, 8)
	w.paying("main", "", gpus(8))
	w.submit(job{name: "six", gpu: 6, walltime: 60})
	w.until(1)
	w.submit(job{name: "eight", gpu: 8, walltime: 60})
	w.until(2)
	w.submit(job{name: "long", gpu: 2, walltime: 120})
	w.until(3)
	w.reason("long", batch.ReasonPriority, "ns/eight")
	w.submit(job{name: "short", gpu: 2, walltime: 57})
	w.until(4)
	w.want("six=0", "eight~60", "long~120", "short=3")
	w.reason("eight", batch.ReasonQuotaExceeded, "asks 1 × 8 nvidia.com/gpu", "ClusterQueue main uses 6 of 8", "2 left, 8 asked", "starts at")
	w.reason("long", batch.ReasonQuotaExceeded)
	w.until(200)
	w.want("eight=60", "long=120")
}

// TestAnEditedQuotaIsTold to those who wait for it, also where neither the
// reason nor the planned start is another; that others start and end is not.
func TestAnEditedQuotaIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(4, 8)
	w.step(batch.CohortObserved{Cohort: batch.Cohort{Name: "all"}})
	w.paying("main", "all", gpus(8))
	w.paying("other", "all", gpus(0))
	w.paying("alone", "", gpus(4))
	w.submit(job{name: "six", gpu: 6, walltime: 60})
	w.until(1)
	w.submit(job{name: "eight", gpu: 8, walltime: 60})
	w.until(2)
	w.reason("eight", batch.ReasonQuotaExceeded, "2 left, 8 asked")
	w.submit(job{name: "elsewhere", gpu: 4, walltime: 10, queue: "alone"}, job{name: "small", gpu: 1, walltime: 10})
	w.until(3)
	w.want("small=2", "elsewhere=2", "eight~60")
	w.reason("eight", batch.ReasonQuotaExceeded, "2 left, 8 asked") // as it was when it was told
	w.paying("other", "all", gpus(1))
	w.until(4)
	w.want("eight~60")
	w.reason("eight", batch.ReasonQuotaExceeded, "2 left, 8 asked", "uses 7 of 8")
	w.paying("alone", "", gpus(5)) // another's
	if plan := w.core.Plan(w.now); !plan.Empty() {
		t.Errorf("an edit of a quota that is none of its own is told: %+v", plan.Wait)
	}
}

func TestB07WhatCanNeverBePaidBlocksNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.step(batch.CohortObserved{Cohort: batch.Cohort{Name: "all"}})
	w.paying("main", "all", gpus(3))
	w.paying("other", "all", gpus(0))
	w.submit(job{name: "w4", gpu: 4, walltime: 60}, job{name: "w3", gpu: 3, walltime: 60})
	w.until(1)
	w.want("w3=0")
	w.reason("w4", batch.ReasonNeverFits, "4 nvidia.com/gpu", "could have 3 at most")
	w.paying("main", "all", gpus(4))
	w.until(100)
	w.want("w4=60")
}

func TestB34LoweredQuotaStopsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.paying("main", "", gpus(8))
	w.submit(job{name: "a", gpu: 4, walltime: 60}, job{name: "b", gpu: 4, walltime: 120})
	w.until(10)
	w.paying("main", "", gpus(4))
	w.submit(job{name: "new", gpu: 1, walltime: 30})
	w.until(20)
	w.want("a=0", "b=0", "new~120")
	w.reason("new", batch.ReasonQuotaExceeded, "uses 8 of 4", "0 left")
	w.until(70)
	w.want("new~120")
	w.paying("main", "", gpus(6))
	w.until(80)
	w.want("new=70")
}

func TestB73EachResourceByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(20, 8)
	w.paying("main", "", gpus(50))
	for i := range 100 {
		w.submit(job{name: fmt.Sprintf("j%d", i), gpu: 1, walltime: 60})
	}
	w.until(1)
	running := 0
	for _, j := range w.jobs { //order:any a count
		running += j.starts
	}
	if running != 50 {
		t.Errorf("%d run, 50 may", running)
	}
}

func TestB82ACircleStopsItsQueuesUntilItIsUndone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	cohort := func(name, parent batch.CohortName) {
		w.step(batch.CohortObserved{Cohort: batch.Cohort{Name: name, Parent: parent}})
	}
	cohort("a", "c")
	cohort("b", "a")
	cohort("c", "b")
	w.paying("main", "c", gpus(1))
	w.paying("other", "", gpus(2))
	w.submit(job{name: "j1", gpu: 1, walltime: 60}, job{name: "j2", gpu: 2, walltime: 60}, job{name: "o", gpu: 2, walltime: 60, queue: "other"})
	w.until(1)
	w.want("j1=-", "o=0")
	w.reason("j1", batch.ReasonQueueStopped, "a → c → b → a")
	w.reason("j2", batch.ReasonQueueStopped)
	cohort("a", "")
	w.until(2)
	w.want("j1=1")
	w.reason("j2", batch.ReasonNeverFits)
}

// Partly finished work is charged for what still must run.
func TestQuotaComesBackPodByPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.paying("main", "", gpus(4))
	w.submit(job{name: "four", pods: 4, gpu: 1, walltime: 120, runs: -1})
	w.until(1)
	w.submit(job{name: "two", gpu: 2, walltime: 30})
	w.until(2)
	w.want("four=0", "two~120")
	for i := range 2 {
		w.step(batch.PodObserved{Pod: w.pod(w.jobs["four"], i, w.jobs["four"].hosts[i], batch.PodSucceeded)})
	}
	w.step(batch.OwnerObserved{ID: id("four"), Owner: batch.Owner{Started: true, Needed: []int{2}, Done: [][]int{{0, 1}}}})
	w.until(3)
	w.want("two=2")
	if s := w.core.Summaries()["main"].Quotas; len(s) != 1 || s[0].Used != 4 || s[0].Borrowed != 0 {
		t.Errorf("main stands at %+v", s)
	}
}

func TestFlavorWithoutALoanComesFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	for i, name := range []string{"f1", "f2"} {
		w.step(batch.FlavorObserved{Flavor: batch.Flavor{Name: batch.FlavorName(name), Selector: batch.LabelSelector{
			All: []batch.Requirement{{Key: "host", Op: batch.OpIn, Values: []string{fmt.Sprintf("n%d", i+1)}}},
		}}})
	}
	w.step(batch.CohortObserved{Cohort: batch.Cohort{Name: "all"}})
	four, eight := map[batch.ResourceName]batch.Quota{batch.ResourceGPU: {Nominal: 4}}, map[batch.ResourceName]batch.Quota{batch.ResourceGPU: {Nominal: 8}}
	w.queue("main", func(q *batch.Queue) {
		q.Flavors, q.Cohort, q.Quotas = []batch.FlavorName{"f1", "f2"}, "all", batch.Quotas{"f1": four, "f2": eight}
	})
	w.queue("neighbour", func(q *batch.Queue) {
		q.Flavors, q.Cohort, q.Quotas = []batch.FlavorName{"f1"}, "all", batch.Quotas{"f1": four}
	})
	w.submit(job{name: "eight", gpu: 8, walltime: 60}, job{name: "four", gpu: 4, walltime: 60}, job{name: "loan", gpu: 4, walltime: 30})
	w.until(1)
	w.want("eight=0", "four=0", "loan=0")
	for name, host := range map[string]string{"eight": "n2", "four": "n1", "loan": "n1"} {
		if got := w.jobs[name].hosts[0]; got != host {
			t.Errorf("%s runs on %s, want %s", name, got, host)
		}
	}
}

// A planned start that goes over to another flavor, on the same nodes, gives back
// quota: who can start with that does so in the same plan.
func TestQuotaThatAPlannedStartGivesBackIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.step(batch.FlavorObserved{Flavor: batch.Flavor{Name: "any"}})
	w.step(batch.FlavorObserved{Flavor: batch.Flavor{Name: "n1", Selector: batch.LabelSelector{
		All: []batch.Requirement{{Key: "host", Op: batch.OpIn, Values: []string{"n1"}}},
	}}})
	w.step(batch.CohortObserved{Cohort: batch.Cohort{Name: "all", Quotas: batch.Quotas{"any": {batch.ResourceGPU: {Nominal: 1}}}}})
	w.queue("main", func(q *batch.Queue) {
		sixteen := map[batch.ResourceName]batch.Quota{batch.ResourceGPU: {Nominal: 16}}
		q.Flavors, q.Cohort, q.Quotas = []batch.FlavorName{"any", "n1"}, "all", batch.Quotas{"any": sixteen, "n1": sixteen}
	})
	w.queue("free", nil)
	w.node("n2", 8, nil)
	w.submit(job{name: "ever", gpu: 8, runs: -1})
	w.until(0)
	w.node("n3", 8, nil)
	w.submit(job{name: "four", gpu: 4, walltime: 10})
	w.until(0)
	w.node("n1", 8, nil)
	w.submit(job{name: "five", gpu: 5, walltime: 10, queue: "free"})
	w.until(0)
	w.node("n4", 8, nil)
	w.submit(job{name: "head", pods: 2, gpu: 4, runs: -1}, job{name: "next", pods: 4, gpu: 1, walltime: 20})
	w.until(0)
	w.want("head~10", "next=-")
	w.submit(job{name: "loan", gpu: 1, walltime: 60})
	w.until(0)
	w.want("loan=0", "next=-", "head~10") // by what only takes, nobody is moved
	w.queue("other", nil)                 // after an edit all placements are chosen anew
	w.until(0)
	w.want("next=0", "head~10")
}

// Who could pay no earlier start is looked at again as soon as quota is freed.
func TestWhoCouldNotPayStartsWhenQuotaIsFreed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(4, 8)
	w.paying("main", "", gpus(8))
	w.queue("free", nil)
	w.submit(job{name: "six", gpu: 6, walltime: 60, runs: 30}, job{name: "other", gpu: 8, walltime: 60, runs: 10, queue: "free", edit: on("n3")})
	w.until(0)
	w.submit(job{name: "eight", gpu: 8, walltime: 60, edit: on("n3")})
	w.until(20)
	w.want("eight~60") // its node has become free, and is of no use to it
	w.until(30)
	w.want("eight=30")
}

// cohortNames are those that queues and cohorts of a drawn world may lie in.
var cohortNames = []batch.CohortName{"", "all", "all", "team", "b"}

// drawQuotaList draws the quotas of a queue or a cohort; nil: it has none.
func drawQuotaList(t *rapid.T) batch.Quotas {
	if rapid.IntRange(0, 3).Draw(t, "listed") == 0 {
		return nil
	}
	limit := func(label string) batch.Limit {
		if rapid.Bool().Draw(t, label+"?") {
			return batch.Limit{}
		}
		return batch.LimitOf(batch.Amount(rapid.IntRange(0, 8).Draw(t, label)))
	}
	out := batch.Quotas{}
	for _, f := range []batch.FlavorName{"f", "first"} {
		nominal := batch.Amount(rapid.IntRange(0, 16).Draw(t, "nominal"))
		if rapid.IntRange(0, 15).Draw(t, "huge") == 15 {
			nominal = 1<<63 - 1
		}
		out[f] = map[batch.ResourceName]batch.Quota{batch.ResourceGPU: {Nominal: nominal, Borrow: limit("borrow"), Lend: limit("lend")}}
	}
	return out
}

// drawQuotas puts the queues of a world into cohorts, with quotas.
func drawQuotas(t *rapid.T, w *world) {
	w.step(batch.FlavorObserved{Flavor: batch.Flavor{Name: "f"}})
	w.step(batch.FlavorObserved{Flavor: batch.Flavor{Name: "first", Selector: batch.LabelSelector{
		All: []batch.Requirement{{Key: "host", Op: batch.OpIn, Values: []string{"n1"}}},
	}}})
	for _, c := range []batch.Cohort{{Name: "all"}, {Name: "team", Parent: rapid.SampledFrom(cohortNames).Draw(t, "parent")}, {Name: "b", Parent: "team"}} {
		if c.Name == "all" || rapid.Bool().Draw(t, "cohort exists") {
			c.Quotas = drawQuotaList(t)
			w.step(batch.CohortObserved{Cohort: c})
		}
	}
	for _, name := range []string{"main", "front"} {
		w.editQueue(name, func(q *batch.Queue) {
			if name == "front" {
				q.Tier = 5
			}
			q.Flavors = rapid.SampledFrom([][]batch.FlavorName{{"f"}, {"first", "f"}, {"f", "first"}}).Draw(t, "flavors")
			q.Cohort, q.Quotas = rapid.SampledFrom(cohortNames).Draw(t, "cohort"), drawQuotaList(t)
		})
	}
}

// maybeQuotas lets half of the worlds have quotas.
func maybeQuotas(t *rapid.T, w *world) {
	if rapid.Bool().Draw(t, "quotas") {
		drawQuotas(t, w)
	}
}

// reorganize edits, moves or deletes a cohort, or edits and moves a queue; some
// of it makes a circle.
func reorganize(t *rapid.T, w *world) {
	if rapid.Bool().Draw(t, "a queue") {
		w.editQueue(rapid.SampledFrom([]string{"main", "front"}).Draw(t, "edited"), func(q *batch.Queue) {
			q.Cohort, q.Quotas = rapid.SampledFrom(cohortNames).Draw(t, "new cohort"), drawQuotaList(t)
		})
		return
	}
	name := rapid.SampledFrom([]batch.CohortName{"all", "team", "b"}).Draw(t, "reorganized")
	if rapid.IntRange(0, 3).Draw(t, "dissolve") == 0 {
		w.step(batch.CohortGone{Name: name})
		return
	}
	w.step(batch.CohortObserved{Cohort: batch.Cohort{
		Name: name, Parent: rapid.SampledFrom([]batch.CohortName{"", "all", "team", "b"}).Draw(t, "new parent"),
		Quotas: gpus(batch.Amount(rapid.IntRange(0, 8).Draw(t, "new quota"))),
	}})
}

// asksOf is what an allocation takes in all.
func (w *world) asksOf(id batch.WorkloadID, a batch.Allocation) batch.Resources {
	workload, _ := w.core.Workload(id)
	var sum batch.Resources
	for i, placement := range a.PodSets {
		sum = sum.Plus(workload.PodSets[i].Requests.Times(len(placement.Hosts)))
	}
	return sum
}

func TestPlansKeepToQuotas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawWorld(t, func(w *world) func(batch.Plan) {
			drawQuotas(t, w)
			return func(plan batch.Plan) {
				checkQuotas(w, plan)
				checkGrants(w, plan)
				checkPromises(w, plan)
				checkBuckets(w, plan)
			}
		})
	})
}
