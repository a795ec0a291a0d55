package core_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

// Of two runs the one goes that loses less. One saves every ten minutes; the
// other began at 8, and never saves.
func TestWhatARunHasSavedIsWhatItToldElseWhatIsDue(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		ready int // minute at which the pod of the one that saves is ready
		told  int // minute at which it said that it has saved; 0: it never did
		at    int // minute at which a place is wanted
		goes  string
	}{
		{name: "a save that is due counts: 2 of one against 4", at: 12, goes: "saves"},
		{name: "one that tells of its saves has made no other: 12 against 5", told: 1, at: 13, goes: "fresh"},
		{name: "what it told of counts: 3 against 4", told: 9, at: 12, goes: "saves"},
		{name: "it works since its pods are ready: 13 against 5", ready: 4, at: 13, goes: "fresh"},
		{name: "a save is due ten minutes after that: 1 against 7", ready: 4, at: 15, goes: "saves"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHand(t)
			h.node("n2", 8, nil)
			h.editQueue("main", func(q *batch.Queue) { q.Preemption.Mode = batch.PreemptRequeue })
			h.queue("top", func(q *batch.Queue) { q.Tier = 9 })
			on := map[string]batch.NodeName{}
			begin := func(name string, minute int, saves time.Duration) {
				h.submit(job{name: name, gpu: 8, edit: func(w *batch.Workload) { w.Checkpoint.Every = saves }})
				h.expect(float64(minute), "start "+name)
				h.owner(name, batch.Owner{Started: true})
				on[name] = h.plan.Start[0].Allocation.PodSets[0].Hosts[0]
			}
			isReady := func(name string, minute int, told time.Time) {
				h.bound(name, 0, batch.PodReady, func(p *batch.Pod) { p.Node, p.CheckpointedAt = on[name], told })
				h.at(float64(minute))
			}
			begin("saves", 0, 10*time.Minute)
			isReady("saves", test.ready, time.Time{})
			begin("fresh", 8, 0)
			isReady("fresh", 8, time.Time{})
			if test.told > 0 {
				isReady("saves", max(test.told, 8), zero.Add(time.Duration(test.told)*time.Minute))
			}
			h.submit(job{name: "urgent", queue: "top", gpu: 8})
			h.at(float64(test.at))
			var goes []batch.WorkloadID
			for _, e := range h.plan.Evict {
				goes = append(goes, e.ID)
			}
			if diff := cmp.Diff([]batch.WorkloadID{id(test.goes)}, goes); diff != "" {
				t.Errorf("who goes (-want +got):\n%s", diff)
			}
		})
	}
}

// What is saved between the notice and the end is not lost; who saves nothing in that
// time loses what he has done in it too.
func TestWhatIsSavedInTheGraceIsNotLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		saved float64 // the minute of its answer to the notice of minute 8; 0: none
		end   float64 // the minute at which its pods are told to end
		lost  time.Duration
	}{
		{name: "it has answered", saved: 9, end: 9, lost: 0},
		{name: "it has not", end: 13, lost: 13 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHand(t)
			h.editQueue("main", func(q *batch.Queue) {
				q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Grace: 5 * time.Minute}
			})
			h.queue("top", func(q *batch.Queue) { q.Tier = 9 })
			h.running(signal)
			h.submit(job{name: "urgent", queue: "top", gpu: 8})
			lost := func() time.Duration {
				w := h.core.Snapshot().Waiting[0].Workload
				return time.Duration(w.LastVerdict.Facts.Lost) * time.Second / 8
			}
			if h.at(8); lost() != 8*time.Minute {
				t.Errorf("at its notice %v are lost, want 8m", lost())
			}
			if test.saved > 0 {
				h.acknowledge(test.saved)
			}
			h.at(test.end)
			// It is not gone when it should be: the place is there later, and that is told.
			if h.at(14.1); lost() != test.lost {
				t.Errorf("when it was told to end %v are lost, want %v", lost(), test.lost)
			}
		})
	}
}
