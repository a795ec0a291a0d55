package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

// on puts a job on the node of a name.
func on(node string) func(*batch.Workload) {
	return func(w *batch.Workload) { w.PodSets[0].Selector.Labels = batch.Labels{"host": node} }
}

// unmanaged is a pod that Berth has nothing to do with.
func unmanaged(name, node string, gpus int) batch.Pod {
	return batch.Pod{
		UID: batch.PodUID(name), Name: "kube-system/" + name, Node: batch.NodeName(node), Phase: batch.PodReady,
		Requests: batch.Resources{batch.ResourceGPU: batch.Amount(gpus), batch.ResourcePods: 1},
	}
}

func TestB02EnoughInTotalButNotOnOneNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.node("a", 4, nil)
	w.node("b", 4, nil)
	w.submit(job{name: "a1", gpu: 1, walltime: 60, edit: on("a")}, job{name: "a2", gpu: 2, walltime: 180, edit: on("a")},
		job{name: "b3", gpu: 3, walltime: 180, edit: on("b")})
	w.until(1)
	w.submit(job{name: "wide", gpu: 2, walltime: 60})
	w.until(30)
	w.want("wide=-", "wide~60")
	w.reason("wide", batch.ReasonTopology, "asks 1 × 2 nvidia.com/gpu", "not on single nodes", "09:00")
	w.until(60)
	w.want("wide=60")
	if diff := cmp.Diff([]string{"a"}, w.jobs["wide"].hosts); diff != "" {
		t.Error(diff)
	}
}

func TestB02GangThatFitsInPartMakesNoPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(20, 8)
	for i := 1; i <= 12; i++ {
		w.step(batch.PodObserved{Pod: unmanaged(fmt.Sprintf("u%d", i), fmt.Sprintf("n%d", i), 8)})
	}
	w.submit(job{name: "gang", pods: 20, gpu: 8, walltime: 60})
	w.until(10)
	w.want("gang=-", "gang~-")
	w.reason("gang", batch.ReasonResources, "room for 8 of 20 pods", "64 of 160 nvidia.com/gpu free", "no start is known")
}

func TestB07NeverFittingRequestBlocksNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 3)
	w.submit(job{name: "w4", gpu: 4, walltime: 60, priority: 9}, job{name: "w3", gpu: 3, walltime: 60})
	w.until(0)
	w.want("w3=0", "w4=-")
	w.reason("w4", batch.ReasonNeverFits, "asks 4 nvidia.com/gpu a pod", "the largest node has 3", "never starts unless")
	w.node("n1", 4, nil)
	w.until(1)
	w.want("w4~60")
	w.until(60)
	w.want("w4=60")
}

func TestB14PodSlotsAndUnmanagedPodsCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.node("n1", 8, func(n *batch.Node) { n.Capacity[batch.ResourcePods] = 10 })
	for i := range 9 {
		w.step(batch.PodObserved{Pod: unmanaged(fmt.Sprintf("u%d", i), "n1", 0)})
	}
	w.submit(job{name: "roles", walltime: 60, edit: func(w *batch.Workload) {
		w.PodSets = []batch.PodSet{
			{Name: "leader", Count: 1, Requests: batch.Resources{batch.ResourcePods: 1}},
			{Name: "worker", Count: 1, Requests: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 1}},
		}
	}}, job{name: "tiny", pods: 11, walltime: 60})
	w.until(0)
	w.want("roles=-", "roles~-", "tiny=-")
	w.reason("roles", batch.ReasonResources, "1 of 10 pod slots free")
	w.reason("tiny", batch.ReasonNeverFits, "room for 10 of 11 such pods", "pod slots run out first")
	w.step(batch.PodGone{UID: "u3"})
	w.until(1)
	w.want("roles=0")

	w = newWorld(t)
	w.nodes(1, 8)
	w.step(batch.PodObserved{Pod: unmanaged("daemon", "n1", 2)})
	w.submit(job{name: "eight", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "six", gpu: 6, walltime: 60})
	w.until(0)
	w.want("eight=-", "six=0")
	w.reason("eight", batch.ReasonResources, "6 of 8 nvidia.com/gpu free")
}

