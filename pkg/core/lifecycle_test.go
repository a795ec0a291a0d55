package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

// hand drives a core by hand: one node of 8 GPUs, nobody plays owners or pods.
type hand struct {
	*world
	plan batch.Plan
}

func newHand(t *testing.T) *hand {
	t.Helper()
	w := newWorld(t)
	w.nodes(1, 8)
	return &hand{world: w}
}

// at plans at a minute and assumes the plan.
func (h *hand) at(minute float64) string {
	h.t.Helper()
	h.now = zero.Add(time.Duration(minute * float64(time.Minute)))
	h.plan = h.core.Plan(h.now)
	h.step(batch.PlanIssued{Plan: h.plan})
	if again := h.core.Plan(h.now); !again.Empty() {
		h.t.Fatalf("a plan after a plan is not empty: %s, then %s", brief(h.plan), brief(again))
	}
	return strings.TrimSpace(brief(h.plan))
}

func (h *hand) expect(minute float64, want string) {
	h.t.Helper()
	if got := h.at(minute); got != want {
		h.t.Fatalf("at %v: %q, want %q", minute, got, want)
	}
}

func (h *hand) owner(name string, o batch.Owner) { h.step(batch.OwnerObserved{ID: id(name), Owner: o}) }

func (h *hand) bound(name string, i int, phase batch.PodPhase, edit func(*batch.Pod)) batch.PodUID {
	p := h.pod(h.jobs[name], i, "n1", phase)
	if edit != nil {
		edit(&p)
	}
	h.step(batch.PodObserved{Pod: p})
	return p.UID
}

func TestStartThatDoesNotBindIsTakenBackAndTriedAgainLater(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", pods: 2, gpu: 4, walltime: 60})
	h.expect(0, "start a")
	if want := zero.Add(5 * time.Minute); !h.plan.Wake.Equal(want) && !h.core.Plan(h.now).Wake.Equal(want) {
		t.Errorf("nobody wakes at the start timeout: %v", h.plan.Wake)
	}
	h.owner("a", batch.Owner{Started: true})
	uid := h.bound("a", 0, batch.PodReady, nil)
	h.expect(4.9, "")
	h.expect(5, "evict a (StartTimeout)")
	if by := h.plan.Evict[0].Eviction.By; by != "1 of 2 pods were not bound to a node within 5m of the start" {
		t.Error(by)
	}
	h.owner("a", batch.Owner{Suspended: true})
	h.expect(6, "")
	h.step(batch.PodGone{UID: uid})
	h.expect(6.5, "requeue a wait a Requeued 00:00:00 []")
	if want := h.now.Add(30 * time.Second); !h.plan.Requeue[0].RequeueAfter.Equal(want) || !h.plan.Wake.Equal(want) {
		t.Errorf("tried again after %v, woken at %v", h.plan.Requeue[0].RequeueAfter, h.plan.Wake)
	}
	h.expect(7, "start a")
	if run := h.plan.Start[0].Run; run != 1 {
		t.Errorf("run %d", run)
	}
	// What the owner was in the last run says nothing about this one.
	h.owner("a", batch.Owner{Suspended: true, Started: true})
	h.expect(7.1, "")
	h.expect(12, "evict a (StartTimeout) requeue a wait a Requeued 00:00:00 []")
	if want := h.now.Add(time.Minute); !h.plan.Requeue[0].RequeueAfter.Equal(want) {
		t.Errorf("tried again after %v", h.plan.Requeue[0].RequeueAfter)
	}
}

func TestRefusedStartIsTakenBackAtOnce(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", gpu: 4, walltime: 60})
	h.expect(0, "start a")
	h.step(batch.StartRefused{ID: id("a"), Run: 0, Text: "exceeded quota"})
	h.expect(0.1, "evict a (StartTimeout) requeue a wait a Requeued 00:00:00 []")
	if by := h.plan.Evict[0].Eviction.By; by != "exceeded quota" {
		t.Error(by)
	}
	h.step(batch.StartRefused{ID: id("a"), Run: 0, Text: "of an earlier run"})
	h.expect(1, "start a")
	h.step(batch.StartRefused{ID: id("a"), Run: 0, Text: "of an earlier run"})
	h.expect(1.1, "")
}

