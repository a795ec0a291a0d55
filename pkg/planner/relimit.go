package planner

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// relimit is another deadline of a run.
type relimit struct {
	deadline time.Time // zero: none
	later    bool
}

// relimit answers an edit of the walltime of a run: its deadline is its start
// and the walltime as it is now. An edit takes effect at once, and may move
// planned starts later, as a person's may.
func (p *pass) relimit(s *batch.Started) {
	w := s.Workload
	was := w.Allocation.Deadline
	d := batch.RelimitDecision{ID: w.ID, Run: w.Restarts, Walltime: w.Walltime, Deadline: was}
	if deadline, refused := p.deadlineOf(s); refused != "" {
		d.Refused = refused
	} else {
		d.Deadline = deadline
	}
	p.plan.Relimit = append(p.plan.Relimit, d)
	if d.Deadline.Equal(was) {
		return
	}
	if p.relimited == nil {
		p.relimited = map[batch.WorkloadID]relimit{}
	}
	p.relimited[w.ID] = relimit{deadline: d.Deadline, later: isLater(d.Deadline, was)}
}

// isLater compares deadlines, of which zero is none.
func isLater(a, b time.Time) bool {
	return !b.IsZero() && (a.IsZero() || a.After(b))
}

// deadlineOf is the deadline of a run by the walltime that it declares now, or
// why it keeps the one that it has.
func (p *pass) deadlineOf(s *batch.Started) (deadline time.Time, refused string) {
	w := s.Workload
	a := w.Allocation
	q := p.Queues[a.Queue]
	if q == nil {
		return a.Deadline, "its ClusterQueue is gone"
	}
	long, within := longOf(w, q)
	if !within {
		return a.Deadline, fmt.Sprintf("its walltime of %s is above the %s that ClusterQueue %s allows",
			batch.FormatWalltime(w.Walltime), batch.FormatWalltime(q.WalltimeMax), q.Name)
	}
	if long != timeline.Forever {
		deadline = a.Start.Add(time.Duration(long) * time.Second)
	}
	if last := w.EndBefore.Truncate(time.Second); !w.EndBefore.IsZero() && isLater(deadline, last) {
		deadline = last
	}
	if s.Owner != nil && s.Owner.Fixed && isLater(deadline, a.Deadline) {
		return a.Deadline, "the limit of a Pod that runs can only be made shorter"
	}
	return deadline, ""
}

// lengthened names a run whose walltime was edited, so that it goes on where a
// contender was to start; empty: there is none.
func (p *pass) lengthened(c *contender) string {
	if len(p.relimited) == 0 {
		return ""
	}
	for _, s := range p.Started {
		if p.relimited[s.Workload.ID].later && (p.couldUse(c, s.Workload.Allocation) || p.couldPayBy(c, s.Workload.ID)) {
			return nameOf(s.Workload)
		}
	}
	return ""
}

// couldUse says whether a contender could use a node of an allocation.
func (p *pass) couldUse(c *contender, a *batch.Allocation) bool {
	return slices.ContainsFunc(a.PodSets, func(placement batch.Placement) bool {
		return slices.ContainsFunc(placement.Hosts, func(host batch.NodeName) bool {
			node, known := p.fleet.index[host]
			return known && slices.ContainsFunc(c.options, func(o option) bool {
				return slices.ContainsFunc(o.sets, func(set timeline.Set) bool { return set.Takes(node) })
			})
		})
	})
}

// couldPayBy says whether a run takes quota that a contender could use.
func (p *pass) couldPayBy(c *contender, run batch.WorkloadID) bool {
	return p.tree != nil && slices.ContainsFunc(p.Uses, func(u batch.Use) bool {
		return u.By == run && p.payableBy(c, &u)
	})
}
