package planner

import (
	"fmt"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// roundsMax bounds how often the plan is gone over until nothing moves, rounds
// in which something starts apart. A round without a start moves a planned
// start earlier; more than a few are rare.
const roundsMax = 32

// backfill finds a start for everyone who takes part, as far as the policy
// goes.
//
// It goes over the plan until nothing moves: what starts in one round is
// running work in the next, and a planned start that was found in one is a
// promise in the next. So the next plan, which begins with what this one
// leaves, has nothing to change.
func (p *pass) backfill() {
	for {
		none := p.Policy.Backfill == batch.BackfillNone
		if !none {
			p.reach(p.depth())
		}
		p.takeTogether()
		if p.full = p.line; none {
			p.greedy(func(*contender) bool { return true })
		} else {
			p.rounds()
		}
		p.tellApart()
		if !p.release() {
			return
		}
	}
}

func (p *pass) rounds() {
	defer p.noteEnd()
	p.steady = p.steady || p.line.nodes.Len() == 1 // there is no other place
	p.advanceAhead()
	for idle := 0; idle < roundsMax; idle++ {
		started, changed := p.round()
		if !changed || p.draft {
			return
		}
		if started {
			idle = -1 // each starts once
		}
	}
	p.plan.Stats.Unsettled = true
}

// greedy starts whatever fits now of the contenders that it is open to, in
// order, beside what is on p.full.
func (p *pass) greedy(open func(*contender) bool) (started bool) {
	failed, grows := failures{}, p.growsNominated()
	for i, c := range p.order {
		if c == grows {
			p.growNominee(c, nil)
			grows = p.growsNominated()
		}
		if i >= p.reached && i < len(p.classes) && failed.coverClass(&p.classes[i]) {
			continue
		}
		if c.started || !open(c) || failed.cover(c) {
			continue
		}
		c = p.mine(i)
		held := c.at != nil
		if !p.startNow(c) {
			failed.add(p, c)
			continue
		}
		p.last = max(p.last, i)
		if held {
			failed = failures{} // what it held may serve another
		}
		started = true
	}
	return started
}

// overlooked are the contenders that have no planned start and may start now
// all the same: those that are kept from one by a bound of the policy. Where
// nothing may overtake, that ends with the first of a queue that waits.
func (p *pass) overlooked() func(*contender) bool {
	if p.Policy.Backfill != batch.BackfillStrict {
		return func(c *contender) bool { return c.bound != "" }
	}
	open := map[*contender]bool{}
	blocked := map[batch.QueueName]bool{}
	for _, c := range p.order {
		if c.waitsNominated(p) {
			blocked[c.queue.Name] = true
		}
		if c.started || blocked[c.queue.Name] {
			continue
		}
		if c.bound != "" {
			open[c] = true
		}
		blocked[c.queue.Name] = true
	}
	return func(c *contender) bool { return open[c] }
}

// startNow places a contender now if it fits beside all that is on p.full; a
// hold of its own is out of its way.
func (p *pass) startNow(c *contender) bool {
	old := *c.claim
	if old.at != nil {
		p.full.release(old.place)
	}
	option, place, ok := p.full.firstOf(c, func(i int) (stay, bool) { return p.longest(c, i) })
	switch {
	case ok && old.at != nil:
		p.noteGiven(old.place)
	case !ok && old.at != nil:
		p.full.hold(old.place)
	}
	if !ok {
		return false
	}
	c.settle(option, place)
	c.grown = true
	p.noteStart(c)
	c.place, _ = p.grown(c)
	p.full.hold(c.place)
	if p.line != p.full {
		p.line.hold(c.place)
	}
	return true
}

// round plans once in order and then lets each move earlier into what nobody
// holds. It says whether anything starts now that did not before, and whether
// anything changed that the next round would see.
//
// Those without a planned start get their chance when nobody else starts any
// more: each start makes room for one more planned start.
func (p *pass) round() (started, changed bool) {
	planned := p.keepPromises()
	filled := !allKept(planned) || p.roomier(planned) || p.growsNominated() != nil
	if filled {
		started, changed = p.seek(planned)
	}
	if !started {
		started = p.greedy(p.overlooked())
	}
	if p.left = nil; filled { // what the last round left is of no use once more has started
		p.endRound(planned)
	}
	if filled && changed && !started && p.stands(planned) {
		p.left, changed = nil, false
	}
	return started, changed || started
}

// seek is the second way through a round.
func (p *pass) seek(planned []*contender) (started, changed bool) {
	before := make([]timeline.Time, len(planned))
	for i, c := range planned {
		before[i] = c.promise
	}
	p.regain(planned)
	changed = p.growNominated(planned, nil)
	p.fill(planned)
	changed = p.preferListed(planned) || changed
	p.searched = p.full.clone()
	p.exchange(planned)
	p.growAll(planned)
	for i, c := range planned {
		c.looked = true
		if c.at != nil && c.starts(p) {
			started = p.begin(c) || started
			continue
		}
		c.note()
		changed = changed || c.promise != before[i]
	}
	return started, changed
}

// stands says whether a round more would find everyone where this one has left him:
// without a start as many may be planned, nobody is placed where he ranks any more,
// and there is no more room than there was. Most rounds move some and end so.
func (p *pass) stands(planned []*contender) bool {
	return p.steady && p.turns() == nil && !p.anyNewAhead() && allKept(planned) && !p.roomier(planned) && p.growsNominated() == nil
}

// begin takes the place of a claim that starts; false if that has been done.
func (p *pass) begin(c *contender) bool {
	if c.started {
		return false
	}
	p.noteStart(c)
	p.line.hold(c.place)
	return true
}

func (p *pass) noteStart(c *contender) {
	c.started, p.begun[c.workload().ID] = true, true
	p.starts = append(p.starts, c)
}

// note makes what a round has found a promise for the next.
func (k *claim) note() {
	k.tried = !k.loose
	switch was := k.kept; {
	case k.at == nil:
		k.promise, k.kept = 0, nil
	case was == nil || was.record != k.at || was.option != k.option || !was.place.Equal(k.place):
		k.promise, k.kept = k.start(), &kept{record: k.at, option: k.option, place: k.place}
	default:
		k.promise = k.start()
	}
	k.left = k.kept
}

// allKept says whether everyone has been tried, in each queue in which he may be
// planned by now, and is where the last round left him.
func allKept(planned []*contender) bool {
	for _, c := range planned {
		if !c.tried || !c.looked || (c.at == nil) != (c.left == nil) || (c.at != nil && (c.at != c.left.record || !c.place.Equal(c.left.place))) {
			return false
		}
	}
	return true
}

// roomier says whether there is more room than when a round has last looked for
// some: a gang that grows may go to other nodes, and who starts in one queue, or
// takes part no more, gives up his planned start in another.
func (p *pass) roomier(planned []*contender) bool {
	was := p.searched
	return len(planned) > 0 && (was == nil || len(timeline.Gains(was.nodes, p.full.nodes)) > 0 || len(quota.Gains(was.ledger, p.full.ledger)) > 0)
}

// rearrangedMax is how often in one plan all placements are chosen anew: once
// for what has become free, and once more since some have moved into it.
const rearrangedMax = 2

// keepPromises is the first way through a round: in order, who has a promise is
// held at it, and who has none gets the earliest start beside what runs and
// what is held before it in the order. It returns those that may be planned.
//
// Where something has become free each placement is chosen anew, so that holds
// take the nodes that become free last and nothing idle is kept for nothing.
// That may fail to fit them all; then those that have a placement keep it. From
// then on, and where nothing has become free, everyone stays, and gives up his
// place for an earlier one alone.
func (p *pass) keepPromises() (planned []*contender) {
	if p.steady {
		if planned, stayed := p.stay(); stayed {
			return planned
		}
	}
	p.rearranged++
	p.steady = p.rearranged >= rearrangedMax
	planned, kept := p.place(afresh)
	if kept {
		return planned
	}
	p.steady = true // what did not fit anew now will not in the next round either
	some := p.newcomers(planned)
	if !some && p.resumes(planned, p.settledBoard(planned)) {
		return planned
	}
	if b := p.remember(planned); !some && p.resumes(planned, b) {
		return planned
	}
	planned, _ = p.place(asBefore)
	return planned
}

// settledBoard is a board with all promised starts: where they were, or where
// they find room in the order of their starts; nil: in neither way for all.
func (p *pass) settledBoard(planned []*contender) *board {
	if b := p.boardOfStaying(); b != nil {
		return b
	}
	return p.settleAll(planned)
}

// resumes leaves all promised starts where they are known to be, on a board
// that holds just them beside what runs; false if there is none, or if some may
// not stay there.
func (p *pass) resumes(planned []*contender, b *board) bool {
	if b == nil || p.turns() != nil {
		return false
	}
	held := 0
	for _, c := range planned {
		if c.promise == 0 {
			continue
		}
		if c.kept == nil || !c.kept.record.plannable() || c.kept.place.From != max(c.promise, p.from) {
			return false
		}
		if c.kept.record == c {
			held++
		}
	}
	if held != b.held {
		return false
	}
	p.full = b.clone()
	p.forgetGains()
	p.unseat()
	for _, c := range planned {
		if c.promise != 0 && c.kept.record == c {
			c.settle(c.kept.option, c.kept.place)
		}
	}
	return true
}

// newcomers says whether there are any that may push others back.
func (p *pass) newcomers(planned []*contender) bool {
	return !p.ahead && slices.ContainsFunc(planned, (*contender).isNew)
}

// isNew says whether a contender is placed where it ranks: it may push others
// back.
func (c *contender) isNew() bool { return c.promise == 0 && c.arrived && !c.tried }

// markBackfilled marks those that start although a higher-ranked workload that
// could use one of their nodes still waits.
func (p *pass) markBackfilled() {
	p.check()
	if len(p.starts) == 0 {
		return
	}
	wanted := make([]bool, len(p.Nodes))
	seen := map[*shape]bool{}
	for _, c := range p.order[:min(len(p.order), max(p.reached, p.last+1))] {
		switch {
		case !c.starts(p):
			p.want(c, wanted, seen)
		case c.placed() && c.nomination == nil && slices.ContainsFunc(c.place.Seats, func(s timeline.Seat) bool { return wanted[s.Node] }):
			c.via = batch.ViaBackfill
		}
	}
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
	for _, c := range p.order[:p.reached] {
		if c.at != nil && c.start() < p.from {
			panic(fmt.Sprintf("planner: %s planned at %d, before %d", c.workload().ID, c.start(), p.from))
		}
	}
}