// TestRunningWorkThatAsksForNoPodsIsPaused: it gives its nodes back and waits
// until it asks for some, also while its record still says that it does.
func TestRunningWorkThatAsksForNoPodsIsPaused(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", gpu: 8, walltime: 60})
	h.expect(0, "start a")
	h.owner("a", batch.Owner{Started: true, Needed: []int{1}})
	uid := h.bound("a", 0, batch.PodReady, nil)
	h.expect(1, "ready a true")
	h.owner("a", batch.Owner{Started: true, Paused: true, Needed: []int{0}})
	h.expect(2, "evict a (Suspended)")
	if by := h.plan.Evict[0].Eviction.By; by != "its owner asks for 0 pods" {
		t.Error(by)
	}
	h.owner("a", batch.Owner{Started: true, Paused: true, Suspended: true, Needed: []int{0}})
	h.step(batch.PodGone{UID: uid})
	h.submit(job{name: "b", gpu: 8, walltime: 5})
	h.expect(3, "requeue a start b wait a Held 00:00:00 []")
	if text := h.plan.Wait[0].Verdict.Message; text != "paused: its owner asks for 0 pods; it starts by itself once it asks for some" {
		t.Error(text)
	}
	h.owner("b", batch.Owner{Started: true, End: &batch.End{State: batch.Completed, Time: h.now}})
	h.owner("a", batch.Owner{Suspended: true, Needed: []int{1}})
	h.expect(4, "finish b start a")
}

func TestSuspendedBySomebodyElseIsAnEviction(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", gpu: 8, walltime: 60})
	h.expect(0, "start a")
	// Between our decision and the release the owner is suspended, rightly.
	h.owner("a", batch.Owner{Suspended: true})
	h.expect(0.1, "")
	h.owner("a", batch.Owner{Started: true})
	uid := h.bound("a", 0, batch.PodReady, nil)
	h.expect(1, "ready a true")
	h.owner("a", batch.Owner{Started: true, Suspended: true})
	h.expect(2, "evict a (Suspended)")
	h.step(batch.PodGone{UID: uid})
	h.expect(3, "requeue a start a")
}

func TestStartThatCouldNotBeWrittenIsUndone(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", gpu: 8, walltime: 60}, job{name: "b", gpu: 8, walltime: 60})
	h.expect(0, "start a wait b Resources 09:00:00 []")
	h.step(batch.AdmitFailed{ID: id("a"), Run: 0, Err: "conflict"})
	h.expect(0.1, "start a wait b Resources 09:00:06 [higher-ranked arrival ns/a]")
	w, _ := h.core.Workload(id("a"))
	h.step(batch.WorkloadObserved{Workload: w})
	h.step(batch.AdmitFailed{ID: id("a"), Run: 0, Err: "late news"})
	h.expect(0.2, "")
}

func TestOldNewsResurrectsNothing(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", gpu: 8, walltime: 60})
	waiting, _ := h.core.Workload(id("a"))
	h.expect(0, "start a")
	h.step(batch.WorkloadObserved{Workload: waiting})
	h.expect(0.1, "")
	started, _ := h.core.Workload(id("a"))
	h.owner("a", batch.Owner{Started: true, End: &batch.End{State: batch.Completed, Time: zero}})
	h.expect(1, "finish a")
	h.step(batch.WorkloadObserved{Workload: started})
	h.step(batch.WorkloadObserved{Workload: waiting})
	h.expect(2, "")
	if w, _ := h.core.Workload(id("a")); w.Finished == nil {
		t.Error("it is not finished any more")
	}
}

func TestCancelledWhileItWaits(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", gpu: 8, walltime: 60}, job{name: "b", gpu: 8, walltime: 60})
	h.at(0)
	h.owner("b", batch.Owner{Suspended: true, End: &batch.End{State: batch.Cancelled, Time: zero}})
	h.expect(1, "finish b")
	h.expect(4, "")
}

