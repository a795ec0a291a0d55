package planner

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// How long a workload that could not be started waits before the next try:
// doubled after each, up to about half an hour.
const (
	requeueDelay       = 30 * time.Second
	requeueDoublingMax = 6
)

// expire decides about what holds an allocation: what has ended, what is taken
// back, what waits again. Those that wait again are looked at in this plan.
func (p *pass) expire() {
	p.waiting = slices.Clip(p.Waiting)
	if slices.ContainsFunc(p.strangers, isOver) {
		p.waiting = make([]*batch.Waiting, 0, len(p.Waiting))
		for _, w := range p.Waiting {
			switch {
			case !isOver(w):
				p.waiting = append(p.waiting, w)
			case w.Owner.End != nil:
				p.finish(w.Workload, w.Owner)
			default:
				p.cancel(w.Workload)
			}
		}
	}
	p.carryOn()
	p.wakeAtLosses()
	again := false
	for _, s := range p.Started {
		if s.Owner != nil && s.Owner.End != nil {
			p.finish(s.Workload, endOfRun(s))
			continue
		}
		p.plan.Stats.Running++
		if s.Workload.Eviction == nil {
			p.watch(s)
		} else {
			again = p.retire(s) || again
		}
	}
	again = again || len(p.leaving) > 0
	if again {
		slices.SortFunc(p.waiting, func(a, b *batch.Waiting) int { return batch.CompareRank(a.Workload, b.Workload) })
	}
}

// isOver says whether one that waits has ended, as its owner ran without us, or
// its user has cancelled it.
func isOver(w *batch.Waiting) bool {
	return w.Owner != nil && (w.Owner.End != nil || w.Owner.Cancel != nil)
}

func (p *pass) finish(w *batch.Workload, owner *batch.Owner) {
	p.plan.Finish = append(p.plan.Finish, batch.FinishDecision{ID: w.ID, End: *owner.End})
}

// watch looks after a run that is not being taken back.
func (p *pass) watch(s *batch.Started) {
	if e := p.loss(s); e != nil {
		p.evict(s, *e)
		return
	}
	if e, taken := p.taken[s.Workload.ID]; taken {
		p.evict(s, e)
		return
	}
	if cause, by := p.fault(s); cause != "" {
		p.evict(s, *batch.EvictedAtOnce(batch.Notice{Cause: cause, Time: p.now, By: by}))
		return
	}
	if e := p.wish(s); e != nil {
		p.evict(s, *e)
		return
	}
	if s.Workload.Relimited {
		p.relimit(s)
	} else {
		p.foretell(s)
	}
	needs := s.Needs()
	if needs == 0 {
		return
	}
	was := s.Workload.PodsReady != nil && *s.Workload.PodsReady
	// A pod that has succeeded is as good as a ready one for a run that was
	// ready: else each of many completions would make the run unready for a
	// moment.
	ready := s.Ready >= needs || (was && s.Ready+s.Ended() >= needs)
	heldBy := s.HeldBy
	if ready {
		heldBy = ""
	}
	if ready && s.Workload.ReadySince.IsZero() {
		p.ready[s.Workload.ID] = true
	}
	if ready != was || heldBy != s.Workload.HeldBy {
		p.plan.Ready = append(p.plan.Ready, batch.ReadyDecision{ID: s.Workload.ID, Ready: ready, HeldBy: heldBy})
	}
}

// fault says why a run must be taken back; empty: it need not.
func (p *pass) fault(s *batch.Started) (cause batch.Cause, by string) {
	if s.Refused != "" {
		return batch.CauseStartTimeout, s.Refused
	}
	if s.Suspended && s.Owner.Paused && !s.Owner.Suspended {
		return batch.CauseSuspended, "its owner asks for 0 pods"
	}
	if s.Suspended {
		return batch.CauseSuspended, "somebody suspended its owner while it ran"
	}
	if s.Owner != nil && s.Owner.Fixed || p.Policy.StartTimeout <= 0 {
		return "", "" // it can't be started again; its late start is waited for
	}
	if s.Workload.PodsReady != nil {
		return p.lost(s)
	}
	needs := s.Needs()
	limit := s.Workload.Allocation.Start.Add(p.Policy.StartTimeout)
	if s.Live+s.Ended() >= needs {
		return "", ""
	}
	if p.now.Before(limit) {
		p.wake(limit)
		return "", ""
	}
	text := fmt.Sprintf("%d of %d pods were not bound to a node within %s of the start",
		needs-s.Live, needs, batch.FormatDuration(p.Policy.StartTimeout))
	if s.HeldBy != "" {
		text += "; " + s.HeldBy
	}
	return batch.CauseStartTimeout, text
}

// lost says why a run that was ready must be taken back: a pod that replaces a
// lost one can't go to its place, because the node is gone or takes nothing new.
// A gang that can't be whole again would run in part until its deadline. A pod
// that does not exist is another matter: its owner makes it again in its time.
func (p *pass) lost(s *batch.Started) (cause batch.Cause, by string) {
	since := s.Workload.HeldSince
	if *s.Workload.PodsReady || s.HeldBy == "" || since.IsZero() {
		return "", ""
	}
	if limit := since.Add(p.Policy.StartTimeout); p.now.Before(limit) {
		p.wake(limit)
		return "", ""
	}
	return batch.CauseStartTimeout, fmt.Sprintf("a pod that was lost could not be replaced within %s; %s",
		batch.FormatDuration(p.Policy.StartTimeout), s.HeldBy)
}

// evict takes an allocation back. If no pod was ever made there is nothing to
// wait for, and it waits again at once.
func (p *pass) evict(s *batch.Started, e batch.Eviction) {
	p.plan.Evict = append(p.plan.Evict, batch.EvictDecision{ID: s.Workload.ID, Eviction: e})
	p.evicting[s.Workload.ID] = e.GoneBy(termination(s))
	if e.Stopped.IsZero() {
		p.wake(ceil(e.Until))
	}
	if s.Live == 0 && !s.Gone.After(p.now) && p.mayRequeue(s) {
		p.takeLeave(s, &e)
	}
}

// mayRequeue says whether an evicted run can make no more pods. An owner that
// was not seen proves nothing.
func (p *pass) mayRequeue(s *batch.Started) bool {
	return s.Owner != nil && (s.Owner.Suspended || !s.Released)
}

// requeue lets a workload wait again, in this plan already.
func (p *pass) requeue(s *batch.Started, e *batch.Eviction) {
	w := *s.Workload
	d := batch.RequeueDecision{ID: w.ID, Restarts: w.Restarts + 1, Meanwhile: e.Meanwhile}
	if delay := p.delayOf(&w, e.Cause); delay > 0 {
		d.RequeueAfter = p.now.Add(delay)
	}
	p.plan.Requeue = append(p.plan.Requeue, d)
	p.plan.Stats.Running--
	p.leaving[w.ID] = true

	w.Restarts, w.RequeueAfter = d.Restarts, d.RequeueAfter
	w.Allocation, w.Eviction, w.PodsReady, w.LastVerdict = nil, nil, nil, nil
	w.Notice, w.ReadySince = nil, time.Time{}
	w.TakenBack, w.HeldBy, w.HeldSince = e.Words(), "", time.Time{}
	w.Promise = time.Time{}
	p.waiting = append(p.waiting, &batch.Waiting{Workload: &w, Owner: s.Owner, Shape: batch.Shape(w.PodSets)})
}
