package planner

import (
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
// rest; those that start already do not count, nor those whose nodes are away.
func (p *pass) planned() (planned, rest []*contender) {
	for _, c := range p.order {
		c.beyond = false
		switch {
		case c.starts(p) || c.key.shape.absent:
		case len(planned) < p.Policy.Depth:
			planned = append(planned, c)
		default:
			c.beyond = true
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
	p.exchange(planned)
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
