package planner

import (
	"fmt"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// cancelWords are the message of an end that its user has asked for.
const cancelWords = "its user cancelled it"

// cancel ends what waits, or has no pods any more, because its user wants it.
func (p *pass) cancel(w *batch.Workload) {
	p.plan.Finish = append(p.plan.Finish, batch.FinishDecision{
		ID: w.ID, End: batch.End{State: batch.Cancelled, Time: p.now, Message: cancelWords},
	})
}

// wish says whether somebody wants a run ended: its user, or an admin who wants
// its node empty; nil: nobody does.
func (p *pass) wish(s *batch.Started) *batch.Eviction {
	if s.Owner != nil && s.Owner.Cancel != nil {
		e := p.takenWithGrace(s, batch.Notice{Cause: batch.CauseCancelled, By: "its user"}, *s.Owner.Cancel)
		e.Final = batch.Cancelled
		return &e
	}
	if node := p.drainedUnder(s.Workload); node != "" {
		e := p.takenWithGrace(s, batch.Notice{
			Cause: batch.CauseDrained, By: fmt.Sprintf("node %s has the taint %s", node, batch.DrainTaint),
		}, p.graceOf(s))
		return &e
	}
	return nil
}

// drainedUnder is the first node of a run that an admin wants empty; empty: there
// is none, or its pods tolerate that.
func (p *pass) drainedUnder(w *batch.Workload) batch.NodeName {
	if p.drained == nil {
		p.drained = map[batch.NodeName]batch.Taint{}
		for _, view := range p.Nodes {
			for _, taint := range view.Node.Taints {
				if taint.Key == batch.DrainTaint {
					p.drained[view.Node.Name] = taint
				}
			}
		}
	}
	if len(p.drained) == 0 {
		return ""
	}
	for i, placement := range w.Allocation.PodSets {
		for _, host := range placement.Hosts {
			taint, drained := p.drained[host]
			if drained && (i >= len(w.PodSets) || !batch.Tolerates(w.PodSets[i].Tolerations, []batch.Taint{taint})) {
				return host
			}
		}
	}
	return ""
}

// carryOn gives the notices that a controller which died could not give: to the
// victims of a nomination that is on record. A run that began after it is
// another one, and so is one of the same second: nobody is a victim in the second
// of his start.
func (p *pass) carryOn() {
	for _, w := range p.strangers {
		n := w.Workload.Nomination
		if n == nil || isOver(w) {
			continue
		}
		for _, id := range n.Victims {
			s := p.startedOf(id)
			if s == nil {
				continue
			}
			if _, taken := p.taken[id]; taken || s.Workload.Eviction != nil || !s.Workload.Allocation.Start.Before(n.Since) {
				continue
			}
			if p.taken == nil {
				p.taken = map[batch.WorkloadID]batch.Eviction{}
			}
			p.taken[id] = p.pushOut(s, w.Workload, n.Cause)
		}
	}
}

// foretell gives the notice of the deadline, as long before as was asked for.
func (p *pass) foretell(s *batch.Started) {
	w := s.Workload
	deadline := w.Allocation.Deadline
	if w.Checkpoint.Lead <= 0 || deadline.IsZero() || w.Notice != nil {
		return
	}
	if at := deadline.Add(-w.Checkpoint.Lead); p.now.Before(at) {
		p.wake(ceil(at))
		return
	}
	until := deadline
	if q := p.Queues[w.Allocation.Queue]; q != nil {
		until = until.Add(q.Overrun)
	}
	if p.now.Before(until) {
		p.plan.Notify = append(p.plan.Notify, batch.NotifyDecision{
			ID: w.ID, Notice: batch.Notice{Cause: batch.CauseWalltime, By: "its walltime", Time: p.now, Until: until},
		})
	}
}

// joined is a text and what somebody else has to say.
func joined(text, more string) string {
	if more == "" {
		return text
	}
	return text + "; " + more
}

// endOfRun is the end of an owner, seen with what was decided about it. The end
// of a pod that was stopped because it is taken back is no end of its own,
// whatever its exit code: had it been a Job, that would not have counted.
//
// That of a Job in its grace does count: its pods ran on, and Kubernetes counts
// how they end. The record says that it had been told, for whoever wonders why
// half of the work is done (site/design/0013).
func endOfRun(s *batch.Started) *batch.Owner {
	e := s.Workload.Eviction
	if e == nil {
		return s.Owner
	}
	end := *s.Owner.End
	switch ours := s.Owner.Fixed && !e.Stopped.IsZero() && e.Final != ""; {
	case end.State != batch.Completed && end.State != batch.Failed && (end.State == batch.Timeout || !ours):
		return s.Owner
	case ours:
		end.State, end.Message = e.Final, joined(e.Words(), end.Message)
	default:
		after := batch.FormatDuration(max(0, end.Time.Sub(e.Time)).Truncate(time.Second))
		end.Message = joined(fmt.Sprintf("it ended in its grace, %s after its notice (%s), and counts as its pods ended", after, e.Words()), end.Message)
	}
	owner := *s.Owner
	owner.End = &end
	return &owner
}
