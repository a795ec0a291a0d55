package apply

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// running is a workload that has been started.
func running(name string) *v1alpha1.QueuedWorkload {
	qw := waiting(name)
	convert.RecordWait(qw, batch.WaitDecision{Verdict: batch.Verdict{Reason: batch.ReasonResources, Message: "waits"}}, at(0))
	convert.RecordStart(qw, starts(name, 0), at(1))
	return qw
}

// evicted is a workload whose pods are ending.
func evicted(name string) *v1alpha1.QueuedWorkload {
	qw := running(name)
	convert.RecordEvict(qw, *batch.EvictedAtOnce(batch.Notice{Cause: batch.CauseSuspended, By: "somebody", Time: at(2)}), at(2))
	return qw
}

// mustObserve says which outcomes the core heard of.
func (b *bench) mustObserve(want ...batch.Event) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.observed); diff != "" {
		b.t.Errorf("the core has heard (-want +got):\n%s", diff)
	}
}

// TestDecisionsOfOneWorkloadAreOneWriteInTheirOrder: its run is over, it waits
// again, and starts again, in one plan.
func TestDecisionsOfOneWorkloadAreOneWriteInTheirOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, evicted("a"))
	b.Carry(batch.Plan{
		At:       at(3),
		Start:    []batch.StartDecision{starts("a", 1)},
		Requeue:  []batch.RequeueDecision{{ID: id("a"), Restarts: 1}},
		Remember: []batch.RememberDecision{{ID: id("a"), Outcomes: []batch.Outcome{{Name: "x", State: batch.Failed}}}},
	})
	b.work()
	status := b.status("a")
	if b.writes != 1 || status.Allocation == nil || *status.Restarts != 1 || len(status.Runs) != 1 || len(status.Dependencies) != 1 {
		t.Errorf("%d writes, status %+v: want one, that has requeued and then started it", b.writes, status)
	}
	if status.Runs[0].Cause != string(batch.CauseSuspended) || !status.Runs[0].Start.Time.Equal(at(1)) {
		t.Errorf("the run on record is %+v, want the one before", status.Runs[0])
	}
	b.mustObserve()
}

// TestDecisionsOfSeveralPlansKeepTheirOrder, though the next came while the
// first was being written, which failed.
func TestDecisionsOfSeveralPlansKeepTheirOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, waiting("a"))
	b.fail = []error{errors.New("the server is busy")}
	b.Carry(batch.Plan{At: at(0), Wait: []batch.WaitDecision{wait("a", batch.Verdict{Reason: batch.ReasonResources, Message: "full"})}})
	b.during = func() { b.Carry(batch.Plan{At: at(1), Start: []batch.StartDecision{starts("a", 0)}}) }
	b.next(t.Context())
	if b.writes != 0 {
		t.Fatal("the first write has not failed")
	}
	b.Carry(batch.Plan{At: at(2), Ready: []batch.ReadyDecision{{ID: id("a"), Ready: true}}})
	b.work()
	status := b.status("a")
	if got := status.Summary.State; got != convert.StateRunning || b.writes != 1 {
		t.Errorf("state %s after %d writes, want Running after one", got, b.writes)
	}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionPending); c == nil || c.Status != metav1.ConditionFalse {
		t.Errorf("what was decided first counts last: %+v", c)
	}
	b.mustObserve()
}

// TestNothingIsWrittenWhenNothingChanges: after a restart all answers are given
// anew, and most of them stand there already.
func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t, waiting("a"))
	plan := batch.Plan{At: at(0), Wait: []batch.WaitDecision{wait("a", batch.Verdict{Reason: batch.ReasonResources, Message: "full", PlannedStart: at(60)})}}
	b.Carry(plan)
	b.work()
	if b.told() == nil || b.writes != 1 {
		t.Fatalf("%d writes, want the first answer written and told", b.writes)
	}
	plan.At = at(5)
	b.Carry(plan)
	b.work()
	if told := b.told(); b.writes != 1 || told != nil {
		t.Errorf("%d writes, told %q: want nothing for the same answer", b.writes, told)
	}
}

// TestConflictIsDecidedAgainOnTheServersVersion: the owner's controller has
// changed the spec, and the cache has not seen it.
func TestConflictIsDecidedAgainOnTheServersVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t, waiting("a"))
	b.behind = true
	b.edit("a", func(qw *v1alpha1.QueuedWorkload) { qw.Generation, qw.Spec.PodSets[0].Count = 2, new(int32(4)) })
	b.Carry(batch.Plan{At: at(0), Start: []batch.StartDecision{starts("a", 0)}})
	b.work()
	status := b.status("a")
	if b.writes != 1 || status.Allocation == nil {
		t.Fatalf("%d writes, status %+v: want it started", b.writes, status)
	}
	for _, c := range status.Conditions {
		if c.ObservedGeneration != 2 {
			t.Errorf("condition %s speaks of generation %d, want the server's, 2", c.Type, c.ObservedGeneration)
		}
	}
	b.mustObserve()
}

