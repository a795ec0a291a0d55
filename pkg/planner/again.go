package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// seen is what the last way through the order found for a contender. It is
// frozen: the next plan may begin with it.
type seen struct {
	turn  int // its index among those seen
	looks []timeline.Look
	place timeline.Place // no seats: it got none
}

// trail is a way through those that wait, compared with the same way before.
//
// Most of it is the same every time: placements are chosen anew so that they
// are the best there are, not because anything has changed. So the questions
// are kept with their answers, and each is asked again of those nodes only that
// are not as they were when its turn came the last time: nodes on which what
// runs has changed, and nodes of holds that came, went or moved before it in
// the order.
type trail struct {
	steps   []*seen
	line    *timeline.Timeline // what ran
	changed *timeline.Nodes
}

// has says whether a step belongs to this trail.
func (t *trail) has(s *seen) bool { return s.turn < len(t.steps) && t.steps[s.turn] == s }

// follow begins a trail after the last one. Of those that come now, in their
// order, it forgets what is known if they do not come again as they did.
func (t *trail) follow(line *timeline.Timeline, known []**seen) {
	last := *t
	*t = trail{line: line.Clone()}
	if last.line == nil {
		t.changed = timeline.NewNodes(line.Len())
		for _, s := range known {
			*s = nil
		}
		return
	}
	t.changed = timeline.Differ(last.line, line)
	again := make([]bool, len(last.steps))
	turn := -1
	for _, s := range known {
		if (*s).turn <= turn || !last.has(*s) {
			*s = nil
			continue
		}
		turn = (*s).turn
		again[turn] = true
	}
	for i, step := range last.steps {
		if !again[i] {
			t.changed.AddPlace(step.place)
		}
	}
}

// question is what is asked for an option of a contender.
type question struct {
	option int
	need   timeline.Need
	at     timeline.Time
}

// look asks a question on a line, as far as the answer is not known.
func (t *trail) look(line *timeline.Timeline, was *seen, q question) timeline.Look {
	if was != nil && q.option < len(was.looks) && was.looks[q.option].Asks(q.need, q.at) {
		return line.LookAgain(was.looks[q.option], t.changed)
	}
	return line.Look(q.need, q.at)
}

// step notes what the trail has found, in the place of what was known.
func (t *trail) step(known **seen, is seen) {
	is.turn = len(t.steps)
	switch was := *known; {
	case was == nil:
		t.changed.AddPlace(is.place)
	case !is.place.Equal(was.place):
		t.changed.AddPlace(was.place)
		t.changed.AddPlace(is.place)
	}
	*known = &is
	t.steps = append(t.steps, &is)
}

// placeOf is the place that a look has found, with what keeps its nodes whole.
func placeOf(l *timeline.Look, bill quota.Bill) (stay, bool) {
	if !l.Found {
		return stay{}, false
	}
	place := l.Place
	place.Seats = slices.Clip(place.Seats)
	return stay{Place: keepWhole(l.Need.Sets, place), bill: bill}, true
}

// beginTrail begins the way through the order.
func (p *pass) beginTrail() {
	var known []**seen
	for _, c := range p.order[:p.reached] {
		switch {
		case c.seen == nil:
		case c.started || len(c.records) > 1:
			c.seen = nil
		default:
			known = append(known, &c.seen)
		}
	}
	p.trail.follow(p.line.nodes, known)
}

// lookAt is when a place is looked for, and in which way.
type lookAt struct {
	start timeline.Time
	how   manner
}

// look asks for a place beside all that is on p.full.
func (p *pass) look(c *contender, option int, l lookAt) (stay, bool) {
	d := c.demand(option)
	if l.how == asBefore {
		return p.full.at(d, l.start) // not the way that is kept
	}
	var look timeline.Look
	if p.full.pays(d.bill, timeline.SpanOf(l.start, d.Long)) {
		look = p.trail.look(p.full.nodes, c.seen, question{option: option, need: d.Need, at: l.start})
	} // else the nodes are not asked, and nothing is known of them
	c.looks = append(c.looks, look)
	return placeOf(&look, d.bill)
}

// step notes what the way through the order has found for a contender.
func (p *pass) step(c *contender) {
	is := seen{looks: c.looks}
	c.looks = nil
	if c.placed() {
		is.place = c.place.Place
		if is.looks == nil && c.option == 0 {
			is.looks = []timeline.Look{p.full.nodes.Noted(c.demand(0).Need, seatsAlone(c.place.Place))}
		}
	}
	p.trail.step(&c.seen, is)
}

