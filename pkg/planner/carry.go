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
	views     []*batch.NodeView
	flavors   map[batch.FlavorName]*batch.Flavor
	tree      *quota.Tree
	line      *timeline.Timeline // what runs or starts
	ends      []timeline.Time
	uncertain *timeline.Nodes // where line may not be what the views say
	trail     trail
	byStart   [ordersMax]trail
	settled   *board
	records   map[recordKey]memory
	roll      *roll
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
}

// pickUp takes what the plan before has left, if the nodes are the same. Where
// whole nodes are asked for, too much depends on who asks.
func (p *pass) pickUp() {
	left, ok := p.Carried.Value().(*carry)
	if !ok || left.whole >= 0 || p.someWhole() || len(left.views) != len(p.Nodes) || left.line.Begin() > p.from || !maps.Equal(left.flavors, p.Flavors) || !left.tree.Equal(p.tree) {
		return
	}
	for i, view := range p.Nodes {
		if view.Node != left.views[i].Node {
			return
		}
	}
	p.byStart = left.byStart
	p.carried, p.trail, p.settled, p.filled = left, left.trail, left.settled, 1
}

// recollect gives a record what is known of it.
func (p *pass) recollect(c *contender) {
	if p.carried == nil {
		return
	}
	m, ok := p.carried.records[recordKey{id: c.workload().ID, queue: c.queue.Name}]
	if !ok {
		return
	}
	c.seen, c.resettled = m.seen, m.resettled
	if m.key == c.key {
		c.stuck = m.stuck
	}
}

// leave makes the carry for the next plan.
func (p *pass) leave() {
	left := &carry{
		known: p.fleet.known, views: p.Nodes, flavors: p.Flavors,
		tree: p.tree, line: p.line.nodes, ends: p.fleet.ends, uncertain: p.fleet.uncertain,
		trail: p.trail, byStart: p.byStart, settled: p.settled, records: map[recordKey]memory{}, roll: p.roll,
	}
	for _, c := range p.starts {
		left.uncertain.AddPlace(c.place.Place)
	}
	for _, c := range p.order[:p.reached] {
		if c.started {
			continue
		}
		if c.stuck.round != p.filled {
			c.stuck.known = false
		}
		if c.seen != nil || c.resettled != [ordersMax]*seen{} || c.stuck.known {
			m := memory{key: c.key, seen: c.seen, resettled: c.resettled, stuck: c.stuck}
			m.stuck.round = 1
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
	p.plan.Carried = batch.Carry(left)
}
