package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/timeline"
)

// floors are starts before which requests are known not to fit, as long as
// holds are only added. What is known of a request holds for every one of its
// kind that asks for as many pods and as long, or more.
//
// Gangs of several pod sets have none: whether they are placed depends on how
// what is free is spread, and less of it may by chance be spread better.
type floors map[floorKey][]floor

type floorKey struct {
	kind   *kind
	option int
}

type floor struct {
	pods int
	long timeline.Long
	at   timeline.Time
}

// under is the floor of a request; 0: none is known.
func (f floors) under(c *contender, option int) (at timeline.Time) {
	key := floorKey{kind: c.key.shape.kind, option: option}
	for _, known := range f[key] {
		if known.pods <= c.key.shape.pods && known.long <= c.long {
			at = max(at, known.at)
		}
	}
	return at
}

// bar says whether a contender with a place is known to fit nowhere before it.
func (f floors) bar(c *contender) bool {
	for i := range c.options {
		if c.at == nil || f.under(c, i) < c.start() {
			return false
		}
	}
	return true
}

// raise notes that a request does not fit before a time.
func (f floors) raise(c *contender, option int, at timeline.Time) {
	if len(c.options[option].sets) != 1 {
		return
	}
	key := floorKey{kind: c.key.shape.kind, option: option}
	is := floor{pods: c.key.shape.pods, long: c.long, at: at}
	f[key] = append(slices.DeleteFunc(f[key], func(was floor) bool {
		return was.pods >= is.pods && was.long >= is.long && was.at <= is.at
	}), is)
}

// failures are requests that do not fit now, as long as holds are only added.
// What is known of a request holds for every one of its kind that asks for as
// many pods and as long, or more; for gangs of several pod sets only if it asks
// for the same.
type failures map[*kind][]needKey

// cover says whether a request is known not to fit.
func (f failures) cover(c *contender) bool {
	for _, known := range f[c.key.shape.kind] {
		if known == c.key {
			return true
		}
		if c.at == nil && known.covers(c.key) {
			return true
		}
	}
	return false
}

// coverClass is cover for a record that has not been looked at.
func (f failures) coverClass(c *class) bool {
	return c.shape != nil && slices.ContainsFunc(f[c.shape.kind], func(known needKey) bool {
		return known.last == timeline.Never && known.shape.pods <= c.shape.pods && known.least <= c.least
	})
}

// add notes that a contender does not fit now. If not even one pod of its kind
// fits for a second, nothing of it does.
func (f failures) add(p *pass, c *contender) {
	kind := c.key.shape.kind
	known, asked := f[kind]
	if !asked && c.key.shape.single() && !p.anyRoom(c) {
		known = append(known, needKey{shape: kind.one, least: 1, last: timeline.Never})
	}
	f[kind] = append(slices.DeleteFunc(known, c.key.covers), c.key)
}

// covers says whether a request that fits nowhere now says the same of another:
// of one of its kind that asks for as many pods and as long, or more.
func (n needKey) covers(other needKey) bool {
	return n.last == timeline.Never && n.shape.single() && other.shape.single() &&
		n.shape.pods <= other.shape.pods && n.least <= other.least
}

// anyRoom says whether one pod of a request for like pods fits now.
func (p *pass) anyRoom(c *contender) bool {
	for i := range c.options {
		one := c.options[i].sets[0]
		one.Pods = 1
		bill := c.key.shape.kind.one.options[i].bill
		if p.full.pays(bill, timeline.SpanOf(p.from, 1)) && p.full.nodes.FitsAt(&one, 1, p.from) {
			return true
		}
	}
	return false
}

// single says whether a request is for one pod set.
func (s *shape) single() bool { return len(s.options) > 0 && len(s.options[0].sets) == 1 }

// earliest holds a contender at the earliest start that any of its flavors
// offers; among equals, the one listed first. A claim that has a place already,
// in another queue, gives it up for an earlier one alone.
func (p *pass) earliest(c *contender, s seating) {
	in := timeline.Span{From: s.from, Till: timeline.Never}
	if c.at != nil {
		in.Till = c.start()
	}
	option, place, ok := p.sooner(c, s.floors, c.within(in))
	if !ok {
		return
	}
	if c.at != nil {
		p.giveBack(c.place)
		p.lower(s.floors, c.place)
	}
	c.settle(option, place)
	p.full.hold(place)
	p.stick(c)
	c.fresh = true
}