// stepOver notes that a contender gets no place this time.
func (p *pass) stepOver(c *contender) {
	if c.seen != nil {
		p.trail.changed.AddPlace(c.seen.place)
		c.seen = nil
	}
}

// stuck is a contender for which no earlier start was found beside all holds
// but its own.
type stuck struct {
	known  bool
	placed bool
	place  stay // its own
	read   int  // gains of nodes up to here do not help it
	round  int  // at whose end that was so

	freed  int  // gains of quotas up to here do not help it
	unpaid bool // quota may have been in the way, not the nodes alone
}

// giveBack gives a place back, and notes who may gain by it.
func (p *pass) giveBack(place stay) {
	p.full.release(place)
	if !place.bill.Free() {
		p.freed = append(p.freed, p.tree.GainsOf(place.bill, payTime(place.Span))...)
	}
	for _, s := range place.Seats {
		p.gains = append(p.gains, timeline.Gain{Span: place.Span, Node: s.Node})
	}
}

// stick notes that there is no earlier start for a contender. With less room
// there is none either, so that it need not look again before there is more.
//
// For gangs of several pod sets that does not hold: less room may by chance be
// spread better. Nor does it where a start has to wait for its turn.
func (p *pass) stick(c *contender) {
	if len(c.records) > 1 || p.turns() != nil || slices.ContainsFunc(c.options, func(o option) bool { return len(o.sets) != 1 }) {
		return
	}
	c.stuck = stuck{
		known: true, placed: c.placed(), place: c.place, read: len(p.gainsOf(c).gains),
		freed: len(p.freed), unpaid: p.unpaid(c),
	}
}

// sticks says whether there is still no earlier start for a contender.
func (p *pass) sticks(c *contender) bool {
	_, some := p.opened(c)
	return !some
}

// opened is when a contender may have an earlier start; false: it has none.
//
// Of one that was stuck, a run that was not possible then must use what was
// gained since: it runs at that time, and one of its pods on that node.
func (p *pass) opened(c *contender) (in timeline.Span, some bool) {
	if p.full.nodes.Len() == 1 && c.placed() && !p.mayBegin(c) {
		return timeline.Span{}, false
	}
	k := &c.stuck
	if !k.known || k.placed != c.placed() || (k.placed && !k.place.Equal(c.place)) {
		k.known = false
		return timeline.Span{From: p.from, Till: timeline.Never}, true
	}
	k.place = c.place // equal at a glance, the next time
	known := p.gainsOf(c)
	in = timeline.Span{From: timeline.Never}
	if own := c.holdsOn(known.nodes); k.read < len(known.gains) && (own || p.mayHelp(c, known)) {
		in = p.helps(c, known.gains[k.read:], own)
	}
	if k.unpaid && slices.ContainsFunc(p.freed[k.freed:], func(g quota.Gain) bool { return p.relieves(c, g) }) {
		k.known = false
		return timeline.Span{From: p.from, Till: timeline.Never}, true
	}
	if in.From >= in.Till {
		k.read, k.freed = len(known.gains), len(p.freed)
		return in, false
	}
	return in, true
}

// mayBegin says whether a pod of a contender finds room before its start, as far
// as can be told at once.
func (p *pass) mayBegin(c *contender) bool {
	return slices.ContainsFunc(c.options, func(o option) bool { return p.full.nodes.MayBegin(o.sets[0].Each, c.start()) })
}

// unpaid says whether quota may keep a contender from an earlier start: then
// quota that is freed may help it. Else the nodes alone do, and will until they
// have more room.
func (p *pass) unpaid(c *contender) bool {
	in := timeline.Span{From: p.from, Till: timeline.Never}
	if c.placed() {
		in.Till = c.start() // from then on its own hold has paid
	}
	return in.From < in.Till && slices.ContainsFunc(c.options, func(o option) bool { return !p.full.pays(o.bill, in) })
}

