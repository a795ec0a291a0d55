package core_test

import (
	"fmt"
	"testing"
	"time"

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
