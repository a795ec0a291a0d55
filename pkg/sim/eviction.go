package sim

import (
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// evict gives a run its notice: the owner is suspended, and its pods have until
// the end of the grace. It says whether they are gone at once.
func (w *world) evict(d batch.EvictDecision) (gone bool) {
	j := w.jobs[d.ID]
	e := d.Eviction
	j.workload.Eviction = &e
	if e.Cause == batch.CauseNodeLost {
		w.disturbed = w.now
	}
	j.evictions++
	j.notices, j.cause, j.by = append(j.notices, w.now), e.Cause, e.For
	w.meter.evictions++
	grace := e.Until.Sub(e.Time)
	w.log(EventNotice, d.ID, NoticeDetail{Cause: e.Cause, By: e.By, Grace: batch.FormatDuration(grace)})
	j.owner = batch.Owner{Suspended: true}
	w.step(batch.OwnerObserved{ID: d.ID, Owner: j.owner})
	after := j.exitsAfter(grace)
	if after == 0 {
		w.leave(j)
		return true
	}
	for i := range j.pods {
		j.pods[i].GoneBy = e.Until
		w.step(batch.PodObserved{Pod: j.pods[i]})
	}
	run := j.starts
	w.agenda.add(w.now+after, causeEnd, func() {
		if j.starts == run && !j.ended && !j.left {
			w.doing = "end of the grace of " + string(d.ID)
			w.leave(j)
		}
	})
	return false
}

// savesAtNotice says whether a job has the time to save when it is told.
func (j *job) savesAtNotice(grace time.Duration) bool {
	return j.spec.Saves != nil && !j.spec.Ignores && grace >= j.spec.Saves.Save
}

// exitsAfter is how long after a notice the pods of a job are gone.
func (j *job) exitsAfter(grace time.Duration) time.Duration {
	if j.spec.Ignores {
		return grace
	}
	after := j.spec.ExitsAfter
	if j.savesAtNotice(grace) {
		after = max(after, j.spec.Saves.Save)
	}
	return min(after, grace)
}

// abandon ends what still stands of an evicted run that nobody waits for any
// more: the nodes it stands on are lost.
func (w *world) abandon(j *job) {
	if j.workload.Eviction != nil && !j.left {
		w.leave(j)
	}
}

// leave is the end of an evicted run: its pods are gone, or left on nodes that
// can't end them.
func (w *world) leave(j *job) {
	j.left = true
	e := j.workload.Eviction
	kept := j.keeps(e, w.lastSign(j))
	lost := w.now - j.started - (kept - j.kept)
	j.lost += lost
	j.kept = kept
	j.state = string(batch.Requeued)
	w.ran(j)
	w.meter.left(j, lost)
	w.log(EventEvict, j.workload.ID, EvictDetail{Cause: e.Cause, By: e.By, Requeued: e.Final == ""})
	w.dropPods(j)
}

// keeps is the progress that survives the end of a run.
func (j *job) keeps(e *batch.Eviction, end time.Duration) time.Duration {
	saves := j.spec.Saves
	if saves == nil {
		return 0
	}
	told := j.notices[len(j.notices)-1]
	if e.Cause != batch.CauseNodeLost && j.savesAtNotice(e.Until.Sub(e.Time)) && end >= told+saves.Save {
		return j.progress(told)
	}
	if saves.Every <= 0 {
		return j.kept
	}
	return max(j.kept, j.progress(end).Truncate(saves.Every))
}

// progress is how far a job is at a time of its run.
func (j *job) progress(at time.Duration) time.Duration {
	return j.kept + max(0, at-j.started-j.resume())
}

// resume is what a run takes before it goes on from what was saved.
func (j *job) resume() time.Duration {
	if j.kept == 0 {
		return 0
	}
	return j.spec.Saves.Resume
}

// requeue lets an evicted job wait again.
func (w *world) requeue(d batch.RequeueDecision) {
	j := w.jobs[d.ID]
	w.abandon(j)
	j.workload.Restarts, j.workload.RequeueAfter = d.Restarts, d.RequeueAfter
	j.workload.Allocation, j.workload.Eviction = nil, nil
	j.workload.Promise, j.workload.PodsReady, j.workload.LastVerdict = time.Time{}, nil, nil
	j.workload.ReadySince = time.Time{}
	j.state = "Pending"
}

// finish puts the end of a job on record; that of an evicted one is decided
// only now.
func (w *world) finish(d batch.FinishDecision) {
	j := w.jobs[d.ID]
	w.abandon(j)
	end := d.End
	j.workload.Finished = &end
	if !j.ended {
		j.ended, j.state, j.lastEnd = true, string(end.State), w.now
		w.open--
		w.meter.gone(j)
		w.log(EventEnd, d.ID, EndDetail{State: j.state})
	}
	if j.spec.FromTrace {
		w.forget(j)
	}
}
