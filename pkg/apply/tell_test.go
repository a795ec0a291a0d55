package apply

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/berth-dev/berth/pkg/batch"
)

// TestEventsTellTheStory of a workload, each thing once.
func TestEventsTellTheStory(t *testing.T) {
	t.Parallel()
	b := newBench(t, waiting("a"))
	resources := func(message string, planned time.Time, movedBy string) batch.Plan {
		return batch.Plan{At: at(0), Wait: []batch.WaitDecision{
			wait("a", batch.Verdict{Reason: batch.ReasonResources, Message: message, PlannedStart: planned, MovedBy: movedBy}),
		}}
	}
	backfill := starts("a", 0)
	backfill.Allocation.Via = batch.ViaBackfill
	for _, step := range []struct {
		name string
		plan batch.Plan
		want []string
	}{
		{"the first answer", resources("0 of 8 free", time.Time{}, ""), []string{
			"Queued: queued in LocalQueue gpu", "Waiting: Resources: 0 of 8 free",
		}},
		{"numbers alone", resources("1 of 8 free", time.Time{}, ""), nil},
		{"a planned start", resources("1 of 8 free", at(60), ""), []string{
			"Planned: planned to start at 2026-03-02T09:00:00Z at the latest",
		}},
		{"moved by a minute", resources("1 of 8 free", at(61), ""), nil},
		{"moved by more", resources("1 of 8 free", at(90), "higher-ranked arrival lab/b"), []string{
			"Planned: planned start moved from 2026-03-02T09:01:00Z to 2026-03-02T09:30:00Z: higher-ranked arrival lab/b",
		}},
		{"moved forward", resources("1 of 8 free", at(30), ""), []string{
			"Planned: planned start moved from 2026-03-02T09:30:00Z to 2026-03-02T08:30:00Z",
		}},
		{"another reason", batch.Plan{At: at(1), Wait: []batch.WaitDecision{wait("a", batch.Verdict{Reason: batch.ReasonHeld, Message: "held by its author"})}}, []string{
			"Waiting: Held: held by its author",
		}},
		{"its start", batch.Plan{At: at(1), Start: []batch.StartDecision{backfill}}, []string{
			"Started: started on 1 node of ClusterQueue gpu, in a gap before higher-ranked work, which it does not delay, until 2026-03-02T09:01:00Z at the latest",
		}},
		{"its pods", batch.Plan{At: at(1), Ready: []batch.ReadyDecision{{ID: id("a"), Ready: true}}}, nil},
		{"taken back", batch.Plan{At: at(2), Evict: []batch.EvictDecision{{
			ID: id("a"), Eviction: *batch.EvictedAtOnce(batch.Notice{Cause: batch.CauseSuspended, By: "somebody suspended its owner while it ran", Time: at(2)}),
		}}}, []string{
			"Stopping: somebody suspended its owner while it ran; its pods were told to end at 2026-03-02T08:02:00Z and have their terminationGracePeriodSeconds for it; it waits again, at its old place, when they are gone",
		}},
		{"its pods are gone", batch.Plan{At: at(3), Requeue: []batch.RequeueDecision{{ID: id("a"), Restarts: 1}}}, []string{
			"Requeued: its pods are gone; it waits again at its old place",
		}},
		{"what is remembered", batch.Plan{At: at(3), Remember: []batch.RememberDecision{{ID: id("a"), Outcomes: []batch.Outcome{{Name: "x"}}}}}, nil},
		{"its end", batch.Plan{At: at(4), Finish: []batch.FinishDecision{{ID: id("a"), End: batch.End{State: batch.Failed, Time: at(4), Message: "exit code 3"}}}}, []string{
			"Finished: Failed: exit code 3",
		}},
	} {
		b.Carry(step.plan)
		b.work()
		if diff := cmp.Diff(step.want, b.told()); diff != "" {
			t.Errorf("%s (-want +told):\n%s", step.name, diff)
		}
	}
}

// TestEventIsAboutTheJob that people look at, not about our record.
func TestEventIsAboutTheJob(t *testing.T) {
	t.Parallel()
	b := newBench(t, waiting("a"))
	long := strings.Repeat("é", noteMax)
	b.Carry(batch.Plan{At: at(0), Wait: []batch.WaitDecision{wait("a", batch.Verdict{Reason: batch.ReasonResources, Message: long})}})
	b.work()
	event := b.nextEvent()
	want := corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "lab", Name: "job-of-a", UID: "job-a"}
	if diff := cmp.Diff(want, event.Regarding); diff != "" {
		t.Errorf("about (-want +got):\n%s", diff)
	}
	if event.Namespace != "lab" || event.ReportingController != "berth" || event.Action == "" || !event.EventTime.Time.Equal(start) {
		t.Errorf("an API server would not take it: %+v", event)
	}
	if event = b.nextEvent(); len(event.Note) > noteMax || !strings.HasPrefix(event.Note, "Resources: éé") {
		t.Errorf("a note of %d bytes", len(event.Note))
	}
}

// TestNobodyIsToldOfWorkWithoutAnOwner: there is nothing to look at.
func TestNobodyIsToldOfWorkWithoutAnOwner(t *testing.T) {
	t.Parallel()
	orphan := waiting("a")
	orphan.OwnerReferences = nil
	b := newBench(t, orphan)
	b.Carry(batch.Plan{At: at(0), Start: []batch.StartDecision{starts("a", 0)}})
	b.work()
	if told := b.told(); told != nil || b.writes != 1 {
		t.Errorf("%d writes, told %q", b.writes, told)
	}
}

// TestEventsNeverHoldUpADecision: when more happens than can be told, the rest
// is left out.
func TestEventsNeverHoldUpADecision(t *testing.T) {
	t.Parallel()
	b := newBench(t, waiting("a"))
	for range heraldQueue {
		b.herald.tell(&corev1.ObjectReference{Name: "other"}, news{kind: corev1.EventTypeNormal})
	}
	b.Carry(batch.Plan{At: at(0), Start: []batch.StartDecision{starts("a", 0)}})
	b.work()
	if b.status("a").Allocation == nil {
		t.Error("the start was not written")
	}
}
