package apply

import (
	"fmt"
	"strconv"
	"time"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// decision is one decision of a plan about one workload: exactly one of the
// pointers is set.
type decision struct {
	at       time.Time
	notify   *batch.NotifyDecision
	relimit  *batch.RelimitDecision
	evict    *batch.EvictDecision
	stop     *batch.StopDecision
	requeue  *batch.RequeueDecision
	finish   *batch.FinishDecision
	start    *batch.StartDecision
	nominate *batch.NominateDecision
	wait     *batch.WaitDecision
	ready    *batch.ReadyDecision
	remember *batch.RememberDecision
}

// decisions sorts a plan by workload, in the order in which it takes effect.
func decisions(plan batch.Plan) map[batch.WorkloadID][]decision {
	out := map[batch.WorkloadID][]decision{}
	add := func(id batch.WorkloadID, d decision) {
		d.at = plan.At
		out[id] = append(out[id], d)
	}
	for i := range plan.Notify {
		add(plan.Notify[i].ID, decision{notify: &plan.Notify[i]})
	}
	for i := range plan.Relimit {
		add(plan.Relimit[i].ID, decision{relimit: &plan.Relimit[i]})
	}
	for i := range plan.Evict {
		add(plan.Evict[i].ID, decision{evict: &plan.Evict[i]})
	}
	for i := range plan.Stop {
		add(plan.Stop[i].ID, decision{stop: &plan.Stop[i]})
	}
	for i := range plan.Requeue {
		add(plan.Requeue[i].ID, decision{requeue: &plan.Requeue[i]})
	}
	for i := range plan.Ready {
		add(plan.Ready[i].ID, decision{ready: &plan.Ready[i]})
	}
	for i := range plan.Finish {
		add(plan.Finish[i].ID, decision{finish: &plan.Finish[i]})
	}
	for i := range plan.Remember {
		add(plan.Remember[i].ID, decision{remember: &plan.Remember[i]})
	}
	for i := range plan.Nominate {
		add(plan.Nominate[i].ID, decision{nominate: &plan.Nominate[i]})
	}
	for i := range plan.Wait {
		add(plan.Wait[i].ID, decision{wait: &plan.Wait[i]})
	}
	for i := range plan.Start {
		add(plan.Start[i].ID, decision{start: &plan.Start[i]})
	}
	return out
}

// refused says why a start must not be written onto a status; empty if it may.
func (d decision) refused(qw *v1alpha1.QueuedWorkload) string {
	if d.start == nil {
		return ""
	}
	restarts := 0
	if qw.Status.Restarts != nil {
		restarts = int(*qw.Status.Restarts)
	}
	switch {
	case qw.DeletionTimestamp != nil:
		return "the workload is being deleted"
	case convert.Finished(qw):
		return "the workload has finished"
	case qw.Status.Allocation != nil:
		return "the workload has an allocation already"
	case restarts != d.start.Run:
		return fmt.Sprintf("the workload was restarted %d times, the start is of run %d", restarts, d.start.Run)
	}
	return ""
}

// record changes a status by the decision.
func (d decision) record(qw *v1alpha1.QueuedWorkload) {
	switch {
	case d.notify != nil:
		convert.RecordNotify(qw, *d.notify)
	case d.relimit != nil:
		convert.RecordRelimit(qw, *d.relimit)
	case d.evict != nil:
		convert.RecordEvict(qw, d.evict.Eviction, d.at)
	case d.stop != nil:
		convert.RecordStop(qw, *d.stop, d.at)
	case d.nominate != nil:
		convert.RecordNominate(qw, *d.nominate)
	case d.requeue != nil:
		convert.RecordRequeue(qw, *d.requeue, d.at)
	case d.finish != nil:
		convert.RecordFinish(qw, d.finish.End, d.at)
	case d.start != nil:
		convert.RecordStart(qw, *d.start, d.at)
	case d.wait != nil:
		convert.RecordWait(qw, *d.wait, d.at)
	case d.ready != nil:
		convert.RecordReady(qw, *d.ready, d.at)
	case d.remember != nil:
		convert.RecordOutcomes(qw, d.remember.Outcomes)
	}
}

// older says whether a version is older than another of the same object.
// Resource versions of one object are comparable as numbers.
func older(a, b *v1alpha1.QueuedWorkload) bool {
	x, errX := strconv.ParseUint(a.ResourceVersion, 10, 64)
	y, errY := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return errX == nil && errY == nil && x < y
}
