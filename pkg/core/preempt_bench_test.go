package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
	"github.com/berth-dev/berth/pkg/options"
)

// full returns a core whose nodes are full of work with one GPU each in queue
// low, which started one second after the other.
func full(nodes int, edit func(*batch.Queue)) *core.Core {
	c := core.New()
	c.Step(batch.PolicyObserved{Policy: batch.DefaultPolicy()})
	for i, name := range []batch.QueueName{"low", "high"} {
		q := batch.Queue{Name: name, State: batch.QueueUp, Tier: int32(i), Preemption: batch.Preemption{Mode: batch.PreemptRequeue, Grace: time.Minute}}
		edit(&q)
		c.Step(batch.QueueObserved{Queue: q})
		c.Step(batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{Name: "ns/" + batch.LocalQueueName(name), Queues: []batch.QueueName{name}}})
	}
	ready := true
	for n := range nodes {
		host := batch.NodeName(fmt.Sprintf("node-%05d", n))
		c.Step(batch.NodeObserved{Node: batch.Node{
			Name: host, Ready: true,
			Capacity: batch.Resources{batch.ResourceCPU: 192_000, batch.ResourceGPU: 8, batch.ResourcePods: 110},
		}})
		for g := range 8 {
			i := (n*8+g)*7919%(nodes*8) + 1
			w := batch.Workload{
				ID: batch.WorkloadID(fmt.Sprintf("ns/run-%d", i)), UID: fmt.Sprint(i), Namespace: "ns", Name: fmt.Sprintf("run-%d", i),
				LocalQueue: "ns/low", PodSets: []batch.PodSet{{Name: "main", Count: 1, Requests: batch.Resources{batch.ResourceGPU: 1, batch.ResourcePods: 1}}},
				QueuedAt: zero, PodsReady: &ready,
				Allocation: &batch.Allocation{
					Queue: "low", Start: zero.Add(-time.Duration(i) * time.Second), Deadline: zero.Add(24 * time.Hour),
					PodSets: []batch.Placement{{PodSet: "main", Hosts: []batch.NodeName{host}}},
				},
			}
			c.Step(batch.WorkloadObserved{Workload: w})
			c.Step(batch.OwnerObserved{ID: w.ID, Owner: batch.Owner{Started: true}})
			c.Step(batch.PodObserved{Pod: batch.Pod{UID: batch.PodUID(w.ID), Name: w.Name, Workload: w.ID, Node: host, Requests: w.PodSets[0].Requests, Phase: batch.PodReady}})
		}
	}
	return c
}

func ask(c *core.Core, pods, gpus int) { askAs(c, "ask", pods, gpus) }

func askAs(c *core.Core, name string, pods, gpus int) {
	w := batch.Workload{
		ID: batch.WorkloadID("ns/" + name), UID: name, Namespace: "ns", Name: name, LocalQueue: "ns/high", QueuedAt: zero, Walltime: batch.Walltime(time.Hour),
		PodSets: []batch.PodSet{{Name: "main", Count: pods, Requests: batch.Resources{batch.ResourceGPU: batch.Amount(gpus), batch.ResourcePods: 1}}},
	}
	c.Step(batch.WorkloadObserved{Workload: w})
	c.Step(batch.OwnerObserved{ID: w.ID, Owner: batch.Owner{Suspended: true}})
}

// BenchmarkVictims is how long it takes to find whose place is taken.
func BenchmarkVictims(b *testing.B) {
	quotas := func(q *batch.Queue) {
		q.Tier, q.Cohort, q.Preemption.ReclaimWithinCohort = 0, "all", batch.WhomAny
		q.Quotas = batch.Quotas{"": {batch.ResourceGPU: batch.Quota{Nominal: 2000}}}
	}
	for _, test := range []struct {
		name       string
		nodes      int
		pods, gpus int
		edit       func(*batch.Queue)
		victims    int
	}{
		{"64 pods of 1 GPU over 200", 25, 64, 1, func(*batch.Queue) {}, 64},
		{"8 nodes of 25", 25, 8, 8, func(*batch.Queue) {}, 64},
		{"2000 GPUs of 500 nodes", 500, 250, 8, func(*batch.Queue) {}, 2000},
		{"2000 GPUs reclaimed of 500 nodes", 500, 250, 8, quotas, 2000},
	} {
		b.Run(test.name, func(b *testing.B) {
			c := full(test.nodes, test.edit)
			c.Step(batch.CohortObserved{Cohort: batch.Cohort{Name: "all"}})
			c.Step(batch.PlanIssued{Plan: c.Plan(zero)})
			ask(c, test.pods, test.gpus)
			for b.Loop() {
				if plan := c.Plan(zero); len(plan.Evict) != test.victims {
					b.Fatalf("%d go, want %d", len(plan.Evict), test.victims)
				}
			}
		})
	}
}

