package planner

import "github.com/berth-dev/berth/pkg/timeline"

// manner is how placements are chosen for promised starts.
type manner int

const (
	afresh   manner = iota // by the rules, at the promised start
	asBefore               // where they were, else by the rules
)

// place goes through the order once. It returns the contenders that may be
// planned, and says whether all promises were kept.
func (p *pass) place(how manner) (planned []*contender, kept bool) {
	p.full = p.line.clone()
	p.forgetGains()
	if how == afresh {
		p.beginTrail()
	}
	p.unseat()
	kept = true
	allowance, turns, floors := p.allowance(), p.turns(), floors{}
	var late []*contender
	for i, c := range p.order {
		if i == p.reached {
			if p.mayEnd() && allowance.count >= p.Policy.Depth {
				break
			}
			p.reach(i + 1)
			c = p.order[i]
			c.seen = nil // the trail is not prepared for it
		}
		if c.started {
			p.passNominated(turns, c)
			continue
		}
		if c.bind(allowance); c.plannable() {
			planned = append(planned, c)
			if how == asBefore && turns == nil && c.mayComeLate() {
				late = append(late, c)
				allowance.spend(c)
				continue
			}
			kept = p.seatInTurn(c, how, seating{floors: floors, from: turns.of(c, p.from)}, kept) && kept
			if p.spends(c, how, kept) {
				allowance.spend(c)
			}
		} else if how == afresh {
			p.stepOver(c)
		}
		turns.pass(c)
	}
	return planned, p.seatLate(late, seating{floors: floors, from: p.from}) && kept
}

// seatLate seats those whose placement could not be found again: they must not
// take that of others.
func (p *pass) seatLate(late []*contender, s seating) (kept bool) {
	kept = true
	for _, c := range late {
		kept = p.seat(c, asBefore, s) && kept
	}
	return kept
}

// bind notes the bound of the policy that keeps a contender from a planned
// start.
func (c *contender) bind(a *allowance) {
	if c.bound = ""; !c.key.shape.absent {
		c.bound = a.refuses(c)
	}
}

// spends says whether a contender that has been dealt with waits. One that has
// not been seated, since promises are not kept any more, will start if it is due.
func (p *pass) spends(c *contender, how manner, kept bool) bool {
	seated := kept || how == asBefore
	return !c.starts(p) && (seated || c.promise == 0 || c.promise > p.from) && (!p.ahead || !c.isNew())
}

// unseat forgets the places of all that have not started.
func (p *pass) unseat() {
	for _, c := range p.order[:p.reached] {
		if !c.started {
			c.at, c.loose = nil, false
		}
		if c.fresh {
			c.fresh, c.stuck.known = false, false
		}
	}
}

// mayComeLate says whether a contender was promised a start whose placement
// could not be found again.
func (c *contender) mayComeLate() bool { return c.promise != 0 && c.kept == nil && c.lost() }

// seatInTurn seats a contender, unless places are chosen anew and that has
// failed already.
func (p *pass) seatInTurn(c *contender, how manner, s seating, kept bool) bool {
	if how == asBefore {
		return p.seat(c, how, s)
	}
	if !kept {
		p.stepOver(c)
		return false
	}
	kept = p.seat(c, how, s)
	p.step(c)
	return kept
}

// seating is what binds the place of a contender, besides what is held.
type seating struct {
	floors floors
	from   timeline.Time // Never: it has to wait for its turn
}

// seat gives a contender its place in the first way through a round; false if
// it had a promise that is not kept.
func (p *pass) seat(c *contender, how manner, s seating) (kept bool) {
	switch {
	case c.promise != 0 && c.at != nil:
		return true // in a queue before this one
	case c.promise != 0 && p.keep(c, how, s.from):
		return true
	case c.promise != 0 && !c.isLast():
		return true // another of its queues may keep it
	case c.promise != 0 && how == afresh:
		return false
	case c.promise != 0:
		for _, r := range c.records {
			if r.plannable() {
				p.earliest(r, s)
			}
		}
		return false
	case c.isNew() && !p.ahead:
		p.earliest(c, s)
	}
	return true
}

// keep holds a contender at its promise; false if it does not fit there.
func (p *pass) keep(c *contender, how manner, from timeline.Time) bool {
	start := max(c.promise, p.from)
	if start < from || start >= c.within(timeline.Span{Till: timeline.Never}).Till {
		return false
	}
	if how == asBefore && c.kept != nil && c.kept.record == c && c.kept.place.From == start && p.full.tryHold(c.kept.place) {
		c.settle(c.kept.option, c.kept.place)
		return true
	}
	option, place, ok := p.full.firstOf(c, func(i int) (stay, bool) { return p.look(c, i, lookAt{start: start, how: how}) })
	if ok {
		c.settle(option, place)
		p.full.hold(place)
	}
	return ok
}
