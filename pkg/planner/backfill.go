package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// roundsMax bounds how often the plan is gone over until nothing moves. Each
// round that changes something starts a workload or moves a planned start
// earlier; more than a few are rare.
const roundsMax = 32

// backfill finds a start for everyone who takes part, as far as the policy
// goes.
//
// It goes over the plan until nothing moves: what starts in one round is
// running work in the next, and a planned start that was found in one is a
// promise in the next. So the next plan, which begins with what this one
// leaves, has nothing to change.
func (p *pass) backfill() {
	p.line = p.fleet.line
	p.full = p.line
	if p.Policy.Backfill == batch.BackfillNone {
		p.greedy(p.order)
		return
	}
	for i := range roundsMax {
		planned, rest := p.planned()
		if !p.round(planned, rest, i == 0) {
			return
		}
	}
	p.plan.Stats.Unsettled = true
}

// planned are the first in the order, as deep as the policy plans, and the
// rest; those that start already do not count.
func (p *pass) planned() (planned, rest []*contender) {
	for _, c := range p.order {
		switch {
		case c.starts(p):
		case len(planned) < p.Policy.Depth:
			planned = append(planned, c)
		default:
			rest = append(rest, c)
		}
	}
	return planned, rest
}

// starts says whether a contender starts in this plan.
func (c *contender) starts(p *pass) bool { return c.placed && c.start == p.from }

// greedy starts whatever fits now, in order, beside what is on p.full.
func (p *pass) greedy(contenders []*contender) (started bool) {
	failed := map[needKey]bool{}
	for _, c := range contenders {
		if c.placed || failed[c.key] {
			continue
		}
		if !p.startNow(c) {
			failed[c.key] = true
			continue
		}
		started = true
	}
	return started
}

// startNow places a contender now if it fits beside all that is on p.full.
func (p *pass) startNow(c *contender) bool {
	for i := range c.options {
		if place, ok := p.full.At(c.need(i), p.from); ok {
			c.settle(i, place)
			p.full.Hold(place)
			if p.line != p.full {
				p.line.Hold(place)
			}
			return true
		}
	}
	return false
}

func (c *contender) need(option int) timeline.Need {
	return timeline.Need{Sets: c.options[option].sets, Long: c.long}
}

func (c *contender) settle(option int, place timeline.Place) {
	c.placed, c.option, c.place, c.start = true, option, place, place.From
}

// round plans once in order and then lets each move earlier into what nobody
// holds. It says whether anything changed that the next round would see.
func (p *pass) round(planned, rest []*contender, first bool) (changed bool) {
	before := make([]timeline.Time, len(planned))
	for i, c := range planned {
		before[i] = c.promise
	}
	p.keepPromises(planned, first)
	if !first && allKept(planned) {
		return false // all is as the last round left it
	}
	p.fill(planned)
	changed = p.greedy(rest)
	for i, c := range planned {
		if c.starts(p) {
			p.line.Hold(c.place)
			changed = true
			continue
		}
		c.promise, c.kept, c.tried = 0, nil, true
		if c.placed {
			c.promise, c.kept = c.start, &kept{option: c.option, place: c.place}
		}
		changed = changed || c.promise != before[i]
	}
	return changed
}

// allKept says whether everyone has been tried and is where the last round
// left him.
func allKept(planned []*contender) bool {
	for _, c := range planned {
		if !c.tried || c.placed != (c.kept != nil) || (c.placed && !c.place.Equal(c.kept.place)) {
			return false
		}
	}
	return true
}

// keepPromises is the first way through a round: in order, who has a promise is
// held at it, and who has none gets the earliest start beside what runs and
// what is held before it in the order.
//
// At first each placement is chosen anew, so that holds take the nodes that
// become free last and nothing idle is kept for nothing. That may fail to fit
// them all; then those that have a placement keep it.
func (p *pass) keepPromises(waiting []*contender, first bool) {
	if p.place(waiting, afresh, first) {
		return
	}
	p.remember(waiting)
	p.place(waiting, asBefore, first)
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
			if place, ok := scratch.At(c.need(i), max(c.promise, p.from)); ok {
				scratch.Hold(place)
				c.kept = &kept{option: i, place: place}
				break
			}
		}
	}
}

// manner is how placements are chosen for promised starts.
type manner int

const (
	afresh   manner = iota // by the rules, at the promised start
	asBefore               // where they were, else by the rules
)

// place says whether all promises were kept.
func (p *pass) place(waiting []*contender, how manner, first bool) (kept bool) {
	kept = true
	p.full = p.line.Clone()
	floors := floors{}
	for _, c := range waiting {
		c.placed = false
		if c.promise != 0 && p.keep(c, how) {
			continue
		}
		kept = kept && c.promise == 0
		if c.promise != 0 || (first && c.arrived) {
			p.earliest(c, floors)
		}
	}
	return kept
}

// keep holds a contender at its promise; false if it does not fit there.
func (p *pass) keep(c *contender, how manner) bool {
	start := max(c.promise, p.from)
	if how == asBefore && c.kept != nil && c.kept.place.From == start && p.full.Fits(c.kept.place) {
		c.settle(c.kept.option, c.kept.place)
		p.full.Hold(c.place)
		return true
	}
	for i := range c.options {
		if place, ok := p.full.At(c.need(i), start); ok {
			c.settle(i, place)
			p.full.Hold(place)
			return true
		}
	}
	return false
}

