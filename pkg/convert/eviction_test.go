package convert_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

func preempted(minute int) batch.Eviction {
	return batch.Eviction{
		Notice: batch.Notice{Cause: batch.CausePreempted, By: "team/urgent", Time: at(minute), Until: at(minute + 2)},
		For:    "team/job-urgent-1",
	}
}

// TestB52TheTraceOfAPreemption: whoever looks at the record afterwards finds by
// whom it was taken back, when, and that it did not fail.
func TestB52TheTraceOfAPreemption(t *testing.T) {
	t.Parallel()
	qw := gang()
	convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation()}, at(10))
	convert.RecordReady(qw, batch.ReadyDecision{Ready: true}, at(11))
	convert.RecordEvict(qw, preempted(20), at(20))
	want := &v1alpha1.WorkloadNotice{
		Cause: "Preempted", By: "team/urgent", For: "team/job-urgent-1", Time: metav1.NewTime(at(20)), Until: metav1.NewTime(at(22)), Then: "Requeued",
	}
	if diff := cmp.Diff(want, qw.Status.Notice); diff != "" {
		t.Errorf("notice (-want +got):\n%s", diff)
	}
	if s := qw.Status.Summary; s.State != "Stopping" || s.Reason != "Preempted" {
		t.Errorf("summary %s %s, want Stopping Preempted", s.State, s.Reason)
	}
	if convert.Stopped(qw) {
		t.Error("it is stopped before its grace is over")
	}
	convert.RecordStop(qw, batch.StopDecision{At: at(21)}, at(21))
	if !convert.Stopped(qw) {
		t.Error("it is not stopped")
	}
	convert.RecordRequeue(qw, batch.RequeueDecision{Restarts: 1}, at(23))
	runs := []v1alpha1.WorkloadRun{{
		Start: metav1.NewTime(at(10)), End: metav1.NewTime(at(23)), State: "Requeued",
		Notice: &metav1.Time{Time: at(20)}, Cause: "Preempted", By: "team/urgent",
	}}
	if diff := cmp.Diff(runs, qw.Status.Runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if c := meta.FindStatusCondition(qw.Status.Conditions, v1alpha1.ConditionPending); !strings.Contains(c.Message, "preempted by team/urgent") {
		t.Errorf("it waits and says %q", c.Message)
	}
	if qw.Status.Notice != nil || convert.LastEviction(qw) != "Preempted" {
		t.Errorf("notice %v, last eviction %q", qw.Status.Notice, convert.LastEviction(qw))
	}
}

func TestOneThatMayNotWaitAgainEndsAsPreempted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		end     batch.EndState
		cause   string
		byUs    bool
		notices bool
	}{
		{"its pods are gone", batch.Preempted, "Preempted", true, true},
		{"it has completed within its grace", batch.Completed, "", false, false},
	} {
		qw := gang()
		convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation()}, at(10))
		eviction := preempted(20)
		eviction.Final = batch.Preempted
		convert.RecordEvict(qw, eviction, at(20))
		convert.RecordFinish(qw, batch.End{State: test.end, Time: at(21)}, at(21))
		run := qw.Status.Runs[0]
		if run.State != string(test.end) || run.Cause != test.cause || (run.Notice != nil) != test.notices || convert.EndedByUs(qw) != test.byUs {
			t.Errorf("%s: run %+v, ended by us %v", test.name, run, convert.EndedByUs(qw))
		}
	}
}

// A version that gave no notices suspended at once; what it had begun is
// carried on.
func TestAnEvictionWithoutANoticeIsCarriedOn(t *testing.T) {
	t.Parallel()
	qw := gang()
	convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation()}, at(10))
	convert.RecordEvict(qw, preempted(20), at(20))
	qw.Status.Notice = nil
	if got := convert.Workload(qw).Eviction; got == nil || got.Stopped.IsZero() || !convert.Stopped(qw) {
		t.Errorf("it reads back as %+v", got)
	}
}

// TestDecisionsOfAnEvictionAreReadBack: after any sequence of decisions, what is
// read from the status is what a core that never died would hold.
func TestDecisionsOfAnEvictionAreReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		qw := gang()
		var w memory
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			now := at(step + 1)
			w.decide(t, qw, now)
			got := convert.Workload(qw)
			if diff := cmp.Diff(w.asRead(), asRead(got)); diff != "" {
				t.Fatalf("step %d (-held +read):\n%s", step, diff)
			}
		}
	})
}

// memory is what a core holds of the decisions about one workload.
type memory struct{ batch.Workload }

// read is the part of a workload that decisions make.
type read struct {
	Restarts   int
	Allocation *batch.Allocation
	Eviction   *batch.Eviction
	Nomination *batch.Nomination
	Notice     *batch.Notice
	ReadySince time.Time
	TakenBack  string
	Finished   bool
}

func asRead(w batch.Workload) read {
	return read{w.Restarts, w.Allocation, w.Eviction, w.Nomination, w.Notice, w.ReadySince, w.TakenBack, w.Finished != nil}
}

