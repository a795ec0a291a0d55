package core_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

// silent shows a node as not ready since a minute, as its condition says.
func (h *hand) silent(name string, minute float64) {
	h.node(name, 8, func(n *batch.Node) {
		n.Ready, n.NotReadySince = false, zero.Add(time.Duration(minute*float64(time.Minute)))
	})
}

// TestB08ANodeIsLostAMinuteAfterItsLastSign: the condition changes once more
// when the API server gives up on it, and that is no new beginning. What waits
// again is not held up by the pod that is left there.
func TestB08ANodeIsLostAMinuteAfterItsLastSign(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.node("n2", 8, nil)
	h.submit(job{name: "a", pods: 2, gpu: 8, walltime: 60})
	h.expect(0, "start a")
	h.owner("a", batch.Owner{Started: true})
	h.bound("a", 0, batch.PodReady, nil)
	survivor := h.bound("a", 1, batch.PodReady, func(p *batch.Pod) { p.Node = "n2" })
	h.expect(1, "ready a true")
	h.silent("n1", 10)
	h.expect(10.1, "")
	if want := zero.Add(11 * time.Minute); !h.plan.Wake.Equal(want) {
		t.Errorf("woken at %v, want %v", h.plan.Wake, want)
	}
	h.silent("n1", 10.7)
	h.expect(10.9, "")
	h.expect(11, "evict a (NodeLost)")
	want := batch.EvictedAtOnce(batch.Notice{Cause: batch.CauseNodeLost, By: "node n1 was not ready for 1m", Time: h.now})
	if diff := cmp.Diff(*want, h.plan.Evict[0].Eviction); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h.owner("a", batch.Owner{Suspended: true})
	h.expect(11.1, "")
	h.step(batch.PodGone{UID: survivor})
	if got := h.at(11.2); got != "requeue a wait a NodesUnavailable 00:00:00 []" {
		t.Errorf("its last pod that can end is gone: %s", got)
	}
}

// TestAVictimUnderWhichANodeIsLostIsStopped, though its grace is not over: that
// node's pod never acknowledges.
func TestAVictimUnderWhichANodeIsLostIsStopped(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.queue("main", func(q *batch.Queue) {
		q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Grace: 30 * time.Minute}
	})
	h.queue("high", func(q *batch.Queue) { q.Tier = 10 })
	h.running(signal)
	h.submit(job{name: "b", gpu: 8, walltime: 60, queue: "high"})
	if h.at(1); len(h.plan.Evict) != 1 {
		t.Fatalf("%+v", h.plan)
	}
	h.silent("n1", 2)
	h.at(2)
	h.at(3)
	if len(h.plan.Stop) != 1 || h.plan.Stop[0].By != "node n1 was not ready for 1m" {
		t.Fatalf("at 3, when n1 is lost: %+v", h.plan.Stop)
	}
	h.owner("a", batch.Owner{Suspended: true})
	if h.at(3.1); len(h.plan.Requeue) != 1 {
		t.Fatalf("it is stopped, and what is left can't end: %+v", h.plan)
	}
	if got, want := h.plan.Requeue[0].Meanwhile, "node n1 was not ready for 1m"; got != want {
		t.Errorf("meanwhile %q, want %q", got, want)
	}
}