// floors are starts before which a request is known not to fit, as long as
// holds are only added.
type floors map[floorKey]timeline.Time

type floorKey struct {
	needKey
	option int
}

// earliest holds a contender at the earliest start that any of its flavors
// offers; among equals, the one listed first.
func (p *pass) earliest(c *contender, floors floors) {
	for i := range c.options {
		key := floorKey{needKey: c.key, option: i}
		from := max(p.from, floors[key])
		if c.placed && from >= c.start {
			continue
		}
		till := timeline.Never
		if c.placed {
			till = c.start
		}
		place, ok := p.full.Earliest(c.need(i), from, till)
		if !ok {
			floors[key] = till
			continue
		}
		floors[key] = place.From
		c.settle(i, place)
	}
	if c.placed {
		p.full.Hold(c.place)
	}
}

// fill is the second way through a round: in order, each may move earlier into
// space that nobody holds, again and again until nothing moves.
func (p *pass) fill(waiting []*contender) {
	f := floors{}
	for range roundsMax {
		moved := false
		for _, c := range waiting {
			moved = p.advance(c, f) || moved
		}
		if !moved {
			return
		}
	}
}

// advance moves one contender to an earlier start, if there is one.
func (p *pass) advance(c *contender, f floors) bool {
	if c.starts(p) {
		return false
	}
	till := timeline.Never
	if c.placed {
		till = c.start
	}
	option, place, ok := p.sooner(c, f, till)
	if !ok && (!c.placed || !p.ownHelps(c)) {
		return false
	}
	old := *c
	if old.placed {
		// Its own hold is out of its way.
		p.full.Release(old.place)
		option, place, ok = p.sooner(c, floors{}, till)
	}
	if !ok {
		p.full.Hold(old.place)
		return false
	}
	c.settle(option, place)
	p.full.Hold(place)
	if old.placed {
		p.lower(f, old.place)
	}
	return true
}

// sooner is the earliest place before a time, beside all holds.
func (p *pass) sooner(c *contender, f floors, till timeline.Time) (option int, place timeline.Place, ok bool) {
	for i := range c.options {
		key := floorKey{needKey: c.key, option: i}
		from := max(p.from, f[key])
		if from >= till {
			continue
		}
		earlier, found := p.full.Earliest(c.need(i), from, till)
		if !found {
			f[key] = till
			continue
		}
		f[key] = earlier.From
		option, place, ok, till = i, earlier, true, earlier.From
	}
	return option, place, ok
}

// lower takes into account that a place was given back: a run that would use
// it may now begin as early as its length before it. Where no pod of a request
// fits into what was given back, nothing has changed for it.
func (p *pass) lower(f floors, given timeline.Place) {
	for key, floor := range f { //order:any each floor by itself
		first := p.from
		if key.long != timeline.Forever {
			first = max(first, given.From-timeline.Time(key.long)+1)
		}
		if first < floor && p.opens(key, given) {
			f[key] = first
		}
	}
}

// opens says whether a pod of a request fits anywhere into a place.
func (p *pass) opens(key floorKey, given timeline.Place) bool {
	for _, set := range key.shape.options[key.option].sets {
		for _, seat := range given.Seats {
			if p.full.Opens(seat.Node, set.Each, given.Span) {
				return true
			}
		}
	}
	return false
}

// ownHelps says whether a contender's own hold may be in its way: only if one
// of its nodes has room just before it.
func (p *pass) ownHelps(c *contender) bool {
	just := timeline.Span{From: c.start - 1, Till: c.start}
	return slices.ContainsFunc(c.place.Seats, func(s timeline.Seat) bool {
		return p.full.Free(s.Node, just).PodsUpTo(s.Each, 1) > 0
	})
}

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
		if placement.PodSet != sets[i].Name || len(placement.Hosts) != sets[i].Count {
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
	return &kept{option: option, place: place}
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

// markBackfilled marks those that start although a higher-ranked workload that
// could use one of their nodes still waits.
func (p *pass) markBackfilled() {
	wanted := make([]bool, len(p.Nodes))
	seen := map[*shape]bool{}
	for _, c := range p.order {
		if !c.starts(p) {
			p.want(c, wanted, seen)
			continue
		}
		if slices.ContainsFunc(c.place.Seats, func(s timeline.Seat) bool { return wanted[s.Node] }) {
			c.via = batch.ViaBackfill
		}
	}
	p.check()
}

func (p *pass) want(c *contender, wanted []bool, seen map[*shape]bool) {
	if seen[c.key.shape] {
		return
	}
	seen[c.key.shape] = true
	for _, o := range c.options {
		for _, s := range o.sets {
			for _, node := range s.Nodes {
				wanted[node] = true
			}
		}
	}
}

// check looks at the grants once more: a start beside what runs and a hold
// beside all of it must fit on the nodes as they are. Hold has panicked
// otherwise; here it is the starts that must not lie in the past.
func (p *pass) check() {
	for _, c := range p.order {
		if c.placed && c.start < p.from {
			panic(fmt.Sprintf("planner: %s planned at %d, before %d", c.workload().ID, c.start, p.from))
		}
	}
}