// fill is the second way through a round: in order, each may move earlier into
// space that nobody holds, again and again until nothing moves.
func (p *pass) fill(waiting []*contender) {
	f := floors{}
	if p.full.nodes.Len() > 1 { // on one, what is known of its first room says as much: see mayBegin
		p.probe(waiting, f)
	}
	for range roundsMax {
		moved := false
		turns := p.turns()
		if turns != nil {
			waiting = p.order // the turn of a queue ends with any that waits
		}
		for _, c := range waiting {
			if c.plannable() && !c.started {
				moved = p.advance(c, seating{floors: f, from: turns.of(c, p.from)}) || moved
			}
			turns.pass(c)
		}
		if !moved {
			return
		}
	}
}

// probe asks for the shortest of those that ask for as many pods of a kind.
// Where that one finds no room before, the longer ones need not be asked: of a
// thousand planned starts most are answered by a few dozen looks.
func (p *pass) probe(waiting []*contender, f floors) {
	type group struct {
		shape    *shape
		shortest *contender
		till     timeline.Time
	}
	var groups []*group
	byShape := map[*shape]*group{}
	for _, c := range waiting {
		if c.at == nil || c.starts(p) || p.sticks(c) {
			continue
		}
		g, ok := byShape[c.key.shape]
		if !ok {
			g = &group{shape: c.key.shape, shortest: c}
			byShape[c.key.shape] = g
			groups = append(groups, g)
		}
		if c.long < g.shortest.long {
			g.shortest = c
		}
		g.till = max(g.till, c.start())
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(a.shape.pods, b.shape.pods) })
	for _, g := range groups {
		p.sooner(g.shortest, f, timeline.Span{From: p.from, Till: g.till})
	}
}

// advance moves one contender to an earlier start, if there is one; to a start
// now also with a shorter limit, where its author takes that.
func (p *pass) advance(c *contender, s seating) bool {
	if c.starts(p) || s.from == timeline.Never {
		return false
	}
	moved := p.move(c, s)
	if c.starts(p) || s.from > p.from || c.key.least == c.long {
		return moved
	}
	return p.shorten(c, s.floors) || moved
}

// move moves one contender to an earlier start for the whole of its walltime.
func (p *pass) move(c *contender, s seating) bool {
	in, some := p.opened(c)
	if !some {
		return false
	}
	if s.floors.bar(c) && !p.ownHelps(c) {
		p.stick(c)
		return false
	}
	in.From = max(in.From, s.from)
	if c.at != nil {
		in.Till = min(in.Till, c.start())
	}
	in = c.within(in)
	option, place, ok := p.sooner(c, s.floors, in)
	inWay := c.at != nil && in.From < in.Till && p.ownHelps(c)
	if !ok && !inWay {
		p.stick(c)
		return false
	}
	old := *c.claim
	if old.at != nil {
		p.full.release(old.place)
		option, place, ok = p.withoutOwn(c, found{option: option, place: place, ok: ok}, in, inWay)
	}
	if !ok {
		p.full.hold(old.place)
		p.stick(c)
		return false
	}
	c.settle(option, place)
	p.full.hold(place)
	if old.at != nil {
		p.noteGiven(old.place)
		p.lower(s.floors, old.place)
	}
	p.stick(c) // this was the earliest
	return true
}

// found is what a search has found.
type found struct {
	option int
	place  stay
	ok     bool
}

// withoutOwn looks again for an earlier start, now that a contender's own hold
// is out of its way. That can matter for a start after which it would still run
// when that hold begins; where it does not, only the nodes are chosen anew.
func (p *pass) withoutOwn(c *contender, first found, in timeline.Span, inWay bool) (option int, place stay, ok bool) {
	if first.ok && !inWay && first.place.bill.Free() && len(c.options[first.option].sets) == 1 {
		if place, ok = p.full.at(c.demand(first.option), first.place.From); ok {
			return first.option, place, true
		}
	}
	if c.long != timeline.Forever {
		in.From = max(in.From, c.start()-timeline.Time(c.long)+1)
	}
	if first.ok {
		in.From = min(in.From, first.place.From)
	}
	return p.sooner(c, nil, in)
}

