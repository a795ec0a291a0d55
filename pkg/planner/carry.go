package planner

import (
	"maps"

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
	ends       []timeline.Time
	uncertain  *timeline.Nodes // where line may not be what the views say
	about      *rows           // what follows is about these; nil: about nodes
	trail      trail
	byStart    [ordersMax]trail
	settled    *board
	end        ending
	records    map[recordKey]memory
	roll       *roll
}

// recordKey is a workload in a queue.
type recordKey struct {
	id    batch.WorkloadID
	queue batch.QueueName
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
	var m memory
	if p.carried != nil {
		m = p.carried.records[recordKey{id: c.workload().ID, queue: c.queue.Name}]
	}
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

// memoryOf is what is known of a record; false: nothing is.
func (p *pass) memoryOf(c *contender) (m memory, some bool) {
	m = memory{key: c.key, seen: c.seen, resettled: c.resettled, stuck: c.stuck}
	m.stuck.known = m.stuck.known && m.stuck.round == p.filled
	m.stuck.round = 1
	if was := c.recalled; was != nil && was.record == c {
		m.held, m.kept = c.waiting.Held, kept{option: was.option, place: was.place}
	}
	return m, m.seen != nil || m.resettled != [ordersMax]*seen{} || m.stuck.known || m.held != nil
}

// leave makes the carry for the next plan.
func (p *pass) leave() {
	left := &carry{
		known: p.fleet.known, views: p.Nodes, flavors: p.Flavors, topologies: p.Topologies,
		tree: p.tree, line: p.line.nodes, ends: p.fleet.ends, uncertain: p.fleet.uncertain,
		about: p.about, trail: p.trail, byStart: p.byStart, settled: p.settled, end: p.end,
		records: map[recordKey]memory{}, roll: p.roll,
	}
	for _, c := range p.starts {
		left.uncertain.AddPlace(c.place.Place)
	}
	for _, c := range p.order[:p.reached] {
		if c.started {
			continue
		}
		if m, some := p.memoryOf(c); some {
			left.records[recordKey{id: c.workload().ID, queue: c.queue.Name}] = m
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
		left.settled.nodes.Freeze()
		left.settled.ledger.Freeze()
	}
	if left.end.line != nil {
		left.end.line.Freeze()
		left.end.full.nodes.Freeze()
	}
	p.plan.Carried = batch.Carry(left)
}
