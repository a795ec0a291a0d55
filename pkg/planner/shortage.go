package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// room is for how many pods of a gang there is room now, and on how many nodes.
func (p *pass) room(need timeline.Need) (pods, nodes int) {
	for i := range need.Sets {
		m, n := p.line.nodes.Room(&need.Sets[i], need.Long, p.from)
		pods += min(m, need.Sets[i].Pods)
		nodes = max(nodes, n)
	}
	return pods, nodes
}

// enoughInTotal says whether the nodes that would do have, taken together, all
// that the gang asks for.
func (p *pass) enoughInTotal(need timeline.Need) bool {
	free, asked := p.totals(need)
	return free.Pods(asked) > 0
}

// totals are what is free of the nodes that would do, and what is asked for.
// Nodes that are not shared, or where whole ones are asked for are not empty,
// have nothing free.
func (p *pass) totals(need timeline.Need) (free, asked batch.Vector) {
	asked = make(batch.Vector, p.fleet.catalog.Len())
	for i := range need.Sets {
		asked.Sub(need.Sets[i].Each, -need.Sets[i].Pods)
	}
	if w := p.fleet.whole; w >= 0 {
		asked[w] = 0
	}
	if len(need.Sets) != 1 || len(need.Sets[0].Nodes) == 0 {
		return p.freeOf(need), asked
	}
	set := &need.Sets[0]
	key := nodesKey{first: &set.Nodes[0], nodes: len(set.Nodes), whole: set.Spare != nil}
	free, ok := p.free[key]
	if !ok {
		free = p.freeOf(need)
		p.free[key] = free
	}
	return free, asked
}

// nodesKey tells apart lists of nodes that one mask has made.
type nodesKey struct {
	first *int32
	nodes int
	whole bool
}

// freeOf is what is free of the nodes that would do.
func (p *pass) freeOf(need timeline.Need) batch.Vector {
	free := make(batch.Vector, p.fleet.catalog.Len())
	seen := make([]bool, len(p.Nodes))
	for i := range need.Sets {
		set := &need.Sets[i]
		for _, node := range set.Nodes {
			if seen[node] {
				continue
			}
			seen[node] = true
			has := p.line.nodes.FreeAt(int(node), p.from)
			if w := p.fleet.whole; w >= 0 && (has[w] <= 0 || (set.Spare != nil && has[w] < wholeNode)) {
				continue
			}
			for r, amount := range has {
				free[r] += max(amount, 0)
			}
		}
	}
	if w := p.fleet.whole; w >= 0 {
		free[w] = 0
	}
	return free
}

// scarce names the resource that is short in total, GPUs before others; if none
// is, the one that is asked for, likewise.
func (v *verdicts) scarce(c *contender, facts *batch.Facts) {
	p := v.p
	i := slices.IndexFunc(c.options, func(o option) bool { return o.flavor == facts.Flavor })
	need := c.wideNeed(max(i, 0))
	free, asked := p.totals(need)
	best, short := -1, false
	for r := range asked {
		if asked[r] <= 0 {
			continue
		}
		lacks := asked[r] > free[r]
		better := lacks && !short || lacks == short && p.fleet.catalog.Name(r) == batch.ResourceGPU
		if best < 0 || better {
			best, short = r, lacks
		}
	}
	if best < 0 {
		return
	}
	facts.Resource, facts.Need, facts.Free = p.fleet.catalog.Name(best), asked[best], free[best]
	seen := make([]bool, len(p.Nodes))
	for i := range need.Sets {
		for _, node := range need.Sets[i].Nodes {
			if !seen[node] {
				seen[node] = true
				facts.Limit += p.fleet.capacity[node][best]
			}
		}
	}
}
