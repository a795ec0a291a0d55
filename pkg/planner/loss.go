package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// loss is the eviction of a run under which a node is lost, or of which somebody
// else has ended a pod: a node that shuts down, whoever drains it; nil: none is.
// All of it is stopped at once: what is left of a gang waits for a member that
// does not come back, and until it is stopped the end of that member would count
// as its failure.
func (p *pass) loss(s *batch.Started) *batch.Eviction {
	cause, by := p.hurt(s)
	if cause == "" {
		return nil
	}
	e := batch.EvictedAtOnce(batch.Notice{Cause: cause, By: by, Time: p.now})
	if s.Workload.NoRequeue || s.Owner != nil && s.Owner.Fixed {
		if e.Final = batch.NodeFailed; cause == batch.CauseDrained {
			e.Final = batch.Preempted
		}
	}
	return e
}

// hurt is what has happened to a part of a run, from outside; empty: nothing.
func (p *pass) hurt(s *batch.Started) (cause batch.Cause, by string) {
	switch {
	case s.Lost != "":
		return batch.CauseNodeLost, p.lossOf(s.Lost)
	case s.Disrupted != nil:
		return s.Disrupted.Cause(), s.Disrupted.Words()
	}
	return "", ""
}

// withMeanwhile is an eviction with what has happened to the run since its notice,
// from outside.
func (p *pass) withMeanwhile(s *batch.Started, e *batch.Eviction) *batch.Eviction {
	_, by := p.hurt(s)
	if by == "" || by == e.By { // it was taken back for just that
		return e
	}
	told := *e
	told.Meanwhile = by
	return &told
}

// lossOf says in words what happened to a node that is lost.
func (p *pass) lossOf(name batch.NodeName) string {
	_, known := slices.BinarySearchFunc(p.Nodes, name, func(v *batch.NodeView, name batch.NodeName) int {
		return cmp.Compare(v.Node.Name, name)
	})
	if !known {
		return fmt.Sprintf("node %s was deleted", name)
	}
	return fmt.Sprintf("node %s was not ready for %s", name, batch.FormatDuration(p.Policy.NodeTimeoutOf()))
}

// wakeAtLosses wakes when a node that is not ready now will be lost.
func (p *pass) wakeAtLosses() {
	for _, view := range p.Nodes {
		if !view.LostAt.IsZero() {
			p.wake(ceil(view.LostAt))
		}
	}
}