// relieves says whether a contender could begin earlier by quota that is freed.
func (p *pass) relieves(c *contender, g quota.Gain) bool {
	in := timeline.Span{From: p.from, Till: timeline.Time(g.Till)}
	if c.placed() {
		in.Till = min(in.Till, c.start())
	}
	if c.long != timeline.Forever {
		in.From = max(in.From, timeline.Time(g.From)-timeline.Time(c.long)+1)
	}
	return in.From < in.Till && slices.ContainsFunc(c.options, func(o option) bool {
		if !p.tree.Helps(g, o.bill) {
			return false
		}
		_, ok := p.full.ledger.Earliest(o.bill, 1, payTime(in))
		return ok
	})
}

// gainsOf are the gains that have room for a pod of a contender's kind.
func (p *pass) gainsOf(c *contender) *kindGains {
	kind := c.key.shape.kind
	known, ok := p.gainsOfKind[kind]
	if !ok {
		known = &kindGains{nodes: timeline.NewNodes(p.full.nodes.Len()), chances: make([]timeline.Chance, len(kind.options))}
		p.gainsOfKind[kind] = known
	}
	for _, g := range p.gains[known.read:] {
		if slices.ContainsFunc(kind.options, func(o option) bool { return p.full.nodes.Opens(g.Node, o.sets[0].Each, g.Span) }) {
			known.gains = append(known.gains, g)
			known.nodes.Add(g.Node)
		}
	}
	known.read = len(p.gains)
	return known
}

// kindGains are those of the gains that matter to a kind.
type kindGains struct {
	gains   []timeline.Gain
	nodes   *timeline.Nodes   // of the gains
	chances []timeline.Chance // on them, by option
	read    int               // of all
}

// holdsOn says whether a contender's own hold lies on any of some nodes.
func (c *contender) holdsOn(nodes *timeline.Nodes) bool {
	return c.placed() && slices.ContainsFunc(c.place.Seats, func(s timeline.Seat) bool { return nodes.Has(s.Node) })
}

// mayHelp says whether any gain has room for a run as long as a contender's
// before its start, as far as can be told at once.
func (p *pass) mayHelp(c *contender, known *kindGains) bool {
	till := timeline.Never
	if c.placed() {
		till = c.start()
	}
	for i := range known.chances {
		p.full.nodes.Chances(&known.chances[i], &c.key.shape.kind.options[i].sets[0], known.nodes)
		if !known.chances[i].Shut(c.long, till) {
			return true
		}
	}
	return false
}

// helps is when a contender could begin earlier by use of gains; empty: never.
// own says that its own hold lies on the node of some gain.
func (p *pass) helps(c *contender, gains []timeline.Gain, own bool) timeline.Span {
	till := timeline.Never
	if c.placed() {
		till = c.start()
	}
	part := timeline.Span{From: timeline.Never}
	if own { // there its own hold is out of its way
		for _, g := range gains {
			in := timeline.Span{From: p.from, Till: min(g.Till, till)}
			if c.long != timeline.Forever {
				in.From = max(in.From, g.From-timeline.Time(c.long)+1)
			}
			if in.From < in.Till && slices.ContainsFunc(c.place.Seats, func(s timeline.Seat) bool { return s.Node == g.Node }) {
				part.From, part.Till = min(part.From, in.From), max(part.Till, in.Till)
			}
		}
	}
	for i := range c.options {
		begins := p.full.nodes.BeginsBy(&c.options[i].sets[0], c.long, gains, till)
		part.From, part.Till = min(part.From, begins.From), max(part.Till, begins.Till)
	}
	return part
}

// regain begins the second way through a round: what has more room than when
// the last one ended may help somebody.
func (p *pass) regain(waiting []*contender) {
	if p.settled != nil {
		p.gains = append(p.gains, timeline.Gains(p.settled.nodes, p.full.nodes)...)
		p.freed = append(p.freed, quota.Gains(p.settled.ledger, p.full.ledger)...)
	}
	for _, c := range waiting {
		if !c.fresh {
			c.stuck.read, c.stuck.freed = 0, 0
			c.stuck.known = c.stuck.known && c.stuck.round == p.filled
		}
		c.fresh = false
	}
}

// endRound ends a round: what is known of those that are stuck holds for
// p.full as it is now.
func (p *pass) endRound(planned []*contender) {
	p.filled++
	p.full.held = 0
	for _, c := range planned {
		if p.sticks(c) {
			c.stuck.round = p.filled
		}
		if c.placed() && !c.started {
			p.full.held++
		}
	}
	p.settled, p.left = p.full, p.full
}
