package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// loss is the eviction of a run under which a node is lost; nil: none is. All of
// it is stopped at once: what is left of a gang waits for a member that does not
// come back, and until it is stopped the end of that member would count as its
// failure.
func (p *pass) loss(s *batch.Started) *batch.Eviction {
	if s.Lost == "" {
		return nil
	}
	e := batch.EvictedAtOnce(batch.Notice{Cause: batch.CauseNodeLost, By: p.lossOf(s.Lost), Time: p.now})
	if s.Workload.NoRequeue || s.Owner != nil && s.Owner.Fixed {
		e.Final = batch.NodeFailed
	}
	return e
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
