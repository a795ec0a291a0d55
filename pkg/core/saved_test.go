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
