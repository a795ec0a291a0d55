package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// ahead counts the higher-ranked planned starts on nodes that the contender
// could use.
func (v *verdicts) ahead(c *contender, index int, facts *batch.Facts) {
	for _, other := range v.p.order[:index] {
		if v.heads == nil {
			break
		}
		if v.inTurn(c, other) && !other.starts(v.p) {
			facts.Bound, facts.First = boundTurn, nameOf(other.workload())
			return
		}
	}
	crowd := v.crowdBefore(c, index)
	if facts.Ahead = crowd.size; crowd.size > 0 {
		facts.First, facts.FirstAt = nameOf(crowd.first.workload()), timeOf(crowd.first.start())
	}
	if crowd.byQuota {
		facts.Bound = boundQuota // on others
	}
}

// crowd is who of the order, up to an index, has a planned start on nodes that
// a request could use, or by the quotas that it needs.
type crowd struct {
	index   int
	mine    []bool // the nodes
	size    int
	first   *contender
	byQuota bool
}

// crowdBefore is the crowd before a contender. Equal requests have the same, and
// are asked for in order: only those in between are looked at.
func (v *verdicts) crowdBefore(c *contender, index int) *crowd {
	known := v.crowds[c.key.shape]
	if known == nil || known.index > index {
		known = &crowd{mine: make([]bool, len(v.p.Nodes))}
		v.crowds[c.key.shape] = known
		for _, o := range c.options {
			for _, s := range o.sets {
				for _, node := range s.Nodes {
					known.mine[node] = true
				}
			}
		}
	}
	for _, other := range v.p.order[known.index:index] {
		if !other.placed() || other.starts(v.p) {
			continue
		}
		onNodes := slices.ContainsFunc(other.place.Seats, func(s timeline.Seat) bool { return known.mine[s.Node] })
		if !onNodes && !v.p.meetsQuota(c, other) {
			continue
		}
		if known.size++; known.first == nil {
			known.first = other
		}
		known.byQuota = known.byQuota || !onNodes
	}
	known.index = index
	return known
}

// boundTurn says that nothing overtakes.
const boundTurn = "Strict"

// inTurn says whether one waits for the turn of another before it in its queue.
func (v *verdicts) inTurn(c, other *contender) bool {
	return v.p.Policy.Backfill == batch.BackfillStrict && c.queue == other.queue && c.claim != other.claim
}

// pass notes, on the way through the order, that a record has been looked at.
func (v *verdicts) pass(c *contender) {
	if v.heads != nil && v.heads[c.queue.Name] == nil && !c.starts(v.p) {
		v.heads[c.queue.Name] = c
	}
}

// behind says whether others of its queue wait before a contender that has no
// planned start, where nothing overtakes.
func (v *verdicts) behind(c *contender) bool {
	head := v.heads[c.queue.Name]
	return head != nil && head.claim != c.claim
}