// BenchmarkPlanPreempting is BenchmarkPlan, and BenchmarkPlanWithQuota, where a
// fifth of the pending may take the place of what runs, and where the others may
// reclaim too: the plan when they come, all plans until nobody is left who takes a
// place, and each after one event from then on.
func BenchmarkPlanPreempting(b *testing.B) {
	defer options.CollectRarely()() // as the controller has it
	for _, s := range []size{{1000, 600, 5000, 1000}, {10_000, 5000, 50_000, 1000}} {
		name := fmt.Sprintf("%d nodes %d pending", s.nodes, s.pending)
		b.Run(name, func(b *testing.B) { benchmarkPreempting(b, s, loaded, batch.WhomNever) })
		b.Run(name+" with quota", func(b *testing.B) { benchmarkPreempting(b, s, loadedWithQuota, batch.WhomNever) })
		b.Run(name+" with quota to reclaim", func(b *testing.B) { benchmarkPreempting(b, s, loadedWithQuota, batch.WhomAny) })
	}
}

func benchmarkPreempting(b *testing.B, s size, load func(size) (*core.Core, batch.WorkloadID), reclaim batch.PreemptWhom) {
	c, first := load(s)
	queues := c.Snapshot().Queues
	for i := range 30 {
		q := *queues[batch.QueueName(fmt.Sprintf("q%d", i))]
		q.Tier, q.Preemption = int32(i/24), batch.Preemption{Mode: batch.PreemptRequeue, Grace: time.Hour, ReclaimWithinCohort: reclaim}
		c.Step(batch.QueueObserved{Queue: q})
	}
	now := zero.Add(time.Minute)
	b.Run("first", func(b *testing.B) {
		spent := processTime()
		for b.Loop() {
			b.ReportMetric(float64(len(c.Plan(now).Evict)), "victims")
		}
		reportTime(b, spent)
	})
	// A burst is dealt with in several plans, a second apart.
	plans, victims, longest, sum := 0, 0, time.Duration(0), time.Duration(0)
	for settled := false; !settled; plans++ {
		began := time.Now()
		plan := c.Plan(now)
		longest, sum = max(longest, time.Since(began)), sum+time.Since(began)
		c.Step(batch.PlanIssued{Plan: plan})
		victims, settled, now = victims+len(plan.Evict), !plan.Stats.Unsettled, now.Add(time.Second)
	}
	b.Run("burst", func(b *testing.B) {
		for b.Loop() { // once was enough: see above
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(sum.Milliseconds()), "ms")
		b.ReportMetric(float64(longest.Milliseconds()), "ms-longest")
		b.ReportMetric(float64(plans), "plans")
		b.ReportMetric(float64(victims), "victims")
	})
	b.Run("settled", func(b *testing.B) {
		spent := processTime()
		for b.Loop() {
			now = now.Add(time.Second)
			c.Step(batch.OwnerObserved{ID: first, Owner: batch.Owner{Suspended: true}})
			c.Step(batch.PlanIssued{Plan: c.Plan(now)})
		}
		reportTime(b, spent)
	})
}

// BenchmarkReclaiming is how long it takes when many that are small take back at
// once what others have borrowed, beside as many who are within their own.
func BenchmarkReclaiming(b *testing.B) {
	defer options.CollectRarely()() // as the controller has it
	const nodes, asks = 1000, 200
	quota := func(nominal int) batch.Quotas {
		return batch.Quotas{"": {batch.ResourceGPU: batch.Quota{Nominal: batch.Amount(nominal)}}}
	}
	c := full(nodes, func(q *batch.Queue) {
		q.Tier, q.Cohort, q.Preemption.ReclaimWithinCohort, q.Quotas = 0, "all", batch.WhomAny, quota(2*nodes)
	})
	own := *c.Snapshot().Queues["low"]
	own.Name, own.Quotas = "own", quota(8*nodes)
	c.Step(batch.QueueObserved{Queue: own})
	c.Step(batch.CohortObserved{Cohort: batch.Cohort{Name: "all"}})
	for i, s := range c.Snapshot().Started {
		if i%2 == 0 {
			w, allocation := *s.Workload, *s.Workload.Allocation
			allocation.Queue, w.Allocation = "own", &allocation
			c.Step(batch.WorkloadObserved{Workload: w})
		}
	}
	c.Step(batch.PlanIssued{Plan: c.Plan(zero)})
	for i := range asks {
		askAs(c, fmt.Sprintf("ask-%d", i), 1, 1+i%4)
	}
	for b.Loop() {
		b.ReportMetric(float64(len(c.Plan(zero.Add(20*time.Minute)).Evict)), "victims")
	}
}
