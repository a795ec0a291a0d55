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
	uses       []batch.Use
	usesPay    []quota.Bill       // see bills
	line       *timeline.Timeline // what runs
	ends       []timeline.Time
	uncertain  *timeline.Nodes // where line may not be what the views say
	about      *rows           // what follows is about these; nil: about nodes
	trail      trail
	byStart    [ordersMax]trail
	settled    *board
	end        ending
	seated     *nominations
	vacated    *vacated
	last       []*contender // that waited, in order
	filled     int32        // rounds with a second way
	roll       *roll
	answers    map[*shape]*answer
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
	p.carried, p.trail, p.settled, p.filled, p.sameLines = left, left.trail, left.settled, 1, true
}

// recollect gives a record what the plan before has found out about it.
func (p *pass) recollect(c *contender) {
	was := p.lastOf(c)
	c.heard = was != nil && was.heard && was.waiting == c.waiting
	if was != nil && p.sameLines {
		c.seen, c.resettled = was.seen, was.resettled
		p.remainStuck(c, was)
	}
	held := c.waiting.Held
	if held == nil || held.Queue != c.queue.Name {
		return
	}
	if was != nil && was.issued == held && was.key == c.key && was.placed() && was.place.Span == timeline.SpanOf(was.start(), c.long) {
		c.kept = p.newKept()
		*c.kept = kept{record: c, option: was.option, place: was.place, issued: true}
	} else {
		c.kept = p.recall(c)
	}
	if c.kept != nil && c.kept.record == c {
		c.recalled = c.kept
	}
}

// remainStuck takes over that no earlier start was found for a record.
func (p *pass) remainStuck(c, was *contender) {
	if was.key != c.key {
		return
	}
	c.stuck = was.stuck
	c.stuck.known = c.stuck.known && c.stuck.round == p.carried.filled
	c.stuck.round, c.stuck.shut = 1, shut{}
}

// newKept is memory for a placement: for many at once, as most that wait have one.
func (p *pass) newKept() *kept {
	if len(p.keeps) == 0 {
		p.keeps = make([]kept, max(1, min(p.wanted, slabMax)))
	}
	k := &p.keeps[0]
	p.keeps = p.keeps[1:]
	return k
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
		tree: p.tree, uses: p.Uses, usesPay: p.usesPay, line: p.ground.nodes, ends: p.fleet.ends, uncertain: p.fleet.uncertain,
		about: p.about, trail: p.trail, byStart: p.byStart, settled: p.settled, end: p.end, seated: p.seated, vacated: p.vacated,
		last: make([]*contender, 0, p.reached), filled: p.filled, roll: p.roll, answers: p.answers,
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
