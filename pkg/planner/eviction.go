package planner

import (
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// The road of a run that is taken back:
//
//	evict: notice, and stopped at once unless its pods are to run on
//	stop:  its grace is over, or all its pods have said that they are done
//	gone:  no pod is left and none can come: it waits again, or has ended

// retire looks after a run that is being taken back. It says whether it waits
// again.
func (p *pass) retire(s *batch.Started) (again bool) {
	e := s.Workload.Eviction
	if e.Stopped.IsZero() {
		_, hurt := p.hurt(s)
		if s.Live > 0 && !s.Acknowledged && hurt == "" && p.now.Before(e.Until) {
			p.wake(ceil(e.Until))
			return false
		}
		p.plan.Stop = append(p.plan.Stop, batch.StopDecision{ID: s.Workload.ID, At: p.now, By: hurt})
	}
	if s.Live > 0 || s.Gone.After(p.now) {
		p.wake(s.Gone)
		return false
	}
	return p.mayRequeue(s) && p.takeLeave(s, e)
}

// takeLeave ends a run of which nothing is left: it waits again (true), or it
// has ended for good.
func (p *pass) takeLeave(s *batch.Started, e *batch.Eviction) (again bool) {
	if s.Owner != nil && s.Owner.Cancel != nil {
		p.cancel(s.Workload)
		p.plan.Stats.Running--
		p.leaving[s.Workload.ID] = true
		return false
	}
	e = p.withMeanwhile(s, e)
	if e.Final == "" {
		p.requeue(s, e)
		return true
	}
	p.plan.Finish = append(p.plan.Finish, batch.FinishDecision{
		ID: s.Workload.ID, End: batch.End{State: e.Final, Time: p.now, Message: e.Words()},
	})
	p.plan.Stats.Running--
	p.leaving[s.Workload.ID] = true
	return false
}

// delayOf is how long a workload waits before it is tried again.
func (p *pass) delayOf(w *batch.Workload, cause batch.Cause) time.Duration {
	switch cause {
	case batch.CauseStartTimeout:
		return requeueDelay << min(w.Restarts, requeueDoublingMax)
	case batch.CausePreempted, batch.CauseReclaimed:
		return p.Policy.RequeueDelay
	case batch.CauseSuspended, batch.CauseCancelled, batch.CauseDrained, batch.CauseNodeLost, batch.CauseWalltime:
	}
	return 0
}

// graceOf is the time that a run has from the notice to the kill.
func (p *pass) graceOf(s *batch.Started) time.Duration {
	if q := p.Queues[s.Workload.Allocation.Queue]; q != nil {
		return q.Preemption.Grace
	}
	return 0
}

// termination is what the pods of a run have of their own, once they are told to
// end; 0: not known.
func termination(s *batch.Started) time.Duration {
	if s.Owner == nil {
		return 0
	}
	return s.Owner.Termination
}

// atOnce says whether the owner of a run is suspended with the notice: its pods
// are told by their termination, or have no time, or are not there.
func atOnce(s *batch.Started, grace time.Duration) bool {
	return s.Workload.Checkpoint.Delivery == batch.DeliverTerm || s.Live == 0 || grace <= 0
}

// goneWithin is how long after its notice a victim is gone at the latest.
func (p *pass) goneWithin(s *batch.Started) time.Duration {
	grace, own := p.graceOf(s), termination(s)
	switch {
	case own <= 0:
		return grace
	case atOnce(s, grace):
		return own
	}
	return grace + own
}

// pushOut is the eviction of a run whose place another takes.
func (p *pass) pushOut(s *batch.Started, by *batch.Workload, cause batch.Cause) batch.Eviction {
	e := p.takenWithGrace(s, batch.Notice{Cause: cause, By: nameOf(by)}, p.graceOf(s))
	e.For = by.ID
	q := p.Queues[s.Workload.Allocation.Queue]
	if q != nil && q.Preemption.Mode == batch.PreemptCancel {
		e.Final = batch.Preempted
	}
	return e
}

// takenWithGrace is an eviction that leaves some time. Where the pods are told
// by their termination, or have no time or are not there, the owner is suspended
// with the notice.
func (p *pass) takenWithGrace(s *batch.Started, n batch.Notice, grace time.Duration) batch.Eviction {
	if own := termination(s); own > 0 && s.Workload.Checkpoint.Delivery == batch.DeliverTerm {
		grace = own // they are told at once, and killed then, whatever was granted
	}
	n.Time, n.Until = p.now, p.now.Add(grace)
	e := batch.Eviction{Notice: n}
	if atOnce(s, grace) {
		e.Stopped = p.now
	}
	// A pod that is a workload of its own can't run a second time.
	if s.Workload.NoRequeue || s.Owner != nil && s.Owner.Fixed {
		e.Final = batch.Preempted
	}
	return e
}

// givesWay says whether a charge is of work that gives back what it holds: it
// is taken back, or its record is gone and its last pods are ending.
func (p *pass) givesWay(c *batch.Charge) bool {
	if c.By == "" || c.Left {
		return c.Left
	}
	is, known := p.whoHolds()[c.By]
	return !known || is.gives
}

// holder is a run that holds something.
type holder struct {
	*batch.Started
	leaves bool      // in this plan
	gives  bool      // back what it holds
	until  time.Time // its grace is
}

// whoHolds are all that hold something, and which of them are giving it back. Who does
// is decided before the first of those that wait is looked at, and must not be asked
// before that.
func (p *pass) whoHolds() map[batch.WorkloadID]holder {
	if p.holders != nil {
		return p.holders
	}
	p.holders = make(map[batch.WorkloadID]holder, len(p.Started))
	for _, s := range p.Started {
		is := holder{Started: s, leaves: p.leaving[s.Workload.ID]}
		if e := s.Workload.Eviction; e != nil {
			is.gives, is.until = true, e.Until
		}
		is.gives = is.gives || is.leaves
		p.holders[s.Workload.ID] = is
	}
	for i := range p.plan.Evict {
		d := &p.plan.Evict[i]
		is := p.holders[d.ID]
		is.gives, is.until = true, d.Eviction.Until
		p.holders[d.ID] = is
	}
	return p.holders
}

// givingWay is a run that is being taken back, and until when its grace is.
func (p *pass) givingWay(id batch.WorkloadID) (s *batch.Started, until time.Time, ok bool) {
	is := p.whoHolds()[id]
	if !is.gives || is.leaves {
		return nil, time.Time{}, false
	}
	return is.Started, is.until, is.Started != nil
}

// gift is what a node gets back, and when.
type gift struct {
	takes batch.Vector
	till  timeline.Time
}

// gifts are what a node gets back from work that gives way.
func (p *pass) gifts(node int) []gift {
	if known, ok := p.given[node]; ok {
		return known
	}
	var out []gift
	charges := p.Nodes[node].Charges
	for i := range charges {
		if c := &charges[i]; p.sits(c) && p.givesWay(c) {
			out = append(out, gift{takes: p.fleet.takes(c), till: p.endOf(c)})
		}
	}
	p.given[node] = out
	return out
}

// refunds are what quotas get back from work that gives way.
type refunds struct {
	all  []quota.Charge
	ends *quota.Ends // of them
}

// refunds are found once in a pass: which work gives way is decided before the
// first of those that wait is looked at.
func (p *pass) refunds() *refunds {
	if p.tree == nil || p.refunded != nil {
		return p.refunded
	}
	r := &refunds{}
	for i, bill := range p.bills() {
		u := &p.Uses[i]
		if !bill.Free() && p.sits(&u.Charge) && p.givesWay(&u.Charge) {
			r.all = append(r.all, quota.Charge{Bill: bill, Till: quota.Time(p.endOf(&u.Charge))})
		}
	}
	r.ends, p.refunded = p.tree.Ends(r.all), r
	return r
}

// last is when the last of them is there that a bill may be paid with; zero: none
// is, or the bill is free.
func (r *refunds) last(b quota.Bill) timeline.Time {
	if b.Free() {
		return 0
	}
	return timeline.Time(r.ends.Last(b))
}

// sits says whether a charge takes anything of its node in this plan.
func (p *pass) sits(c *batch.Charge) bool { return !c.Over(p.now) && (c.Left || !p.leaving[c.By]) }

// takes is what a charge takes of its node.
func (f *fleet) takes(c *batch.Charge) batch.Vector {
	v := f.catalog.Vector(c.Requests)
	f.chargeWhole(v, c.By)
	return v
}
