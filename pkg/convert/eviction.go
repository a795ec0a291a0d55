package convert

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/explain"
)

// The functions of this file write down how an allocation is taken back, step
// by step, and read it again. Each step is one write, and each can be the last
// that a controller has made before it died:
//
//	Admitted ─RecordEvict─► noticed ─RecordStop─► stopped ─┬─RecordRequeue─► Pending
//	                           │                     ▲     └─RecordFinish──► Finished
//	                           └─ delivery term ─────┘
//
// The preemptor's nomination is written before the first of its victims has its
// notice (pkg/apply sees to the order), so that no notice is without a reason
// that survives.

// RecordEvict writes that an allocation is being taken back. It stays charged
// until the pods are gone.
func RecordEvict(qw *v1alpha1.QueuedWorkload, eviction batch.Eviction, at time.Time) {
	if qw.Status.Allocation == nil {
		return // it has been taken back already
	}
	n := notice(eviction.Notice)
	n.For, n.StopTime, n.Then = string(eviction.For), timestamp(eviction.Stopped), string(eviction.Final)
	if n.Then == "" {
		n.Then = string(batch.Requeued)
	}
	qw.Status.Notice = n
	tellEviction(qw, &eviction, at)
}

// tellEviction says in the condition and in the summary how far it has come.
func tellEviction(qw *v1alpha1.QueuedWorkload, e *batch.Eviction, at time.Time) {
	message := explain.Eviction(*e)
	set(qw, v1alpha1.ConditionEvicted, metav1.ConditionTrue, string(e.Cause), message, at)
	qw.Status.Summary = summary(qw, StateStopping, string(e.Cause), message)
	qw.Status.Summary.Until = text(&qw.Status.Notice.Until)
}

// RecordStop writes that the grace of an evicted workload is over, or that all
// its pods have acknowledged the notice: its owner is suspended.
func RecordStop(qw *v1alpha1.QueuedWorkload, decision batch.StopDecision, at time.Time) {
	is := eviction(qw)
	if is == nil || !is.Stopped.IsZero() {
		return
	}
	is.Stopped = decision.At
	qw.Status.Notice.StopTime = timestamp(decision.At)
	tellEviction(qw, is, at)
}

// RecordNotify writes that a workload was told of its deadline.
func RecordNotify(qw *v1alpha1.QueuedWorkload, decision batch.NotifyDecision) {
	if qw.Status.Allocation != nil && !Evicted(qw) {
		qw.Status.Notice = notice(decision.Notice)
	}
}

// RecordRelimit writes which walltime the deadline of a run answers, and the
// deadline, where that is another one. A notice of the one before holds no longer.
func RecordRelimit(qw *v1alpha1.QueuedWorkload, decision batch.RelimitDecision) {
	held := qw.Status.Allocation
	if held == nil || Evicted(qw) || Restarts(qw) != decision.Run {
		return
	}
	held.Walltime = declared(decision.Walltime)
	if decision.Refused != "" {
		return
	}
	held.Deadline = timestamp(decision.Deadline)
	qw.Status.Notice = nil
	if s := qw.Status.Summary; s != nil {
		s.Until = text(held.Deadline)
	}
}

// declared is a walltime as an allocation says it.
func declared(w batch.Walltime) *v1alpha1.WorkloadWalltime {
	return new(v1alpha1.WorkloadWalltime(batch.FormatWalltime(w)))
}

// unanswered says whether the walltime of a run was edited and its deadline does
// not follow from that yet: whoever was about to see to it may have died.
func unanswered(declared batch.Walltime, held *v1alpha1.Allocation) bool {
	return held != nil && held.Walltime != nil && string(*held.Walltime) != batch.FormatWalltime(declared)
}

