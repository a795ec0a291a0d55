package core_test

import (
	"fmt"
	"testing"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
	"github.com/berth-dev/berth/pkg/options"
)

// loadedWithQuota is loaded, with 30 queues in 5 cohorts that have all GPUs
// together, and the running work spread over them.
func loadedWithQuota(s size) (c *core.Core, first batch.WorkloadID) {
	c, first = loaded(s)
	c.Step(batch.FlavorObserved{Flavor: batch.Flavor{Name: "all"}})
	for i := range 5 {
		c.Step(batch.CohortObserved{Cohort: batch.Cohort{Name: batch.CohortName(fmt.Sprintf("c%d", i))}})
	}
	for i := range 30 {
		c.Step(batch.QueueObserved{Queue: batch.Queue{
			Name: batch.QueueName(fmt.Sprintf("q%d", i)), State: batch.QueueUp, Tier: int32(i % 3),
			Flavors: []batch.FlavorName{"all"}, Cohort: batch.CohortName(fmt.Sprintf("c%d", i%5)),
			Quotas: batch.Quotas{"all": {batch.ResourceGPU: {Nominal: batch.Amount(s.nodes * 8 / 30)}}},
		}})
	}
	for i, started := range c.Snapshot().Started {
		w := *started.Workload
		a := *w.Allocation
		a.Queue, a.Flavor = batch.QueueName(fmt.Sprintf("q%d", i%30)), "all"
		w.Allocation = &a
		c.Step(batch.WorkloadObserved{Workload: w})
	}
	return c, first
}

func BenchmarkPlanWithQuota(b *testing.B) {
	defer options.CollectRarely()() // as the controller has it
	for _, s := range []size{{1000, 600, 5000, 1000}, {10_000, 5000, 50_000, 1000}} {
		name := fmt.Sprintf("nodes=%d/running=%d/pending=%d/depth=%d", s.nodes, s.running, s.pending, s.depth)
		b.Run(name+"/cold", func(b *testing.B) {
			c, _ := loadedWithQuota(s)
			spent := processTime()
			for b.Loop() {
				c.Plan(zero)
			}
			reportTime(b, spent)
		})
		b.Run(name+"/after-one-event", func(b *testing.B) {
			c, first := loadedWithQuota(s)
			settled(c)
			c.Step(batch.OwnerObserved{ID: first, Owner: batch.Owner{Started: true, End: &batch.End{State: batch.Completed, Time: zero}}})
			spent := processTime()
			for b.Loop() {
				c.Plan(zero)
			}
			reportTime(b, spent)
		})
		b.Run(name+"/nothing-changed", func(b *testing.B) {
			c, _ := loadedWithQuota(s)
			settled(c)
			spent := processTime()
			for b.Loop() {
				c.Plan(zero)
			}
			reportTime(b, spent)
		})
	}
}