// TestWhatAnEarlierRunLeftIsThereUntilItIsGone: the node comes back with the old
// pod on it. The next run gets a place of its own beside it, and nobody else gets
// the old one's; the queue pays for both.
func TestWhatAnEarlierRunLeftIsThereUntilItIsGone(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.step(batch.FlavorObserved{Flavor: batch.Flavor{Name: "f"}})
	h.queue("main", func(q *batch.Queue) {
		q.Flavors, q.Quotas = []batch.FlavorName{"f"}, map[batch.FlavorName]map[batch.ResourceName]batch.Quota{"f": {batch.ResourceGPU: {Nominal: 8}}}
	})
	h.submit(job{name: "a", gpu: 4, walltime: 60})
	h.expect(0, "start a")
	h.owner("a", batch.Owner{Started: true})
	old := h.bound("a", 0, batch.PodReady, func(p *batch.Pod) { p.Queue, p.Flavor = "main", "f" })
	h.expect(1, "ready a true")
	h.silent("n1", 2)
	h.expect(3, "evict a (NodeLost)")
	h.owner("a", batch.Owner{Suspended: true})
	h.at(3.1)
	if used := h.core.Summaries()["main"].Used["f"][batch.ResourceGPU]; used != 0 {
		t.Errorf("the queue pays for %d GPUs of a node that is lost", used)
	}
	h.jobs["a"].restarts = 1
	h.node("n1", 8, nil)
	h.submit(job{name: "b", gpu: 4, walltime: 60, priority: -1})
	if got := h.at(4); got != "start a wait b QuotaExceeded 08:05:00 []" {
		t.Fatalf("half of the node is taken still: %s", got)
	}
	if used := h.core.Summaries()["main"].Used["f"][batch.ResourceGPU]; used != 8 {
		t.Errorf("the queue pays for %d GPUs, want 8: what runs, and what is left", used)
	}
	h.step(batch.PodGone{UID: old})
	h.expect(4.1, "start b")
}

// TestADeletedNodeIsLostThoughItsWorkHasJustStarted, and one that was never seen
// is not: that proves nothing.
func TestADeletedNodeIsLostThoughItsWorkHasJustStarted(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", gpu: 8, walltime: 60})
	h.expect(0, "start a")
	h.step(batch.NodeGone{Name: "n1"})
	if got := h.at(0.1); len(h.plan.Evict) != 1 || h.plan.Evict[0].Eviction.By != "node n1 was deleted" {
		t.Errorf("after its start, and without a plan between: %s", got)
	}

	h = newHand(t)
	h.submit(job{name: "a", gpu: 8, walltime: 60})
	h.expect(0, "start a")
	kept, _ := h.core.Workload(id("a"))
	h = newHand(t)
	h.step(batch.NodeGone{Name: "n1"})
	h.step(batch.WorkloadObserved{Workload: kept})
	h.owner("a", batch.Owner{Started: true})
	h.expect(1, "")
}

// TestARunOfWhichOthersEndAPodIsTakenBackWhole: a node that shuts down, a drain.
// What such a pod leaves is no reason to take the next run back, and neither is a
// pod that has failed by itself.
func TestARunOfWhichOthersEndAPodIsTakenBackWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		cause  batch.Cause
		by     string
	}{
		{batch.DisruptedByKubelet, batch.CauseNodeLost, "pod ns/a-0 on node n1 was ended by its node, which shuts down or is short of something"},
		{batch.DisruptedByEviction, batch.CauseDrained, "pod ns/a-0 on node n1 was evicted through the API, as kubectl drain does"},
		{"Preempted", batch.CauseDrained, "pod ns/a-0 on node n1 was ended (Preempted)"},
	} {
		h := newHand(t)
		h.submit(job{name: "a", pods: 2, gpu: 4, walltime: 60})
		h.expect(0, "start a")
		h.owner("a", batch.Owner{Started: true})
		h.bound("a", 0, batch.PodReady, nil)
		other := h.bound("a", 1, batch.PodReady, nil)
		h.expect(1, "ready a true")
		ended := func(p *batch.Pod) { p.Disrupted = c.reason }
		h.bound("a", 0, batch.PodFailed, ended)
		h.at(2)
		want := batch.EvictedAtOnce(batch.Notice{Cause: c.cause, By: c.by, Time: h.now})
		if len(h.plan.Evict) != 1 {
			t.Fatalf("%s: %+v", c.reason, h.plan)
		}
		if diff := cmp.Diff(*want, h.plan.Evict[0].Eviction); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
		h.owner("a", batch.Owner{Suspended: true})
		h.step(batch.PodGone{UID: other})
		h.expect(3, "requeue a start a")
		h.bound("a", 0, batch.PodFailed, ended) // the old one
		h.jobs["a"].restarts = 1
		h.owner("a", batch.Owner{Started: true, Run: 1})
		h.bound("a", 0, batch.PodReady, nil)
		h.bound("a", 1, batch.PodReady, nil)
		h.expect(4, "ready a true")
		h.bound("a", 0, batch.PodFailed, nil)
		h.expect(5, "ready a false")
	}
}