// RecordNominate writes that a placement is kept for a waiting workload, or no
// longer.
func RecordNominate(qw *v1alpha1.QueuedWorkload, decision batch.NominateDecision) {
	if decision.Nomination == nil || qw.Status.Allocation != nil {
		qw.Status.Nomination = nil
		return
	}
	in := decision.Nomination
	out := &v1alpha1.WorkloadNomination{
		Cause: string(in.Cause), Since: metav1.NewTime(in.Since), Allocation: *Allocation(in.Allocation),
	}
	for _, victim := range in.Victims {
		out.Victims = append(out.Victims, string(victim))
	}
	qw.Status.Nomination = out
}

func notice(in batch.Notice) *v1alpha1.WorkloadNotice {
	return &v1alpha1.WorkloadNotice{
		Cause: string(in.Cause), By: Cut(in.By, byMax), Time: metav1.NewTime(in.Time), Until: metav1.NewTime(in.Until),
	}
}

// eviction reads back how far the taking back of an allocation has come; nil if
// nobody takes it.
func eviction(qw *v1alpha1.QueuedWorkload) *batch.Eviction {
	c := meta.FindStatusCondition(qw.Status.Conditions, v1alpha1.ConditionEvicted)
	if c == nil || c.Status != metav1.ConditionTrue || qw.Status.Allocation == nil {
		return nil
	}
	n := qw.Status.Notice
	if n == nil { // of a version that gave none: it was suspended at once
		return batch.EvictedAtOnce(batch.Notice{Cause: batch.Cause(c.Reason), Time: c.LastTransitionTime.UTC(), By: c.Message})
	}
	out := &batch.Eviction{Notice: *readNotice(n), For: batch.WorkloadID(n.For), Stopped: instant(n.StopTime)}
	if final := batch.EndState(n.Then); final != batch.Requeued {
		out.Final = final
	}
	return out
}

func readNotice(in *v1alpha1.WorkloadNotice) *batch.Notice {
	return &batch.Notice{Cause: batch.Cause(in.Cause), By: in.By, Time: in.Time.UTC(), Until: in.Until.UTC()}
}

// nomination reads back the placement that is kept for a preemptor.
func nomination(in *v1alpha1.WorkloadNomination) *batch.Nomination {
	if in == nil {
		return nil
	}
	out := &batch.Nomination{Allocation: *allocation(&in.Allocation), Cause: batch.Cause(in.Cause), Since: in.Since.UTC()}
	for _, victim := range in.Victims {
		out.Victims = append(out.Victims, batch.WorkloadID(victim))
	}
	return out
}

// Evicted says whether a workload's allocation is being taken back.
func Evicted(qw *v1alpha1.QueuedWorkload) bool {
	return qw.Status.Allocation != nil && meta.IsStatusConditionTrue(qw.Status.Conditions, v1alpha1.ConditionEvicted)
}

// LastEviction is why the run before this one was taken back; empty: none was.
func LastEviction(qw *v1alpha1.QueuedWorkload) string {
	last := len(qw.Status.Runs) - 1
	if last < 0 {
		return ""
	}
	return qw.Status.Runs[last].Cause
}

// RunWords says why a run was taken back.
func RunWords(run v1alpha1.WorkloadRun) string {
	was := batch.Eviction{Notice: batch.Notice{Cause: batch.Cause(run.Cause), By: run.By}, Meanwhile: run.Meanwhile}
	return was.Words()
}

// Stopped says whether the owner of an evicted workload is to be suspended: its
// grace is over, or all its pods have acknowledged, or it has none.
func Stopped(qw *v1alpha1.QueuedWorkload) bool {
	return Evicted(qw) && (qw.Status.Notice == nil || qw.Status.Notice.StopTime != nil)
}

// EndedByUs says whether a workload ended because it was taken back for good:
// its owner has not ended by itself, and must never run again.
func EndedByUs(qw *v1alpha1.QueuedWorkload) bool {
	c := meta.FindStatusCondition(qw.Status.Conditions, v1alpha1.ConditionFinished)
	if c == nil || c.Status != metav1.ConditionTrue {
		return false
	}
	return c.Reason == string(batch.Preempted) || c.Reason == string(batch.Cancelled) || c.Reason == string(batch.NodeFailed)
}