// TestStartThatIsNoLongerWanted: each case is a world that is not the one the
// start was decided for. It is not written, and the core hears why.
func TestStartThatIsNoLongerWanted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		is   func(*v1alpha1.QueuedWorkload)
		why  string
	}{
		{"another controller has started it", func(qw *v1alpha1.QueuedWorkload) { *qw = *running(qw.Name) }, "the workload has an allocation already"},
		{"it has ended", func(qw *v1alpha1.QueuedWorkload) {
			convert.RecordFinish(qw, batch.End{State: batch.Cancelled, Time: at(0)}, at(0))
		}, "the workload has finished"},
		{"it is of an older run", func(qw *v1alpha1.QueuedWorkload) { qw.Status.Restarts = new(int32(3)) }, "the workload was restarted 3 times, the start is of run 0"},
		{"it is going", func(qw *v1alpha1.QueuedWorkload) { qw.DeletionTimestamp = new(metav1.NewTime(at(0))) }, "the workload is being deleted"},
	} {
		for _, behind := range []bool{false, true} {
			b := newBench(t, waiting("a"))
			b.behind = behind // then it is the conflict that shows it
			b.edit("a", c.is)
			before := b.status("a")
			b.Carry(batch.Plan{At: at(3), Start: []batch.StartDecision{starts("a", 0)}})
			b.work()
			if diff := cmp.Diff(before, b.status("a")); diff != "" {
				t.Errorf("%s: the status has changed (-before +after):\n%s", c.name, diff)
			}
			if told := b.told(); told != nil {
				t.Errorf("%s: %q is told of a start that did not happen", c.name, told)
			}
			b.mustObserve(batch.AdmitFailed{ID: id("a"), Run: 0, Err: c.why})
		}
	}
}

// TestRefusedStartLeavesWhatWasDecidedBefore it, and voids what follows from it.
func TestRefusedStartLeavesWhatWasDecidedBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t, evicted("a"))
	b.Carry(batch.Plan{
		At:      at(3),
		Requeue: []batch.RequeueDecision{{ID: id("a"), Restarts: 1}},
		Start:   []batch.StartDecision{starts("a", 7)},
	})
	b.Carry(batch.Plan{At: at(4), Ready: []batch.ReadyDecision{{ID: id("a"), Ready: true}}})
	b.work()
	status := b.status("a")
	if status.Allocation != nil || status.Restarts == nil || *status.Restarts != 1 || status.Summary.State != convert.StatePending {
		t.Errorf("status %+v: want it requeued, and neither started nor ready", status)
	}
	for _, text := range b.told() {
		if !strings.HasPrefix(text, EventRequeued) && !strings.HasPrefix(text, EventWaiting) {
			t.Errorf("told: %s", text)
		}
	}
	b.mustObserve(batch.AdmitFailed{ID: id("a"), Run: 7, Err: "the workload was restarted 1 times, the start is of run 7"})
}

// TestWorkloadThatIsGone: only a start must be undone; the rest is void. It may
// be gone for the cache, or only for the server.
func TestWorkloadThatIsGone(t *testing.T) {
	t.Parallel()
	for _, behind := range []bool{false, true} {
		b := newBench(t, waiting("a"), waiting("b"))
		b.behind = behind
		b.remove("a")
		b.remove("b")
		b.Carry(batch.Plan{
			At:    at(0),
			Start: []batch.StartDecision{starts("a", 0)},
			Wait:  []batch.WaitDecision{wait("b", batch.Verdict{Reason: batch.ReasonResources})},
		})
		b.work()
		b.mustObserve(batch.AdmitFailed{ID: id("a"), Run: 0, Err: "the workload no longer exists"})
		if told := b.told(); b.writes != 0 || told != nil {
			t.Errorf("%d writes, told %q", b.writes, told)
		}
	}
}

// TestDecisionIsComputedFromOurOwnLastWrite, while the cache has not seen it:
// no conflict, and nothing of it is lost.
func TestDecisionIsComputedFromOurOwnLastWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t, waiting("a"))
	b.behind = true
	b.Carry(batch.Plan{At: at(1), Start: []batch.StartDecision{starts("a", 0)}})
	b.work()
	b.Carry(batch.Plan{At: at(2), Finish: []batch.FinishDecision{{ID: id("a"), End: batch.End{State: batch.Completed, Time: at(2)}}}})
	b.work()
	status := b.status("a")
	if b.tries != 2 || len(status.Runs) != 1 || status.Summary.State != string(batch.Completed) {
		t.Errorf("%d tries, status %+v: want its end after its start, in one try each", b.tries, status)
	}
	if len(b.written) != 0 {
		t.Errorf("%d versions are kept of what has ended", len(b.written))
	}
}

// TestOwnWriteOfAnOlderObjectIsForgotten: of a workload that was deleted and
// made again under its name, the new one counts.
func TestOwnWriteOfAnOlderObjectIsForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t, waiting("a"))
	b.Carry(batch.Plan{At: at(1), Start: []batch.StartDecision{starts("a", 0)}})
	b.work()
	b.remove("a")
	again := waiting("a")
	again.UID = "another"
	b.put(again)
	b.Carry(batch.Plan{At: at(2), Start: []batch.StartDecision{starts("a", 0)}})
	b.work()
	if b.status("a").Allocation == nil {
		t.Error("the new one was not started")
	}
	b.mustObserve()
}
