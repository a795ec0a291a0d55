package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

// running starts one workload on the node, with its pod ready.
func (h *hand) running(edit func(*batch.Workload)) batch.PodUID {
	h.t.Helper()
	h.submit(job{name: "a", gpu: 8, walltime: 60, edit: edit})
	h.expect(0, "start a")
	h.owner("a", batch.Owner{Started: true})
	uid := h.bound("a", 0, batch.PodReady, nil)
	h.expect(0.5, "ready a true")
	return uid
}

// acknowledge makes the pod say that its work is saved.
func (h *hand) acknowledge(minute float64) {
	h.bound("a", 0, batch.PodReady, func(p *batch.Pod) { p.CheckpointedAt = zero.Add(time.Duration(minute * float64(time.Minute))) })
}

func signal(w *batch.Workload) {
	w.Checkpoint = batch.Checkpoint{Delivery: batch.DeliverSignal, Lead: 5 * time.Minute}
}

func TestTheDeadlineIsToldOnceAsLongBeforeAsWasAsked(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.running(signal)
	if want := zero.Add(55 * time.Minute); !h.core.Plan(h.now).Wake.Equal(want) {
		t.Errorf("woken at %v, want %v", h.core.Plan(h.now).Wake, want)
	}
	for _, minute := range []int{54, 55, 56, 57} {
		want := 0
		if minute == 55 {
			want = 1
		}
		h.at(float64(minute))
		if got := len(h.plan.Notify); got != want || len(h.plan.Evict) > 0 {
			t.Fatalf("at %d: %d notices, want %d; %d evictions", minute, got, want, len(h.plan.Evict))
		}
		if want == 1 {
			notice := batch.Notice{Cause: batch.CauseWalltime, By: "its walltime", Time: h.now, Until: zero.Add(time.Hour)}
			if diff := cmp.Diff(notice, h.plan.Notify[0].Notice); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
}

func TestB51ACancelWithGraceEndsWhenAllHaveSaved(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		saved float64 // minute; 0: never
		stop  float64
	}{
		{"it acknowledges", 10.5, 10.5},
		{"it says nothing", 0, 12},
		{"what it saved before the notice does not count", 9, 12},
	} {
		h := newHand(t)
		uid := h.running(signal)
		h.owner("a", batch.Owner{Started: true, Cancel: new(2 * time.Minute)})
		if got := h.at(10); got != "evict a (Cancelled)" || !h.plan.Evict[0].Eviction.Stopped.IsZero() {
			t.Fatalf("%s: %q, %+v", test.name, got, h.plan.Evict)
		}
		for _, minute := range []float64{10.4, 10.5, 11.9, 12} {
			if test.saved > 0 && test.saved <= minute {
				h.acknowledge(test.saved)
			}
			if h.at(minute); (len(h.plan.Stop) == 1) != (minute == test.stop) {
				t.Fatalf("%s: at %v %d stops", test.name, minute, len(h.plan.Stop))
			}
		}
		h.owner("a", batch.Owner{Started: true, Suspended: true, Cancel: new(2 * time.Minute)})
		h.step(batch.PodGone{UID: uid})
		h.expect(13, "finish a")
		if end := h.plan.Finish[0].End; end.State != batch.Cancelled {
			t.Errorf("%s: it ends as %s", test.name, end.State)
		}
	}
}

func TestACancelWithoutTimeStopsAtOnce(t *testing.T) {
	t.Parallel()
	for _, edit := range []func(*batch.Workload){signal, nil} {
		h := newHand(t)
		h.running(edit)
		h.owner("a", batch.Owner{Started: true, Cancel: new(time.Duration(0))})
		if h.at(10); len(h.plan.Evict) != 1 || !h.plan.Evict[0].Eviction.Stopped.Equal(h.now) {
			t.Fatalf("%+v", h.plan.Evict)
		}
	}
}

func TestWhatWaitsIsCancelledAtOnce(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.running(nil)
	h.submit(job{name: "b", gpu: 8, walltime: 60})
	h.at(1)
	h.owner("b", batch.Owner{Suspended: true, Cancel: new(time.Hour)})
	h.expect(2, "finish b")
	if end := h.plan.Finish[0].End; end.State != batch.Cancelled || end.Message != "its user cancelled it" {
		t.Errorf("%+v", end)
	}
}

// Cancelled while another's notice runs, it does not wait again.
func TestWhatIsTakenBackAndCancelledHasEnded(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	uid := h.running(nil)
	h.drain()
	if got := h.at(1); !strings.Contains(got, "evict a (Drained)") {
		t.Fatal(got)
	}
	h.owner("a", batch.Owner{Started: true, Suspended: true, Cancel: new(time.Duration(0))})
	h.step(batch.PodGone{UID: uid})
	h.expect(2, "finish a")
}

// drain taints the node as an admin does who wants it empty.
func (h *hand) drain() {
	h.node("n1", 8, func(n *batch.Node) { n.Taints = []batch.Taint{{Key: batch.DrainTaint, Effect: "NoSchedule"}} })
}

func TestADrainedNodeIsGivenBackWithGrace(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.queue("main", func(q *batch.Queue) { q.Preemption.Grace = 2 * time.Minute })
	uid := h.running(signal)
	h.drain()
	h.expect(10, "evict a (Drained)")
	e := h.plan.Evict[0].Eviction
	if !e.Until.Equal(zero.Add(12*time.Minute)) || !e.Stopped.IsZero() || e.Final != "" || !strings.Contains(e.By, "node n1") {
		t.Errorf("%+v", e)
	}
	if h.at(12); len(h.plan.Stop) != 1 {
		t.Fatalf("its grace is over: %+v", h.plan)
	}
	h.owner("a", batch.Owner{Started: true, Suspended: true})
	h.step(batch.PodGone{UID: uid})
	if got := h.at(13); !strings.HasPrefix(got, "requeue a wait a") {
		t.Errorf("%q: it waits, as the node takes nothing", got)
	}
}

func TestWhatToleratesTheDrainStays(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.running(func(w *batch.Workload) {
		w.PodSets[0].Tolerations = []batch.Toleration{{Key: batch.DrainTaint, Op: "Exists"}}
	})
	h.drain()
	h.expect(10, "")
}

// TestB19APodThatIsAWorkloadEndsAsPreempted: whatever its exit code, it was told
// to end.
func TestB19APodThatIsAWorkloadEndsAsPreempted(t *testing.T) {
	t.Parallel()
	for _, state := range []batch.EndState{batch.Completed, batch.Failed, batch.Cancelled, batch.Timeout} {
		h := newHand(t)
		h.running(nil)
		h.owner("a", batch.Owner{Started: true, Fixed: true})
		h.drain()
		h.expect(10, "evict a (Drained)")
		h.owner("a", batch.Owner{Started: true, Fixed: true, End: &batch.End{State: state, Time: h.now, Message: "exit code 77"}})
		h.expect(10.5, "finish a")
		want := batch.Preempted
		if state == batch.Timeout {
			want = batch.Timeout // the deadline came first
		}
		if end := h.plan.Finish[0].End; end.State != want || !strings.Contains(end.Message, "exit code 77") {
			t.Errorf("%s: it ends as %+v", state, end)
		}
	}
}

// TestB39ARunThatIsNeverReadyIsNotProtectedForEver: its exempt time counts from
// when it should have been ready.
func TestB39ARunThatIsNeverReadyIsNotProtectedForEver(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.queue("main", func(q *batch.Queue) {
		q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Exempt: 10 * time.Minute}
	})
	h.queue("high", func(q *batch.Queue) { q.Tier = 10 })
	h.submit(job{name: "a", gpu: 8, walltime: 600})
	h.expect(0, "start a")
	h.owner("a", batch.Owner{Started: true})
	h.bound("a", 0, batch.PodBound, nil)
	h.submit(job{name: "b", gpu: 8, walltime: 60, queue: "high"})
	for _, minute := range []float64{1, 10, 14.9} {
		if h.at(minute); len(h.plan.Evict) > 0 {
			t.Fatalf("at %v it is taken back, before its time", minute)
		}
	}
	if h.at(15); len(h.plan.Evict) != 1 { // 5m until a start has failed, and 10m
		t.Errorf("at 15 it is protected still: %+v", h.plan)
	}
}

