package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berth-dev/berth/pkg/batch"
)

// A burst of those that may take places is dealt with in several plans, each a second
// after the one before, and then nothing is left to do.
func TestABurstTakesItsPlacesInSeveralPlans(t *testing.T) {
	t.Parallel()
	const asks, bound = 600, 250
	c := full(asks/8, func(*batch.Queue) {})
	c.Step(batch.PlanIssued{Plan: c.Plan(zero)})
	for i := range asks {
		askAs(c, fmt.Sprintf("ask-%d", i), 1, 1)
	}
	gone, served := map[batch.WorkloadID]bool{}, map[batch.WorkloadID]bool{}
	for i, want := range []int{bound, bound, asks - 2*bound, 0} {
		now := zero.Add(time.Duration(i) * time.Second)
		plan := c.Plan(now)
		if len(plan.Evict) != want {
			t.Fatalf("plan %d: %d go, want %d", i, len(plan.Evict), want)
		}
		for _, e := range plan.Evict {
			if gone[e.ID] || served[e.Eviction.For] {
				t.Fatalf("plan %d: %s goes for %s, again", i, e.ID, e.Eviction.For)
			}
			gone[e.ID], served[e.Eviction.For] = true, true
		}
		if next := now.Add(time.Second); plan.Stats.Unsettled != (i < 2) || plan.Stats.Unsettled && !plan.Wake.Equal(next) {
			t.Fatalf("plan %d: unsettled %t, the next at %s", i, plan.Stats.Unsettled, plan.Wake)
		}
		c.Step(batch.PlanIssued{Plan: plan})
	}
}

// Of a burst the first pass of a plan is a draft. Where nobody is found a place, since
// all that runs is safe, the plan is the one in which nobody may take any.
func TestWhatABurstCannotTakeIsPlannedAsIfNobodyMight(t *testing.T) {
	t.Parallel()
	const asks, nodes = 100, 40
	plan := func(policy batch.Policy) batch.Plan {
		c := full(nodes, func(q *batch.Queue) { q.Preemption.Exempt = 1000 * time.Hour })
		c.Step(batch.PolicyObserved{Policy: policy})
		draw := rand.New(rand.NewPCG(7, 7))
		for _, s := range c.Snapshot().Started {
			w, a := *s.Workload, *s.Workload.Allocation
			a.Deadline = zero.Add(time.Duration(1+draw.IntN(600)) * time.Minute)
			if w.Allocation = &a; draw.IntN(4) == 0 {
				c.Step(batch.PodGone{UID: batch.PodUID(w.ID)})
				c.Step(batch.WorkloadGone{ID: w.ID})
			} else {
				c.Step(batch.WorkloadObserved{Workload: w})
			}
		}
		c.Step(batch.PlanIssued{Plan: c.Plan(zero)})
		for i := range asks {
			name := fmt.Sprintf("ask-%d", i)
			askAs(c, name, 1+draw.IntN(3), 1<<draw.IntN(4))
			w, _ := c.Workload(batch.WorkloadID("ns/" + name))
			w.Walltime = batch.Walltime(time.Duration(1+draw.IntN(600)) * time.Minute)
			c.Step(batch.WorkloadObserved{Workload: w})
		}
		return c.Plan(zero)
	}
	policy := batch.DefaultPolicy()
	policy.Depth = 20 // with each start one more is planned, in another round
	drafted := plan(policy)
	policy.NoTierPreemption = true
	want := plan(policy)
	if len(drafted.Start) == 0 || len(drafted.Holds) == 0 {
		t.Fatalf("%d start, %d are planned", len(drafted.Start), len(drafted.Holds))
	}
	if diff := cmp.Diff(want, drafted, cmpopts.IgnoreFields(batch.Plan{}, "Wait", "Wake", "Carried")); diff != "" {
		t.Error(diff)
	}
}