func TestB24EachCauseHasItsReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 5)
	w.queue("down", func(q *batch.Queue) { q.State = batch.QueueDown })
	w.queue("closed", func(q *batch.Queue) {
		q.Access = &batch.LabelSelector{All: []batch.Requirement{{Key: "team", Op: batch.OpExists}}}
	})
	w.queue("short", func(q *batch.Queue) { q.WalltimeMax = batch.Walltime(time.Hour) })
	w.queue("small", func(q *batch.Queue) { q.MaxPods = 2 })
	w.step(batch.NamespaceObserved{Name: "ns"})
	w.submit(job{name: "run", gpu: 2, walltime: 60, priority: 9})
	w.until(0)
	w.submit(
		job{name: "noqueue", walltime: 5, queue: "later"},
		job{name: "stopped", walltime: 5, queue: "down"},
		job{name: "denied", walltime: 5, queue: "closed"},
		job{name: "unknown", walltime: 5, edit: func(w *batch.Workload) {
			w.PodSets[0].Requests = batch.Resources{"example.com/fpga": 1}
		}},
		job{name: "six", gpu: 6, walltime: 5},
		job{name: "many", pods: 3, walltime: 5, queue: "small"},
		job{name: "nowhere", walltime: 5, edit: on("elsewhere")},
		job{name: "long", walltime: 61, queue: "short"},
		job{name: "held", walltime: 5, edit: func(w *batch.Workload) { w.Held = true }},
		job{name: "wrong", walltime: 5, edit: func(w *batch.Workload) { w.Invalid = `walltime "x": write 1h` }},
		job{name: "four", gpu: 4, walltime: 60, priority: 5},
		job{name: "behind", gpu: 3, walltime: 120, priority: 4},
	)
	w.until(0)
	w.reason("noqueue", batch.ReasonQueueNotFound, "LocalQueue later does not exist in namespace ns", "starts by itself once somebody makes it")
	w.reason("stopped", batch.ReasonQueueStopped, "ClusterQueue down is set to Down", "starts by itself once")
	w.reason("denied", batch.ReasonAccessDenied, "namespace ns may not use ClusterQueue closed")
	w.reason("unknown", batch.ReasonNeverFits, "no node has example.com/fpga")
	w.reason("six", batch.ReasonNeverFits, "asks 6 nvidia.com/gpu a pod", "largest node has 5")
	w.reason("many", batch.ReasonNeverFits, "size.maxPods", "3 pods", "at most 2")
	w.reason("nowhere", batch.ReasonNeverFits, "no node matches")
	w.reason("long", batch.ReasonWalltimeLimit, "1h1m", "allows 1h at most")
	w.reason("held", batch.ReasonHeld, "held by its author")
	w.reason("wrong", batch.ReasonInvalidSpec, "write 1h")
	w.reason("four", batch.ReasonResources, "asks 1 × 4 nvidia.com/gpu; 3 of 5 nvidia.com/gpu free; starts at 2026-03-02T09:00:00Z")
	w.reason("behind", batch.ReasonPriority, "would fit now", "ns/four is planned on these nodes for 2026-03-02T09:00:00Z", "starts at 2026-03-02T10:00:00Z at the latest")

	// A fixed cause clears the reason without a new submission.
	w.queue("later", nil)
	w.queue("down", nil)
	w.step(batch.NamespaceObserved{Name: "ns", Labels: batch.Labels{"team": "a"}})
	w.until(1)
	w.want("noqueue=0", "stopped=0", "denied=0")
}

func TestB32TwoEqualGangsGoOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(10, 8)
	spread := func(w *batch.Workload) { w.PodSets[0].PerNodeMax = 1 }
	w.submit(job{name: "gang-b", pods: 10, gpu: 1, walltime: 60, queued: zero, edit: spread},
		job{name: "gang-a", pods: 10, gpu: 5, walltime: 60, queued: zero, edit: spread},
		job{name: "gang-c", pods: 10, gpu: 8, walltime: 60, queued: zero})
	w.until(0)
	w.want("gang-a=0", "gang-b=0", "gang-c~60")
	hosts := map[string]bool{}
	for _, host := range w.jobs["gang-a"].hosts {
		hosts[host] = true
	}
	if len(hosts) != 10 {
		t.Errorf("gang-a is on %d nodes", len(hosts))
	}
	w.until(60)
	w.want("gang-c=60")
}

func TestB57JobsOfOneSecondKeepOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	var want []string
	for i := range 50 {
		name := fmt.Sprintf("s-%d", (i*17)%50)
		w.submit(job{name: name, gpu: 8, walltime: 1, queued: zero})
	}
	for i := range 50 {
		want = append(want, fmt.Sprintf("s-%d=%d", i, i))
	}
	for _, minute := range []int{7, 23, 41} {
		w.until(minute)
		w.restart(w.events)
		w.settle()
	}
	w.until(60)
	w.want(want...)
}

func TestB72GangWithoutAKnownStartHoldsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(10, 1)
	cordon := func(n *batch.Node) {
		n.Taints = []batch.Taint{{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"}}
	}
	w.node("n9", 1, cordon)
	w.until(1)
	w.submit(job{name: "gang", pods: 10, gpu: 1, walltime: 60, priority: 9})
	w.until(2)
	w.reason("gang", batch.ReasonNodesUnavailable, "1 node would do but is cordoned or tainted", "starts by itself once that one returns")
	for i := range 5 {
		w.submit(job{name: fmt.Sprintf("s%d", i), gpu: 1, walltime: 60})
	}
	w.until(2)
	w.want("s0=2", "s4=2", "gang~-")
	w.node("n9", 1, nil)
	w.until(11)
	w.want("gang~62")
	w.until(62)
	w.want("gang=62")
}

// What keeps the nodes away stands in the message as long as it is so, though the
// reason stays the same.
func TestWhoWaitsForNodesIsToldWhichAreStillAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cordon := func(n *batch.Node) {
		n.Taints = []batch.Taint{{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"}}
	}
	w.nodes(3, 8)
	w.submit(job{name: "gang", pods: 3, gpu: 8, walltime: 60, edit: func(w *batch.Workload) { w.Begin = zero.Add(time.Minute) }})
	w.node("n1", 8, cordon)
	w.node("n2", 8, cordon)
	w.until(2)
	w.reason("gang", batch.ReasonNodesUnavailable, "2 nodes would do but are cordoned or tainted: n1, n2; it starts by itself once they return")
	w.node("n1", 8, func(n *batch.Node) { n.Ready = false })
	w.until(3)
	w.reason("gang", batch.ReasonNodesUnavailable, "2 nodes would do but are unavailable (1 not ready: n1; 1 cordoned or tainted: n2)")
	w.node("n2", 8, nil)
	w.until(4)
	w.reason("gang", batch.ReasonNodesUnavailable, "1 node would do but is not ready: n1; it starts by itself once that one returns")
}

func TestB84ZeroPodsMeanPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	empty := func(w *batch.Workload) {
		w.PodSets = append(w.PodSets, batch.PodSet{Name: "none", Requests: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 1}})
	}
	w.submit(job{name: "paused", pods: -1, gpu: 8, walltime: 60, priority: 9},
		job{name: "bare", walltime: 60, edit: func(w *batch.Workload) { w.PodSets = nil }},
		job{name: "rest", gpu: 8, walltime: 60, edit: empty})
	w.until(0)
	w.reason("paused", batch.ReasonHeld, "paused", "0 pods")
	w.reason("bare", batch.ReasonHeld, "paused")
	w.want("rest=0")
	if used := w.core.Summaries()["main"].Used[""][batch.ResourceGPU]; used != 8 {
		t.Errorf("%d GPUs charged", used)
	}
}

func TestHeldWorkAndALimitedQueueBlockNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.queue("drain", func(q *batch.Queue) { q.State, q.StateSince = batch.QueueDrain, zero.Add(time.Minute) })
	w.submit(job{name: "before", gpu: 1, walltime: 60, queue: "drain"})
	w.until(5)
	w.submit(job{name: "after", gpu: 8, walltime: 60, queue: "drain", priority: 9},
		job{name: "held", gpu: 8, walltime: 60, priority: 9, edit: func(w *batch.Workload) { w.Held = true }},
		job{name: "plain", gpu: 1, walltime: 60})
	w.until(5)
	w.want("before=0", "plain=5", "after=-", "held=-")
	w.reason("after", batch.ReasonQueueStopped, "Drain", "starts only what was queued before")
}