// TestANoticeThatWasNotGivenIsGivenAfterARestart: the nomination was written, the
// notice of one of its victims was not, and then the controller died.
func TestANoticeThatWasNotGivenIsGivenAfterARestart(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.queue("main", func(q *batch.Queue) { q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Grace: time.Minute} })
	h.queue("high", func(q *batch.Queue) { q.Tier = 10 })
	h.submit(job{name: "a", gpu: 4, walltime: 600, edit: signal}, job{name: "b", gpu: 4, walltime: 600, edit: signal})
	h.expect(0, "start a start b")
	for _, name := range []string{"a", "b"} {
		h.owner(name, batch.Owner{Started: true})
		h.bound(name, 0, batch.PodReady, nil)
	}
	h.at(0.5)
	h.submit(job{name: "c", gpu: 8, walltime: 60, queue: "high"})
	if h.at(1); len(h.plan.Evict) != 2 || len(h.plan.Nominate) != 1 {
		t.Fatalf("%+v", h.plan)
	}
	h.restart(h.events, func(w *batch.Workload) {
		if w.Name == "b" {
			w.Eviction = nil
		}
	})
	if h.at(1.2); len(h.plan.Evict) != 1 || h.plan.Evict[0].ID != id("b") || h.plan.Evict[0].Eviction.For != id("c") {
		t.Fatalf("after the restart: %+v", h.plan)
	}
	if len(h.plan.Nominate) > 0 {
		t.Errorf("the nomination is written anew: %+v", h.plan.Nominate)
	}
}