// shorten starts a contender now with the longest limit that fits, of those
// that its author takes.
func (p *pass) shorten(c *contender, f floors) bool {
	old := *c.claim
	if old.at != nil {
		p.full.release(old.place)
	}
	var best stay
	option := -1
	for i := range c.options {
		if place, ok := p.longest(c, i); ok && (option < 0 || place.Till > best.Till || (place.Till == best.Till && p.full.borrows(best) && !p.full.borrows(place))) {
			option, best = i, place
		}
	}
	if option < 0 {
		if old.at != nil {
			p.full.hold(old.place)
		}
		return false
	}
	c.settle(option, best)
	p.full.hold(best)
	if old.at != nil {
		p.noteGiven(old.place)
		p.lower(f, old.place)
	}
	return true
}

// sooner is the earliest place in a span, beside all holds. Floors are nil
// where they would not hold.
func (p *pass) sooner(c *contender, f floors, in timeline.Span) (option int, place stay, ok bool) {
	for i := range c.options {
		known := max(p.from, f.under(c, i))
		from := max(in.From, known)
		if from >= in.Till {
			continue
		}
		earlier, found := p.full.earliest(c.demand(i), timeline.Span{From: from, Till: in.Till})
		if found {
			option, place, ok, in.Till = i, earlier, true, earlier.From
		}
		if f != nil && in.From <= known {
			f.raise(c, i, in.Till)
		}
	}
	if ok {
		option, place = p.full.tightest(c, option, place, func(i int) (stay, bool) { return p.full.at(c.demand(i), place.From) })
	}
	if ok && p.full.borrows(place) {
		option, place = p.withoutLoan(c, option, place)
	}
	return option, place, ok
}

// withoutLoan finds an option after one that borrows in which nothing need be
// borrowed for the same start; those before it have none as early.
func (p *pass) withoutLoan(c *contender, option int, loan stay) (int, stay) {
	for i := option + 1; i < len(c.options); i++ {
		if own, ok := p.full.at(c.demand(i), loan.From); ok && !p.full.borrows(own) {
			return i, own
		}
	}
	return option, loan
}

// lower takes into account that a place was given back: a run that would use
// it may now begin as early as its length before it. Where no pod of a request
// fits into what was given back, nothing has changed for it.
func (p *pass) lower(f floors, given stay) {
	for key, known := range f { //order:any each by itself
		if !p.opens(key, given) {
			continue
		}
		for i := range known {
			first := p.from
			if known[i].long != timeline.Forever {
				first = max(first, given.From-timeline.Time(known[i].long)+1)
			}
			known[i].at = min(known[i].at, first)
		}
	}
}

// opens says whether a pod of a kind fits anywhere into a place.
func (p *pass) opens(key floorKey, given stay) bool {
	o := &key.kind.options[key.option]
	if !o.bill.Free() && p.tree.Meets(o.bill, given.bill) {
		return true
	}
	each := o.sets[0].Each
	return slices.ContainsFunc(given.Seats, func(s timeline.Seat) bool { return p.full.nodes.Opens(s.Node, each, given.Span) })
}

// ownHelps says whether a contender's own hold may be in its way: only if one
// of its nodes has room just before it, for a pod of any of its sets, or what it
// takes of a quota is there.
func (p *pass) ownHelps(c *contender) bool {
	just := timeline.Span{From: c.start() - 1, Till: c.start()}
	for i := range c.options {
		if p.ownHelpsIn(c, &c.options[i], just) {
			return true
		}
	}
	return false
}

func (p *pass) ownHelpsIn(c *contender, o *option, just timeline.Span) bool {
	switch {
	case !p.full.pays(o.bill, just):
		return false
	case !o.bill.Free() && p.tree.Meets(o.bill, c.place.bill):
		return true // its own quota is in its way on any nodes
	}
	for _, s := range c.place.Seats {
		for i := range o.sets {
			if p.full.nodes.Opens(s.Node, o.sets[i].Each, just) {
				return true
			}
		}
	}
	return false
}
