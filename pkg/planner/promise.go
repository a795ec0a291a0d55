package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// recall finds the placement that the plan before held for a workload, if the
// workload and its nodes are still as they were.
func (p *pass) recall(c *contender) *kept {
	held := c.waiting.Held
	if held == nil || held.Queue != c.queue.Name {
		return nil
	}
	option := slices.IndexFunc(c.options, func(o option) bool { return o.flavor == held.Flavor })
	sets := c.workload().PodSets
	if option < 0 || len(held.PodSets) != len(sets) {
		return nil
	}
	from := secondOf(held.Start)
	place := timeline.Place{Span: timeline.SpanOf(from, c.long)}
	for i, placement := range held.PodSets {
		if placement.PodSet != sets[i].Name || len(placement.Hosts) != sets[i].Least() {
			return nil
		}
		seats, ok := p.seats(placement, &c.options[option].sets[i])
		if !ok {
			return nil
		}
		for k := range seats {
			seats[k].Set = i
		}
		place.Seats = append(place.Seats, seats...)
	}
	place = p.keepWhole(c.options[option].sets, place)
	return &kept{record: c, option: option, place: place}
}

// seats turns hosts into seats on nodes that would still do.
func (p *pass) seats(placement batch.Placement, set *timeline.Set) ([]timeline.Seat, bool) {
	var seats []timeline.Seat
	for _, host := range placement.Hosts {
		node, ok := p.fleet.index[host]
		if !ok {
			return nil, false
		}
		if n := len(seats); n > 0 && seats[n-1].Node == node {
			seats[n-1].Pods++
			continue
		}
		if _, ok := slices.BinarySearch(set.Nodes, int32(node)); !ok {
			return nil, false
		}
		seats = append(seats, timeline.Seat{Node: node, Pods: 1, Each: set.Each})
	}
	for _, s := range seats {
		if set.PerNode > 0 && s.Pods > set.PerNode {
			return nil, false
		}
	}
	return seats, true
}

// remember finds placements for promised starts whose placement is not known,
// as after a restart, or does not do any more. Taken in the order of their
// starts, work on whole nodes always finds back to a placement for all: of
// spans that overlap at no time more often than there are nodes, each finds a
// node that is free when it begins.
func (p *pass) remember(waiting []*contender) {
	scratch := p.line.Clone()
	var unknown []*contender
	for _, c := range waiting {
		start := max(c.promise, p.from)
		switch {
		case c.promise == 0:
		case c.kept != nil && c.kept.place.From == start && scratch.Fits(c.kept.place):
			scratch.Hold(c.kept.place)
		default:
			unknown = append(unknown, c)
		}
	}
	slices.SortStableFunc(unknown, func(a, b *contender) int { return cmp.Compare(a.promise, b.promise) })
	for _, c := range unknown {
		c.kept = nil
		for i := range c.options {
			if place, ok := p.at(scratch, c.need(i), max(c.promise, p.from)); ok {
				scratch.Hold(place)
				c.kept = &kept{record: c, option: i, place: place}
				break
			}
		}
	}
}