func TestTierBeatsPriority(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("front", func(q *batch.Queue) { q.Tier = 10 })
	w.nodes(1, 8)
	w.submit(job{name: "blocker", gpu: 8, walltime: 60})
	w.until(1)
	w.submit(job{name: "important", gpu: 8, walltime: 60, priority: 1_000_000})
	w.until(2)
	w.want("important~60")
	w.submit(job{name: "ordinary", gpu: 8, walltime: 60, queue: "front"})
	w.until(3)
	w.want("ordinary~60", "important~120")
	if diff := cmp.Diff([]string{"important: higher-ranked arrival ns/ordinary"}, w.moved); diff != "" {
		t.Error(diff)
	}
	w.until(300)
	w.want("ordinary=60", "important=120")
}

func TestB59EditedPriorityIsTakenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "run", gpu: 8, walltime: 60}, job{name: "first", gpu: 8, walltime: 60}, job{name: "second", gpu: 8, walltime: 60})
	w.until(1)
	w.want("first~60", "second~120")
	w.jobs["second"].priority = 5
	w.step(batch.WorkloadObserved{Workload: w.workload(w.jobs["second"])})
	w.until(2)
	w.want("second~60", "first~120")
}

func TestNoneIsGreedyAndPlansNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policy := batch.DefaultPolicy()
	policy.Backfill = batch.BackfillNone
	w.step(batch.PolicyObserved{Policy: policy})
	w.nodes(2, 8)
	w.submit(job{name: "r", gpu: 8, walltime: 30})
	w.until(0)
	w.submit(job{name: "pair", pods: 2, gpu: 8, walltime: 60, priority: 9}, job{name: "long", gpu: 8, walltime: 600})
	w.until(0)
	w.want("pair=-", "pair~-", "long=0")
}

func TestDepthBoundsPlansAndHidesNothingThatFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policy := batch.DefaultPolicy()
	policy.Depth = 3
	w.step(batch.PolicyObserved{Policy: policy})
	w.node("gpu", 8, nil)
	w.node("cpu", 0, nil)
	w.submit(job{name: "blocker", gpu: 8, walltime: 120})
	w.until(0)
	for i := 1; i <= 5; i++ {
		w.submit(job{name: fmt.Sprintf("w%d", i), gpu: 8, walltime: 60})
	}
	w.submit(job{name: "small", walltime: 30})
	w.until(10)
	w.want("small=0", "w1~120", "w3~240", "w4~-", "w5~-")
	w.reason("w4", batch.ReasonNotPlanned, "place 4", "first 3 are planned")
	// Whoever is still beyond a bound that is edited is told the new one.
	policy.Depth = 2
	w.step(batch.PolicyObserved{Policy: policy})
	w.until(11)
	w.want("w2~180", "w3~-")
	w.reason("w4", batch.ReasonNotPlanned, "place 4", "first 2 are planned")
	policy.Depth, policy.PerUser = 100, 2
	w.step(batch.PolicyObserved{Policy: policy})
	w.until(12)
	w.reason("w4", batch.ReasonNotPlanned, "place 4", "only the first 2 of a user are planned (backfill.perUser)")
	policy.PerUser, policy.PerQueue = 0, 2
	w.step(batch.PolicyObserved{Policy: policy})
	w.until(13)
	w.reason("w4", batch.ReasonNotPlanned, "place 4", "only the first 2 of ClusterQueue main are planned (backfill.perQueue)")
	w.until(1000)
	w.want("w4=300", "w5=360")
}

func TestFlavorsInOrderTheEarliestStartWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"old", "new"} {
		w.step(batch.FlavorObserved{Flavor: batch.Flavor{
			Name: batch.FlavorName(name), Selector: batch.LabelSelector{All: []batch.Requirement{{Key: "gen", Op: batch.OpIn, Values: []string{name}}}},
		}})
		w.node(name, 8, func(n *batch.Node) { n.Labels["gen"] = name })
	}
	w.queue("main", func(q *batch.Queue) { q.Flavors = []batch.FlavorName{"new", "old"} })
	w.submit(job{name: "a", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "b", gpu: 8, walltime: 30})
	w.until(0)
	w.submit(job{name: "c", gpu: 8, walltime: 30}, job{name: "gang", pods: 2, gpu: 8, walltime: 5})
	w.until(0)
	w.want("a=0", "b=0", "c~30")
	if diff := cmp.Diff([][]string{{"new"}, {"old"}}, [][]string{w.jobs["a"].hosts, w.jobs["b"].hosts}); diff != "" {
		t.Error(diff)
	}
	w.reason("gang", batch.ReasonNeverFits, "in new")
}
