package live_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/live"
)

// carried keeps the plans that were carried out, with their times.
type carried struct {
	mu    sync.Mutex
	plans []batch.Plan
}

func (c *carried) Carry(plan batch.Plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plans = append(c.plans, plan)
}

func (c *carried) starts() []batch.WorkloadID {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []batch.WorkloadID
	for _, plan := range c.plans {
		for _, start := range plan.Start {
			out = append(out, start.ID)
		}
	}
	return out
}

// passes counts planning passes.
type passes struct {
	mu sync.Mutex
	n  int
}

func (p *passes) Planned(time.Duration, time.Time, batch.Plan, map[batch.QueueName]batch.QueueSummary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
}

func (p *passes) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

func node(name batch.NodeName) batch.NodeObserved {
	return batch.NodeObserved{Node: batch.Node{
		Name: name, Ready: true, Labels: batch.Labels{},
		Capacity: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 110},
	}}
}

func job(name string, walltime time.Duration, queued time.Time) []batch.Event {
	id := batch.WorkloadID("default/" + name)
	return []batch.Event{
		batch.OwnerObserved{ID: id, Owner: batch.Owner{Suspended: true}},
		batch.WorkloadObserved{Workload: batch.Workload{
			ID: id, UID: name, Namespace: "default", Name: name, LocalQueue: "default/q", QueuedAt: queued,
			Walltime: batch.Walltime(walltime),
			PodSets:  []batch.PodSet{{Name: "main", Count: 1, Requests: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 1}}},
		}},
	}
}

// runs is what the API server shows when a workload has been started on n0.
func runs(name string) []batch.Event {
	id := batch.WorkloadID("default/" + name)
	return []batch.Event{
		batch.OwnerObserved{ID: id, Owner: batch.Owner{Started: true}},
		batch.PodObserved{Pod: batch.Pod{
			UID: batch.PodUID(name), Name: "default/" + name, Workload: id, Node: "n0", Phase: batch.PodReady,
			Requests: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 1},
		}},
	}
}

func world() []batch.Event {
	return []batch.Event{
		batch.PolicyObserved{Policy: batch.DefaultPolicy()},
		batch.NamespaceObserved{Name: "default"},
		node("n0"),
		batch.QueueObserved{Queue: batch.Queue{Name: "q", State: batch.QueueUp, Tier: 1}},
		batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{Name: "default/q", Queues: []batch.QueueName{"q"}}},
	}
}

func observe(driver *live.Driver, lists ...[]batch.Event) {
	for _, list := range lists {
		for _, event := range list {
			driver.Observe(event)
		}
	}
}

// drive runs a driver over a world for a test in a bubble of virtual time.
func drive(t *testing.T, test func(driver *live.Driver, carried *carried, passes *passes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		plans, count := &carried{}, &passes{}
		driver := live.New(live.Options{Clock: clock.RealClock{}, Carrier: plans, Recorder: count})
		observe(driver, world())
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { driver.Run(ctx) })
		synctest.Wait()
		test(driver, plans, count)
		cancel()
		group.Wait()
	})
}

func TestABurstIsPlannedOnce(t *testing.T) {
	t.Parallel()
	drive(t, func(driver *live.Driver, carried *carried, passes *passes) {
		before := passes.count()
		for range 100 {
			driver.Observe(node("n0"))
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := passes.count() - before; got != 1 {
			t.Errorf("a burst of 100 events in 10 ms cost %d planning passes, want 1", got)
		}
	})
}

func TestABurstWithoutAPauseIsPlannedAllTheSame(t *testing.T) {
	t.Parallel()
	drive(t, func(driver *live.Driver, carried *carried, _ *passes) {
		observe(driver, job("a", time.Hour, time.Now()))
		for range 100 { // 500 ms without a pause of 10 ms
			driver.Observe(node("n0"))
			time.Sleep(5 * time.Millisecond)
		}
		synctest.Wait()
		if diff := cmp.Diff([]batch.WorkloadID{"default/a"}, carried.starts()); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
	})
}

func TestItWakesByItselfAtThePlannedStart(t *testing.T) {
	t.Parallel()
	drive(t, func(driver *live.Driver, carried *carried, _ *passes) {
		observe(driver, job("a", time.Hour, time.Now()), job("b", time.Hour, time.Now()))
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]batch.WorkloadID{"default/a"}, carried.starts()); diff != "" {
			t.Fatalf("starts (-want +got):\n%s", diff)
		}
		observe(driver, runs("a"))
		// The first one ends exactly when it may at the latest.
		time.Sleep(time.Hour - 2*time.Second)
		observe(driver, []batch.Event{
			batch.OwnerObserved{ID: "default/a", Owner: batch.Owner{End: &batch.End{State: batch.Completed, Time: time.Now().UTC()}}},
			batch.PodGone{UID: "a"},
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]batch.WorkloadID{"default/a", "default/b"}, carried.starts()); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
	})
}

func TestAPlanWithoutChangesIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	drive(t, func(driver *live.Driver, carried *carried, passes *passes) {
		observe(driver, job("a", time.Hour, time.Now()), job("b", time.Hour, time.Now()))
		time.Sleep(time.Second)
		observe(driver, runs("a"))
		time.Sleep(time.Second)
		synctest.Wait()
		before := len(carried.plans)
		planned := passes.count()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := len(carried.plans) - before; got != 0 {
			t.Errorf("%d plans carried out while nothing happened, want 0", got)
		}
		if passes.count() == planned {
			t.Error("no heartbeat while work waits")
		}
		if err := driver.Healthy(); err != nil {
			t.Errorf("unhealthy: %v", err)
		}
	})
}