func (m *memory) asRead() read { return asRead(m.Workload) }

// decide takes one decision that is possible now, in both worlds.
func (m *memory) decide(t *rapid.T, qw *v1alpha1.QueuedWorkload, now time.Time) {
	chance := rapid.IntRange(0, 2).Draw(t, "chance")
	switch {
	case m.Finished != nil:
	case m.Allocation == nil && chance == 0:
		m.nominate(t, qw, now)
	case m.Allocation == nil:
		allocation := someAllocation()
		allocation.Start = now
		convert.RecordStart(qw, batch.StartDecision{Allocation: allocation}, now)
		m.Allocation, m.Nomination, m.Notice, m.ReadySince, m.TakenBack = &allocation, nil, nil, time.Time{}, ""
	case m.Eviction == nil && chance == 0:
		ready := rapid.Bool().Draw(t, "ready")
		convert.RecordReady(qw, batch.ReadyDecision{Ready: ready}, now)
		if ready && m.ReadySince.IsZero() {
			m.ReadySince = now
		}
	case m.Eviction == nil && chance == 1:
		n := batch.Notice{Cause: batch.CauseWalltime, By: "its walltime", Time: now, Until: now.Add(time.Minute)}
		convert.RecordNotify(qw, batch.NotifyDecision{Notice: n})
		m.Notice = &n
	case m.Eviction == nil:
		m.evict(t, qw, now)
	case m.Eviction.Stopped.IsZero():
		convert.RecordStop(qw, batch.StopDecision{At: now}, now)
		m.Eviction.Stopped = now
	case m.Eviction.Final != "":
		end := batch.End{State: m.Eviction.Final, Time: now}
		convert.RecordFinish(qw, end, now)
		m.Finished = &end
	default:
		convert.RecordRequeue(qw, batch.RequeueDecision{Restarts: m.Restarts + 1}, now)
		m.TakenBack = m.Eviction.Words()
		m.Restarts++
		m.Allocation, m.Eviction, m.Notice, m.ReadySince = nil, nil, nil, time.Time{}
	}
}

func (m *memory) nominate(t *rapid.T, qw *v1alpha1.QueuedWorkload, now time.Time) {
	m.Nomination = nil
	if rapid.Bool().Draw(t, "nominated") {
		allocation := someAllocation()
		allocation.Start, allocation.Via, allocation.Planned = now.Add(time.Minute), batch.ViaPreemption, time.Time{}
		m.Nomination = &batch.Nomination{
			Allocation: allocation, Victims: []batch.WorkloadID{"team/a", "team/b"}, Cause: batch.CauseReclaimed, Since: now,
		}
	}
	convert.RecordNominate(qw, batch.NominateDecision{Nomination: m.Nomination})
}

func (m *memory) evict(t *rapid.T, qw *v1alpha1.QueuedWorkload, now time.Time) {
	e := batch.Eviction{
		Notice: batch.Notice{
			Cause: rapid.SampledFrom([]batch.Cause{batch.CausePreempted, batch.CauseStartTimeout, batch.CauseDrained, batch.CauseCancelled}).Draw(t, "cause"),
			By:    rapid.SampledFrom([]string{"", "team/urgent"}).Draw(t, "by"),
			Time:  now, Until: now.Add(time.Minute),
		},
		For:   rapid.SampledFrom([]batch.WorkloadID{"", "team/urgent"}).Draw(t, "for"),
		Final: rapid.SampledFrom([]batch.EndState{"", batch.Preempted, batch.Cancelled}).Draw(t, "final"),
	}
	if rapid.Bool().Draw(t, "at once") {
		e.Stopped = now
	}
	convert.RecordEvict(qw, e, now)
	m.Eviction, m.Notice = &e, nil
}

// TestALossInTheGraceStandsBesideTheCause, and is read back with it.
func TestALossInTheGraceStandsBesideTheCause(t *testing.T) {
	t.Parallel()
	qw := gang()
	convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation()}, at(10))
	convert.RecordEvict(qw, *batch.EvictedAtOnce(batch.Notice{Cause: batch.CausePreempted, By: "team/urgent", Time: at(20)}), at(20))
	convert.RecordRequeue(qw, batch.RequeueDecision{Restarts: 1, Meanwhile: "node n1 was not ready for 1m"}, at(23))
	run := qw.Status.Runs[0]
	if run.Cause != "Preempted" || run.By != "team/urgent" || run.Meanwhile != "node n1 was not ready for 1m" {
		t.Errorf("the last run: %+v", run)
	}
	const words = "preempted by team/urgent; meanwhile node n1 was not ready for 1m"
	if got := qw.Status.Summary.Message; got != "its run 1 was taken back and it waits again at its old place; "+words {
		t.Errorf("said: %s", got)
	}
	if got := convert.Workload(qw).TakenBack; got != words {
		t.Errorf("read back: %s", got)
	}
}