// TestB01AVictimPastItsGraceIsNamedWithItsPod: whoever waits for it learns which
// pod somebody has to look at.
func TestB01AVictimPastItsGraceIsNamedWithItsPod(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.queue("main", func(q *batch.Queue) {
		q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Grace: 2 * time.Minute}
	})
	h.queue("high", func(q *batch.Queue) { q.Tier = 10 })
	h.running(nil)
	h.submit(job{name: "b", gpu: 8, walltime: 60, queue: "high"})
	pod := h.pod(h.jobs["a"], 0, "n1", batch.PodReady).Name
	for _, test := range []struct {
		minute float64
		late   bool
	}{{1, false}, {3.5, true}, {10, true}} {
		h.at(test.minute)
		if len(h.plan.Wait) != 1 || h.plan.Wait[0].Verdict.Reason != batch.ReasonPreempting {
			t.Fatalf("at %v: %+v", test.minute, h.plan.Wait)
		}
		first := h.plan.Wait[0].Verdict.Facts.First
		if got := strings.Contains(first, "its grace is over, and pod "+pod+" is not gone"); got != test.late {
			t.Errorf("at %v: %q", test.minute, first)
		}
	}
}

// TestAVictimThatStartsAgainElsewhereAtOnceIsNoVictimAgain: it is gone in the
// second of its notice, and there is room for it on another node.
func TestAVictimThatStartsAgainElsewhereAtOnceIsNoVictimAgain(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.node("n2", 8, nil)
	for name, grace := range map[string]time.Duration{"main": 3 * time.Minute, "other": time.Minute} {
		h.queue(name, func(q *batch.Queue) {
			q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Grace: grace}
		})
	}
	h.queue("safe", nil)
	h.queue("high", func(q *batch.Queue) { q.Tier = 10 })
	h.submit(job{name: "a", gpu: 4, walltime: 600}, job{name: "b", gpu: 4, walltime: 600, queue: "other"}, job{name: "d", gpu: 4, walltime: 600, queue: "safe"})
	h.expect(0, "start a start b start d")
	for _, name := range []string{"a", "b"} {
		h.owner(name, batch.Owner{Started: true})
	}
	pod := h.bound("a", 0, batch.PodReady, nil)
	h.bound("b", 0, batch.PodReady, nil)
	h.at(0.5)
	h.submit(job{name: "c", gpu: 8, walltime: 60, queue: "high"})
	if h.at(1); len(h.plan.Evict) != 2 {
		t.Fatalf("%+v", h.plan)
	}
	h.step(batch.PodGone{UID: pod})
	h.owner("a", batch.Owner{Suspended: true, Started: true})
	if got := h.at(1); !strings.HasPrefix(got, "requeue a start a") { // at plans twice: the second plan must be empty
		t.Errorf("%q", got)
	}
}

