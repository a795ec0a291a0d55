package planner

// stay is the first way through a round where nothing has become free: all
// that were promised a start stay where they are, and newcomers behind them
// take what is left. false: some may not stay, or come behind a newcomer, and
// all have to be placed.
func (p *pass) stay() (planned []*contender, stayed bool) {
	if p.turns() != nil || p.anyNewAhead() {
		return nil, false
	}
	b := p.boardOfStaying()
	if b == nil {
		return nil, false
	}
	p.full = b.clone()
	p.forgetGains()
	p.unseat()
	planned = make([]*contender, 0, p.reached)
	held, allowance, floors := 0, p.allowance(), floors{}
	for i, c := range p.order {
		if i == p.reached {
			if p.mayEnd() && allowance.count >= p.Policy.Depth {
				break
			}
			p.reach(i + 1)
			c = p.order[i]
			c.seen = nil // the trail does not know of it
		}
		if c.started {
			continue
		}
		if c.bind(allowance); !c.plannable() {
			continue
		}
		planned = append(planned, c)
		here, ok := p.remain(c, floors)
		if !ok {
			return nil, false
		}
		if here {
			held++
		}
		if p.spends(c, asBefore, true) {
			allowance.spend(c)
		}
	}
	return planned, held == b.held
}

// remain leaves a contender where it is, or places a newcomer. here says that its
// place is held on this record; ok, that it may stay.
func (p *pass) remain(c *contender, floors floors) (here, ok bool) {
	switch {
	case c.promise == 0:
		if c.isNew() && !p.ahead {
			p.earliest(c, seating{floors: floors, from: p.from})
		}
		return false, true
	case !p.staysAt(c):
		return false, false
	case c.kept.record == c:
		c.settle(c.kept.option, c.kept.place)
		return true, true
	}
	return false, true
}

// anyNewAhead says whether a newcomer comes before somebody with a promise: it
// may push that one back.
func (p *pass) anyNewAhead() bool {
	some := false
	for _, c := range p.order[:p.reached] {
		switch {
		case c.started:
		case c.isNew() && !p.ahead:
			some = true
		case some && c.promise != 0:
			return true
		}
	}
	return false
}

// staysAt says whether a contender may stay where the last round, or the last
// plan, has left it. Whether it may still be planned in that queue is seen when
// the turn of that record comes.
func (p *pass) staysAt(c *contender) bool {
	return c.kept != nil && c.kept.place.From == max(c.promise, p.from)
}

// boardOfStaying is what runs with all promised starts where they were; nil:
// not all of them fit there any more.
func (p *pass) boardOfStaying() *board {
	if p.left != nil {
		return p.left
	}
	if b := p.boardAsLeft(); b != nil {
		return b
	}
	return p.boardOfKept()
}

// ending is how the rounds of a plan have ended.
type ending struct {
	line *board // of what runs or starts; nil: nothing is known
	full *board // with planned starts
}

// noteEnd notes how the rounds have ended, for the next plan.
func (p *pass) noteEnd() {
	p.full.held = 0
	for _, c := range p.order[:p.reached] {
		if c.placed() && !c.started {
			p.full.held++
		}
	}
	p.end = ending{line: p.line, full: p.full}
}

// boardAsLeft is boardOfKept by what has changed since the plan before alone;
// nil: it cannot be told by that.
func (p *pass) boardAsLeft() *board {
	if p.carried == nil || p.carried.end.line == nil || !p.sameLines || p.found != nil {
		return nil // or another pass of this plan has moved some since
	}
	held := 0
	for _, c := range p.order[:p.reached] {
		if c.started || c.promise == 0 {
			continue
		}
		if c.kept == nil || c.left != nil {
			return nil // not known, or held by a round of this plan
		}
		if c.kept.record == c {
			held++
		}
	}
	end := &p.carried.end
	if held != end.full.held {
		return nil // some have gone
	}
	b := end.full.since(p.from)
	if b.held = held; !b.follow(end.line, p.line) {
		return nil
	}
	return b
}

// boardOfKept is what runs with all promised starts where they were; nil: not
// all of them fit there any more.
func (p *pass) boardOfKept() *board {
	b := p.line.clone()
	for _, c := range p.order[:p.reached] {
		if c.started || c.promise == 0 {
			continue
		}
		if c.kept == nil {
			return nil
		}
		if c.kept.record != c {
			continue
		}
		if !b.tryHold(c.kept.place) {
			return nil
		}
		b.held++
	}
	return b
}