func TestCapacityIsFreeWhenPodsAreGone(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", gpu: 8, walltime: 60})
	h.expect(0, "start a")
	h.owner("a", batch.Owner{Started: true})
	uid := h.bound("a", 0, batch.PodReady, nil)
	h.expect(1, "ready a true")
	h.submit(job{name: "b", gpu: 8, walltime: 60})
	h.expect(2, "wait b Resources 09:00:00 []")
	// Its Job is deleted; the pod has a grace of five minutes.
	h.step(batch.WorkloadGone{ID: id("a")})
	h.bound("a", 0, batch.PodReady, func(p *batch.Pod) { p.GoneBy = zero.Add(8 * time.Minute) })
	h.expect(3, "wait b Resources 08:08:00 []")
	// Somebody forces it: the node does not hear of that.
	h.step(batch.PodGone{UID: uid, By: zero.Add(8 * time.Minute)})
	h.expect(4, "")
	h.expect(8, "start b")
}

func TestOverrunIsNamedAndShownAnewEachMinute(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", gpu: 8, walltime: 60})
	h.expect(0, "start a")
	h.owner("a", batch.Owner{Started: true})
	h.bound("a", 0, batch.PodReady, nil)
	h.submit(job{name: "b", gpu: 8, walltime: 60})
	h.expect(0, "wait b Resources 09:00:00 [] ready a true")
	h.expect(60, "wait b Resources 09:01:00 [overrun of ns/a]")
	h.expect(60.5, "")
	h.expect(61, "wait b Resources 09:02:00 [overrun of ns/a]")
	if want := zero.Add(62 * time.Minute); !h.plan.Wake.Equal(want) {
		t.Errorf("woken at %v", h.plan.Wake)
	}
}

func TestReplacedPodIsNoStartTimeout(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", gpu: 8, walltime: 60})
	h.expect(0, "start a")
	h.owner("a", batch.Owner{Started: true})
	uid := h.bound("a", 0, batch.PodReady, nil)
	h.expect(1, "ready a true")
	h.step(batch.PodGone{UID: uid})
	h.expect(10, "ready a false")
	h.expect(30, "")
	h.bound("a", 1, batch.PodReady, nil)
	h.expect(31, "ready a true")
}

func TestPlacesEndEarlyWithTheirPods(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", pods: 4, gpu: 2, walltime: 60})
	h.expect(0, "start a")
	h.owner("a", batch.Owner{Started: true})
	for i := range 4 {
		h.bound("a", i, batch.PodReady, nil)
	}
	h.expect(1, "ready a true")
	h.submit(job{name: "b", gpu: 4, walltime: 60})
	h.expect(1, "wait b Resources 09:00:00 []")
	h.bound("a", 0, batch.PodSucceeded, nil)
	h.bound("a", 1, batch.PodSucceeded, nil)
	h.expect(2, "") // places are kept: pods may still come
	h.owner("a", batch.Owner{Started: true, Needed: []int{2}, Done: [][]int{{0, 1}}})
	h.expect(3, "start b")
}

func TestCoveredPodIsCountedOnce(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.submit(job{name: "a", gpu: 4, walltime: 60})
	h.expect(0, "start a")
	h.owner("a", batch.Owner{Started: true})
	free := func() batch.Amount {
		sum := batch.Amount(8)
		for _, c := range h.core.Snapshot().Nodes[0].Charges {
			sum -= c.Requests[batch.ResourceGPU]
		}
		return sum
	}
	var got []batch.Amount
	got = append(got, free())
	h.bound("a", 0, batch.PodReady, nil)
	got = append(got, free())
	// It turns out larger than its pod set said.
	h.bound("a", 0, batch.PodReady, func(p *batch.Pod) { p.Requests = batch.Resources{batch.ResourceGPU: 5} })
	got = append(got, free())
	// A pod that has no place counts by itself.
	h.bound("a", 1, batch.PodReady, func(p *batch.Pod) { p.Requests = batch.Resources{batch.ResourceGPU: 1} })
	got = append(got, free())
	if diff := cmp.Diff([]batch.Amount{4, 4, 3, 2}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLostNodeMovesWhatWasPlannedThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(job{name: "r1", gpu: 8, walltime: 30}, job{name: "r2", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "p", gpu: 8, walltime: 60})
	w.until(1)
	w.want("p~30")
	w.node("n1", 8, func(n *batch.Node) { n.Ready = false })
	w.until(1)
	w.want("p~60")
	if diff := cmp.Diff([]string{"p: node n1 is not ready"}, w.moved); diff != "" {
		t.Error(diff)
	}
}
