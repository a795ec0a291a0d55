package planner

import (
	"maps"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// carry is what a plan leaves for the next one: what it found out about the
// nodes, and the questions that it asked with their answers. All of it is
// about timelines that lie in it too, so that the next plan can tell what
// still holds; it decides nothing. It is frozen.
type carry struct {
	known
	views      []*batch.NodeView
	flavors    map[batch.FlavorName]*batch.Flavor
	topologies map[batch.TopologyName]*batch.Topology
	tree       *quota.Tree
	line       *timeline.Timeline // what runs or starts
	starts     []timeline.Place   // the latter
	ends       []timeline.Time
	uncertain  *timeline.Nodes // where line may not be what the views say
	about      *rows           // what follows is about these; nil: about nodes
	trail      trail
	byStart    [ordersMax]trail
	settled    *board
	end        ending
	last       []*contender // that waited, in order
	filled     int          // rounds with a second way
	roll       *roll
}

// memory is what is known of a record.
type memory struct {
	key       needKey
	seen      *seen
	resettled [ordersMax]*seen
	stuck     stuck
	held      *batch.Allocation // by the plan before, and where that is
	kept      kept
}

// pickUp takes what the plan before has left, if the nodes are the same. Where
// whole nodes are asked for, too much depends on who asks.
func (p *pass) pickUp() {
	left, ok := p.Carried.Value().(*carry)
	if !ok || left.whole >= 0 || p.someWhole() || len(left.views) != len(p.Nodes) || left.line.Begin() > p.from || !maps.Equal(left.flavors, p.Flavors) || !maps.Equal(left.topologies, p.Topologies) || !left.tree.Equal(p.tree) {
		return
	}
	for i, view := range p.Nodes {
		if view.Node != left.views[i].Node {
			return
		}
	}
	p.byStart, p.about = left.byStart, left.about
	p.carried, p.trail, p.settled, p.filled = left, left.trail, left.settled, 1
}

// recollect gives a record what is known of it.
func (p *pass) recollect(c *contender) {
	m := p.memoryOf(c)
	if p.carried != nil && !p.about.same(p.carried.about) {
		m = memory{key: m.key, held: m.held, kept: m.kept} // the rest is about other lines
	}
	c.seen, c.resettled = m.seen, m.resettled
	if m.key == c.key {
		c.stuck = m.stuck
	}
	held := c.waiting.Held
	switch {
	case held == nil || held.Queue != c.queue.Name:
	case held == m.held && m.key == c.key:
		c.kept = &kept{record: c, option: m.kept.option, place: m.kept.place}
	default:
		c.kept = p.recall(c)
	}
	if c.kept != nil && c.kept.record == c {
		c.recalled = c.kept
	}
}

// memoryOf is what the plan before has found out about a record.
func (p *pass) memoryOf(c *contender) (m memory) {
	was := p.lastOf(c)
	if was == nil {
		return m
	}
	m = memory{key: was.key, seen: was.seen, resettled: was.resettled, stuck: was.stuck}
	m.stuck.known = m.stuck.known && m.stuck.round == p.carried.filled
	m.stuck.round = 1
	if k := was.recalled; k != nil && k.record == was {
		m.held, m.kept = was.waiting.Held, kept{option: k.option, place: k.place}
	}
	return m
}

// lastOf is a record as the plan before has left it; nil: it did not know it.
// Mostly it is the next in the order; one that is not found in its place was
// edited, and little of what was known of it holds.
func (p *pass) lastOf(c *contender) *contender {
	if p.carried == nil {
		return nil
	}
	last := p.carried.last
	if p.next >= len(last) || !last[p.next].same(c) {
		p.next, _ = slices.BinarySearchFunc(last, c, compareOrder)
		for p.next < len(last) && !last[p.next].same(c) && compareOrder(last[p.next], c) == 0 {
			p.next++ // in another queue
		}
	}
	if p.next >= len(last) || !last[p.next].same(c) {
		return nil
	}
	p.next++
	return last[p.next-1]
}

// same says whether two contenders are the same record, in two plans.
func (c *contender) same(other *contender) bool {
	return (c.waiting == other.waiting || c.workload().ID == other.workload().ID) && c.queue.Name == other.queue.Name
}

// leave makes the carry for the next plan.
func (p *pass) leave() {
	left := &carry{
		known: p.fleet.known, views: p.Nodes, flavors: p.Flavors, topologies: p.Topologies,
		tree: p.tree, line: p.line.nodes, ends: p.fleet.ends, uncertain: p.fleet.uncertain,
		about: p.about, trail: p.trail, byStart: p.byStart, settled: p.settled, end: p.end,
		last: make([]*contender, 0, p.reached), filled: p.filled, roll: p.roll,
	}
	for _, c := range p.starts {
		left.starts = append(left.starts, c.place.Place)
	}
	for _, c := range p.order[:p.reached] {
		if !c.started {
			left.last = append(left.last, c)
		}
	}
	left.line.Freeze()
	if left.trail.line != nil {
		left.trail.line.Freeze()
	}
	for _, t := range left.byStart {
		if t.line != nil {
			t.line.Freeze()
		}
	}
	if left.settled != nil {
		left.settled.freeze()
	}
	if left.end.line != nil {
		left.end.line.freeze()
		left.end.full.freeze()
	}
	p.plan.Carried = batch.Carry(left)
}