// TestAnEndInTheGraceSaysThatItWasTold, and counts as Kubernetes counts it.
func TestAnEndInTheGraceSaysThatItWasTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end  batch.End
		want string
	}{
		{
			batch.End{State: batch.Completed, Message: "all pods succeeded"},
			"it ended in its grace, 20s after its notice (preempted by ns/b), and counts as its pods ended; all pods succeeded",
		},
		{batch.End{State: batch.Failed}, "it ended in its grace, 20s after its notice (preempted by ns/b), and counts as its pods ended"},
		{batch.End{State: batch.Timeout, Message: "deadline"}, "deadline"},
		{batch.End{State: batch.Cancelled, Message: "the Job was deleted"}, "the Job was deleted"},
	} {
		h := newHand(t)
		h.queue("main", func(q *batch.Queue) {
			q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Grace: 5 * time.Minute}
		})
		h.queue("high", func(q *batch.Queue) { q.Tier = 10 })
		h.running(signal)
		h.submit(job{name: "b", gpu: 8, walltime: 60, queue: "high"})
		if h.at(1); len(h.plan.Evict) != 1 {
			t.Fatalf("%+v", h.plan)
		}
		c.end.Time = h.now.Add(20 * time.Second)
		h.owner("a", batch.Owner{Started: true, End: &c.end})
		h.at(2)
		want := []batch.FinishDecision{{ID: id("a"), End: batch.End{State: c.end.State, Time: c.end.Time, Message: c.want}}}
		if diff := cmp.Diff(want, h.plan.Finish); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestThePodsOwnTerminationCounts: where it is longer than the grace of the
// queue, and where it comes after it. Nobody is evicted for a start that would
// come no sooner, and no notice promises more time than there is.
func TestThePodsOwnTerminationCounts(t *testing.T) {
	t.Parallel()
	minutes := func(m float64) time.Duration { return time.Duration(m * float64(time.Minute)) }
	for _, c := range []struct {
		name       string
		own        time.Duration
		edit       func(*batch.Workload)
		walltime   int     // of the victim
		start      float64 // of the preemptor in its place; 0: it waits
		until      float64 // what the notice says
		cancelled  time.Duration
		cancelEnds float64
	}{
		{"not known", 0, nil, 60, 3, 3, minutes(10), 11},
		{"term: told at once", minutes(5), nil, 60, 6, 6, minutes(10), 6},
		{"term: the end comes before the kill", minutes(5), nil, 6, 0, 0, minutes(1), 6},
		{"signal: and then its own", minutes(5), signal, 60, 8, 3, minutes(10), 11},
		{"signal: the end comes before both", minutes(5), signal, 8, 0, 0, minutes(10), 11},
	} {
		h := newHand(t)
		h.queue("main", func(q *batch.Queue) {
			q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Grace: 2 * time.Minute}
		})
		h.queue("high", func(q *batch.Queue) { q.Tier = 10 })
		h.submit(job{name: "a", gpu: 8, walltime: c.walltime, edit: c.edit})
		h.expect(0, "start a")
		h.owner("a", batch.Owner{Started: true, Termination: c.own})
		h.bound("a", 0, batch.PodReady, nil)
		h.expect(0.5, "ready a true")
		h.submit(job{name: "b", gpu: 8, walltime: 60, queue: "high"})
		h.at(1)
		var start, until float64
		for _, d := range h.plan.Nominate {
			start = d.Nomination.Allocation.Start.Sub(zero).Minutes()
		}
		for _, d := range h.plan.Evict {
			until = d.Eviction.Until.Sub(zero).Minutes()
		}
		if start != c.start || until != c.until {
			t.Errorf("%s: starts at %v, notice until %v; want %v, %v", c.name, start, until, c.start, c.until)
		}

		h = newHand(t)
		h.submit(job{name: "a", gpu: 8, walltime: 60, edit: c.edit})
		h.expect(0, "start a")
		h.owner("a", batch.Owner{Started: true, Termination: c.own, Cancel: &c.cancelled})
		h.bound("a", 0, batch.PodReady, nil)
		h.at(1)
		if len(h.plan.Evict) != 1 || h.plan.Evict[0].Eviction.Until.Sub(zero).Minutes() != c.cancelEnds {
			t.Errorf("%s: cancelled with %s: %+v, want until %v", c.name, c.cancelled, h.plan.Evict, c.cancelEnds)
		}
	}
}
