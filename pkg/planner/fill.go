package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/timeline"
)

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
