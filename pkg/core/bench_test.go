package core_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
	"github.com/berth-dev/berth/pkg/options"
)

// size of a benchmark's cluster.
type size struct{ nodes, running, pending, depth int }

// loaded returns a core with so many nodes of 8 GPUs, running and pending
// workloads, and what ends first. It is the same for the same size.
func loaded(s size) (c *core.Core, first batch.WorkloadID) {
	c = core.New()
	random := rand.New(rand.NewPCG(1, 2))
	policy := batch.DefaultPolicy()
	policy.Depth = s.depth
	c.Step(batch.PolicyObserved{Policy: policy})
	for i := range 30 {
		name := fmt.Sprintf("q%d", i)
		c.Step(batch.QueueObserved{Queue: batch.Queue{Name: batch.QueueName(name), State: batch.QueueUp, Tier: int32(i % 3)}})
		c.Step(batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{
			Name: batch.LocalQueueName("ns/" + name), Queues: []batch.QueueName{batch.QueueName(name)},
		}})
	}
	for i := range s.nodes {
		c.Step(batch.NodeObserved{Node: batch.Node{
			Name: batch.NodeName(fmt.Sprintf("node-%05d", i)), Ready: true,
			Capacity: batch.Resources{batch.ResourceCPU: 192_000, "memory": 1 << 40, batch.ResourceGPU: 8, batch.ResourcePods: 110},
		}})
	}
	// Running work, one to four nodes each, until the nodes are full.
	node := 0
	for i := range s.running {
		w := randomWorkload(random, i)
		w.ID = batch.WorkloadID(fmt.Sprintf("ns/run-%d", i))
		n := max(1, s.nodes/s.running+random.IntN(2))
		w.PodSets = []batch.PodSet{{Name: "main", Count: n, Requests: requests(8)}}
		placement := batch.Placement{PodSet: "main"}
		for range n {
			placement.Hosts = append(placement.Hosts, batch.NodeName(fmt.Sprintf("node-%05d", node%s.nodes)))
			node++
		}
		w.Allocation = &batch.Allocation{
			Queue: "q0", Start: zero, Deadline: zero.Add(time.Duration(60+random.IntN(86400)) * time.Second),
			PodSets: []batch.Placement{placement},
		}
		ready := true
		w.PodsReady = &ready
		c.Step(batch.WorkloadObserved{Workload: w})
		c.Step(batch.OwnerObserved{ID: w.ID, Owner: batch.Owner{Started: true}})
		if i == 0 {
			first = w.ID
		}
		if node >= s.nodes {
			break
		}
	}
	for i := range s.pending {
		w := randomWorkload(random, i)
		c.Step(batch.WorkloadObserved{Workload: w})
		c.Step(batch.OwnerObserved{ID: w.ID, Owner: batch.Owner{Suspended: true}})
	}
	return c, first
}

func requests(gpus int) batch.Resources {
	return batch.Resources{
		batch.ResourceCPU: batch.Amount(gpus) * 16_000, "memory": batch.Amount(gpus) << 36,
		batch.ResourceGPU: batch.Amount(gpus), batch.ResourcePods: 1,
	}
}

func randomWorkload(random *rand.Rand, i int) batch.Workload {
	gpus := []int{1, 2, 4, 8, 8, 8}[random.IntN(6)]
	pods := 1
	if gpus == 8 {
		pods = 1 << random.IntN(5)
	}
	return batch.Workload{
		ID: batch.WorkloadID(fmt.Sprintf("ns/job-%d", i)), UID: fmt.Sprint(i), Namespace: "ns", Name: fmt.Sprintf("job-%d", i),
		LocalQueue: batch.LocalQueueName(fmt.Sprintf("ns/q%d", random.IntN(30))),
		PodSets:    []batch.PodSet{{Name: "main", Count: pods, Requests: requests(gpus)}},
		Walltime:   batch.Walltime(time.Duration(1+random.IntN(48)) * 30 * time.Minute),
		Priority:   int32(random.IntN(10)) * 100,
		QueuedAt:   zero.Add(-time.Duration(random.IntN(86400)) * time.Second),
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, s := range []size{{1000, 600, 5000, 1000}, {10_000, 5000, 50_000, 1000}} {
		benchmarkPlan(b, s)
	}
}

// How the cost grows with nodes, at as many pending for each, and with pending.
func BenchmarkGrowth(b *testing.B) {
	for _, s := range []size{
		{1000, 500, 5000, 1000},
		{2000, 1000, 10_000, 1000},
		{5000, 2500, 25_000, 1000},
		{10_000, 5000, 50_000, 1000},
		{1000, 600, 1000, 1000},
		{1000, 600, 2000, 1000},
		{1000, 600, 10_000, 1000},
		{1000, 600, 20_000, 1000},
		{1000, 600, 50_000, 1000},
	} {
		benchmarkPlan(b, s)
	}
}

func benchmarkPlan(b *testing.B, s size) {
	defer options.CollectRarely()() // as the controller has it
	name := fmt.Sprintf("nodes=%d/running=%d/pending=%d/depth=%d", s.nodes, s.running, s.pending, s.depth)
	b.Run(name+"/cold", func(b *testing.B) {
		c, _ := loaded(s)
		spent := processTime()
		for b.Loop() {
			c.Plan(zero)
		}
		reportTime(b, spent)
	})
	b.Run(name+"/after-one-event", func(b *testing.B) {
		c, first := loaded(s)
		settled(c)
		size := heap()
		c.Step(batch.OwnerObserved{ID: first, Owner: batch.Owner{Started: true, End: &batch.End{State: batch.Completed, Time: zero}}})
		spent := processTime()
		for b.Loop() {
			c.Plan(zero)
		}
		reportTime(b, spent)
		b.ReportMetric(float64(size)/(1<<20), "heap-MB")
	})
	b.Run(name+"/nothing-changed", func(b *testing.B) {
		c, _ := loaded(s)
		settled(c)
		spent := processTime()
		for b.Loop() {
			c.Plan(zero)
		}
		reportTime(b, spent)
	})
}

// processTime is the processor time that was used so far: others' load disturbs
// it less than it does the time on the clock.
func processTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func reportTime(b *testing.B, before time.Duration) {
	b.ReportMetric(float64(processTime()-before)/float64(b.N)/1e6, "cpu-ms/op")
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A workload comes and goes again: two events, each with its plan, beside few
// that wait. So it is in a simulation.
func BenchmarkEvent(b *testing.B) {
	for _, nodes := range []int{128, 1000} {
		b.Run(fmt.Sprintf("nodes=%d/pending=20", nodes), func(b *testing.B) {
			c, _ := loaded(size{nodes, nodes / 2, 20, 1000})
			settled(c)
			random := rand.New(rand.NewPCG(3, 4))
			spent := processTime()
			for i := 100; b.Loop(); i++ {
				w := randomWorkload(random, i)
				c.Step(batch.WorkloadObserved{Workload: w})
				c.Step(batch.PlanIssued{Plan: c.Plan(zero)})
				c.Step(batch.WorkloadGone{ID: w.ID})
				c.Step(batch.PlanIssued{Plan: c.Plan(zero)})
			}
			reportTime(b, spent)
		})
	}
}

func settled(c *core.Core) {
	for {
		plan := c.Plan(zero)
		c.Step(batch.PlanIssued{Plan: plan})
		if plan.Empty() {
			return
		}
	}
}