// TestWhatAVictimLeavesOnALostNodeIsNobodysPlace: its pods were told to end with
// the notice, and the node is lost before they could. It starts elsewhere; what
// it left counts there, also when the node is back, until it is gone.
func TestWhatAVictimLeavesOnALostNodeIsNobodysPlace(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.queue("main", func(q *batch.Queue) {
		q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Grace: 30 * time.Minute}
	})
	h.queue("high", func(q *batch.Queue) { q.Tier = 10 })
	old := h.running(nil)
	h.submit(job{name: "b", gpu: 8, walltime: 60, queue: "high"})
	if h.at(1); len(h.plan.Evict) != 1 {
		t.Fatalf("%+v", h.plan)
	}
	h.owner("a", batch.Owner{Suspended: true})
	h.bound("a", 0, batch.PodReady, func(p *batch.Pod) { p.GoneBy = zero.Add(31 * time.Minute) })
	h.silent("n1", 2)
	h.at(2)
	if h.at(3); len(h.plan.Requeue) != 1 || len(h.plan.Start) != 0 {
		t.Fatalf("at 3, when n1 is lost: %+v", h.plan)
	}
	h.node("n2", 8, nil)
	if got := h.at(4); len(h.plan.Start) != 1 || h.plan.Start[0].ID != id("b") || h.plan.Start[0].Allocation.PodSets[0].Hosts[0] != "n2" {
		t.Fatalf("another node: %s", got)
	}
	h.node("n1", 8, nil)
	if got := h.at(5); len(h.plan.Start) != 0 {
		t.Fatalf("n1 is back with the old pod on it: %s", got)
	}
	h.step(batch.PodGone{UID: old})
	if h.at(6); len(h.plan.Start) != 1 || h.plan.Start[0].ID != id("a") || h.plan.Start[0].Run != 1 {
		t.Errorf("the old pod is gone: %+v", h.plan)
	}
}

// TestAPlaceOnANodeThatIsNotReadyIsKeptUntilItIsLost, with the taints that a
// cluster puts there; a cordon ends it. Nothing starts there meanwhile, though
// all who held it are gone.
func TestAPlaceOnANodeThatIsNotReadyIsKeptUntilItIsLost(t *testing.T) {
	t.Parallel()
	for _, cordoned := range []bool{false, true} {
		h := newHand(t)
		h.queue("main", func(q *batch.Queue) {
			q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Grace: 30 * time.Minute}
		})
		h.queue("high", func(q *batch.Queue) { q.Tier = 10 })
		old := h.running(nil)
		h.submit(job{name: "b", gpu: 8, walltime: 60, queue: "high"})
		if h.at(1); len(h.plan.Evict) != 1 || len(h.plan.Nominate) != 1 {
			t.Fatalf("%+v", h.plan)
		}
		h.owner("a", batch.Owner{Suspended: true})
		silent := func(n *batch.Node) {
			n.Ready, n.NotReadySince = false, zero.Add(2*time.Minute)
			n.Taints = []batch.Taint{{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute"}, {Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"}}
			if cordoned {
				n.Taints = append(n.Taints, batch.Taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"})
			}
		}
		h.node("n1", 8, silent)
		h.step(batch.PodGone{UID: old})
		got := h.at(2.1)
		if gaveUp := len(h.plan.Nominate) == 1 && h.plan.Nominate[0].Nomination == nil; gaveUp != cordoned || len(h.plan.Start) != 0 {
			t.Fatalf("cordoned %v: %s, %+v", cordoned, got, h.plan.Nominate)
		}
		if cordoned {
			continue
		}
		if h.at(2.9); len(h.plan.Nominate)+len(h.plan.Start) != 0 {
			t.Errorf("before n1 is lost: %+v", h.plan)
		}
		if h.at(3); len(h.plan.Nominate) != 1 || h.plan.Nominate[0].Nomination != nil {
			t.Errorf("when n1 is lost: %+v", h.plan)
		}
		if got, want := h.plan.Wait[0].Verdict.MovedBy, "its place, which can't be kept for it any more: node n1 is not ready"; got != want {
			t.Errorf("its place is lost, moved by %q, want %q", got, want)
		}
	}
}
