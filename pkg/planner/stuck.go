package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// stuck is a contender for which no earlier start was found beside all holds
// but its own.
type stuck struct {
	known  bool
	placed bool
	unpaid bool  // quota may have been in the way, not the nodes alone
	broke  bool  // quota allows no earlier start on any nodes
	round  int32 // at whose end that was so
	read   int32 // gains of nodes up to here do not help it
	freed  int32 // gains of quotas up to here do not help it
	place  stay  // its own

	shut shut
}

// shut is a board that has no earlier start as it is: as long as it has not been
// written again, nor the place been changed.
type shut struct {
	on *board // nil: none is known
	at int    // so often it had been written
}

// reliefs are gains of quotas, by the root of their tree.
type reliefs map[int][]quota.Gain

func (r reliefs) add(gains []quota.Gain) {
	for _, g := range gains {
		r[g.Root] = append(r[g.Root], g)
	}
}

// forgetGains begins anew on another p.full: nothing has been gained yet. What is
// known of a kind's gains names the board that they are of.
func (p *pass) forgetGains() {
	p.gains = p.gains[:0]
	clear(p.freed)
	clear(p.gainsOfKind)
}

// gainedNothing says whether nobody has more room, or quota, than before.
func (p *pass) gainedNothing() bool { return len(p.gains) == 0 && len(p.freed) == 0 }

// giveBack gives a place back, and notes who may gain by it.
func (p *pass) giveBack(place stay) {
	p.full.release(place)
	p.noteGiven(place)
}

// noteGiven notes who may gain by a place that was given back, for good: one that is
// held again when nothing better was found has helped nobody.
func (p *pass) noteGiven(place stay) {
	if !place.bill.Free() {
		p.freed.add(p.tree.GainsOf(place.bill, payTime(place.Span)))
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
		known: true, placed: c.placed(), place: c.place, read: int32(len(p.gainsOf(c).gains)),
		freed: int32(len(p.freed[c.key.shape.root])), unpaid: p.unpaid(c),
	}
}

// sticks says whether there is still no earlier start for a contender.
func (p *pass) sticks(c *contender) bool {
	_, some := p.opened(c)
	return !some
}

// opened is when a contender may have an earlier start; false: it has none. As
// long as nothing is written to the board, one answer is enough.
func (p *pass) opened(c *contender) (in timeline.Span, some bool) {
	written := p.full.nodes.Written()
	if shut := &c.stuck.shut; shut.on == p.full && shut.at == written {
		return timeline.Span{}, false
	}
	if in, some = p.opening(c); !some {
		c.stuck.shut = shut{on: p.full, at: written}
	}
	return in, some
}

// opening is opened, where that is not known.
//
// Of one that was stuck, a run that was not possible then must use what was
// gained since: it runs at that time, and one of its pods on that node.
func (p *pass) opening(c *contender) (in timeline.Span, some bool) {
	k := &c.stuck
	still := k.stillAt(c)
	if still && p.gainedNothing() && k.read == 0 && k.freed == 0 {
		return timeline.Span{}, false
	}
	room := p.from
	if p.full.nodes.Len() == 1 && c.key.shape.single() {
		known := p.gainsKnown(c)
		if c.placed() && !p.mayBegin(c, known) {
			return timeline.Span{}, false
		}
		room = max(room, p.firstRoom(known)) // its own hold, if any, begins later
	}
	known := p.gainsOf(c)
	freed := p.freed[c.key.shape.root]
	if still && k.hasRead(known, freed) {
		return timeline.Span{}, false
	}
	if !still {
		k.known = false
		return timeline.Span{From: room, Till: timeline.Never}, true
	}
	if in = p.reopened(c, known, freed); in.From >= in.Till {
		k.read, k.freed = int32(len(known.gains)), int32(len(freed))
		return in, false
	}
	in.From = max(in.From, room)
	return in, true
}

// hasRead says whether one that is stuck has nothing to hope for from what was
// gained of nodes and of quotas since it became so.
func (k *stuck) hasRead(known *kindGains, freed []quota.Gain) bool {
	nodes, quotas := int(k.read) == len(known.gains), int(k.freed) == len(freed)
	return quotas && (k.broke || nodes) || nodes && !k.unpaid
}

// stillAt says whether a contender is where it was found to be stuck.
func (k *stuck) stillAt(c *contender) bool {
	return k.known && k.placed == c.placed() && (!k.placed || k.place.Equal(c.place))
}

// reopened is when one that was stuck may have an earlier start by what was
// gained since; empty: never. What it can pay is asked first: where quota is
// short, most can pay no earlier start on whatever nodes.
func (p *pass) reopened(c *contender, known *kindGains, freed []quota.Gain) (in timeline.Span) {
	k := &c.stuck
	paid := p.payable(c, timeline.Span{From: p.from, Till: c.due()})
	if k.broke = paid.From >= paid.Till; k.broke {
		k.unpaid = true
		return paid
	}
	in = timeline.Span{From: timeline.Never}
	if int(k.read) < len(known.gains) {
		if own := c.holdsOn(known.nodes); own && k.read == 0 && p.full.nodes.Len() == 1 {
			in = known.all.Uses(c.long, timeline.Span{From: p.from, Till: c.due()}) // and may be more than that
		} else if own || p.mayHelp(c, known) {
			in = p.helps(c, known.gains[k.read:], own)
		}
	}
	if k.unpaid {
		relief := p.relief(c, freed[k.freed:])
		in.From, in.Till = min(in.From, relief.From), max(in.Till, relief.Till)
	}
	switch {
	case in.From >= in.Till:
		return in
	case in.From <= paid.From:
		in.From = paid.From
	default:
		in = p.payable(c, in)
	}
	k.unpaid = k.unpaid || in.From >= in.Till // what is freed may help it
	return in
}

// mayBegin says whether a contender may have room for an earlier start on the only
// node, as far as can be told at once: for a whole run before its hold begins, or
// just before that, as then its own hold is out of its way.
func (p *pass) mayBegin(c *contender, known *kindGains) bool {
	room, start := p.firstRoom(known), c.start()
	switch {
	case room >= start:
		return false
	case c.long != timeline.Forever && room+timeline.Time(c.long) <= start:
		return true
	}
	just := timeline.Span{From: start - 1, Till: start}
	return known.kind.opens(p.full.nodes, timeline.Gain{Span: just})
}

// opens says whether a pod of a kind fits where there is more room.
func (k *kind) opens(nodes *timeline.Timeline, g timeline.Gain) bool {
	for i := range k.options {
		if nodes.Opens(g.Node, k.options[i].sets[0].Each, g.Span) {
			return true
		}
	}
	return false
}

// firstRoom is a time before which the only node has no room for a pod of a kind.
func (p *pass) firstRoom(known *kindGains) timeline.Time {
	if written := p.full.nodes.Written(); known.roomAt != written {
		known.room, known.roomAt = timeline.Never, written
		for i := range known.kind.options {
			known.room = min(known.room, p.full.nodes.FirstRoom(known.kind.options[i].sets[0].Each))
		}
	}
	return known.room
}

// unpaid says whether quota may keep a contender from an earlier start: then
// quota that is freed may help it. Else the nodes alone do, and will until they
// have more room.
func (p *pass) unpaid(c *contender) bool {
	in := timeline.Span{From: p.from, Till: c.due()} // from then on its own hold has paid
	return in.From < in.Till && slices.ContainsFunc(c.options, func(o option) bool { return !p.full.pays(o.bill, in) })
}

// relief is when a contender could begin earlier by use of quota that is freed;
// empty: never.
func (p *pass) relief(c *contender, gains []quota.Gain) timeline.Span {
	till, part := c.due(), timeline.Span{From: timeline.Never}
	for _, g := range gains {
		if !slices.ContainsFunc(c.options, func(o option) bool { return p.tree.Helps(g, o.bill) }) {
			continue
		}
		from := p.from
		if c.long != timeline.Forever {
			from = max(from, timeline.Time(g.From)-timeline.Time(c.long)+1)
		}
		part.From, part.Till = min(part.From, from), max(part.Till, timeline.Time(g.Till))
	}
	part.Till = min(part.Till, till)
	return part
}

// payable is the part of a span behind the first start that quota allows; empty:
// it allows none. From the start of a contender's own hold on, that has paid.
func (p *pass) payable(c *contender, in timeline.Span) timeline.Span {
	if in.From >= in.Till || p.full.ledger == nil {
		return in
	}
	term := quota.Term{Long: quota.Time(c.long), Till: quota.Time(c.due())}
	from := timeline.Never
	for i := range c.options {
		if bill := c.options[i].bill; bill.Free() {
			return in
		} else if at, ok := p.full.ledger.Earliest(bill, term, payTime(in)); ok {
			from = min(from, timeline.Time(at))
		}
	}
	return timeline.Span{From: from, Till: in.Till}
}

// due is when a contender's hold begins; Never: it has none.
func (c *contender) due() timeline.Time {
	if c.placed() {
		return c.start()
	}
	return timeline.Never
}

// gainsKnown is what is known of the gains of a contender's kind.
func (p *pass) gainsKnown(c *contender) *kindGains {
	if c.gained == nil || c.gained.board != p.full {
		kind := c.key.shape.kind
		known := p.gainsOfKind[kind]
		if known == nil {
			known = &kindGains{kind: kind, board: p.full, roomAt: -1}
			p.gainsOfKind[kind] = known
		}
		c.gained = known
	}
	return c.gained
}

// gainsOf are the gains that have room for a pod of a contender's kind.
func (p *pass) gainsOf(c *contender) *kindGains {
	known := p.gainsKnown(c)
	kind := known.kind
	for _, g := range p.gains[known.read:] {
		if kind.opens(p.full.nodes, g) {
			if known.gains == nil { // of most kinds there are none
				known.nodes = timeline.NewNodes(p.full.nodes.Len())
				known.chances = make([]timeline.Chance, len(kind.options))
				known.all = g
			}
			known.all.From, known.all.Till = min(known.all.From, g.From), max(known.all.Till, g.Till)
			known.gains = append(known.gains, g)
			known.nodes.Add(g.Node)
		}
	}
	known.read = len(p.gains)
	return known
}

// kindGains are those of the gains that matter to a kind.
type kindGains struct {
	kind    *kind
	board   *board // that has gained
	gains   []timeline.Gain
	all     timeline.Gain     // of them taken together, where there is one node
	nodes   *timeline.Nodes   // of the gains
	chances []timeline.Chance // on them, by option
	read    int               // of all

	room   timeline.Time // no pod of the kind begins before, where there is one node
	roomAt int           // when so much had been written to it
}

// holdsOn says whether a contender's own hold lies on any of some nodes.
func (c *contender) holdsOn(nodes *timeline.Nodes) bool {
	return c.placed() && slices.ContainsFunc(c.place.Seats, func(s timeline.Seat) bool { return nodes.Has(s.Node) })
}

// mayHelp says whether any gain has room for a run as long as a contender's
// before its start, as far as can be told at once.
func (p *pass) mayHelp(c *contender, known *kindGains) bool {
	till := c.due()
	for i := range known.chances {
		p.full.nodes.Chances(&known.chances[i], &c.key.shape.kind.options[i].sets[0], known.nodes)
		if !known.chances[i].Shut(c.long, till) {
			return true
		}
	}
	return false
}

// helps is when a contender could begin earlier by use of gains; empty: never.
// own says that its own hold lies on the node of some gain: there it is out of
// its way, and it may begin whenever it uses the gain.
func (p *pass) helps(c *contender, gains []timeline.Gain, own bool) timeline.Span {
	till := c.due()
	part := timeline.Span{From: timeline.Never}
	if own {
		elsewhere, only := p.elsewhere[:0], p.full.nodes.Len() == 1
		for _, g := range gains {
			if !only && !slices.ContainsFunc(c.place.Seats, func(s timeline.Seat) bool { return s.Node == g.Node }) {
				elsewhere = append(elsewhere, g)
			} else if in := g.Uses(c.long, timeline.Span{From: p.from, Till: till}); in.From < in.Till {
				part.From, part.Till = min(part.From, in.From), max(part.Till, in.Till)
			}
		}
		gains, p.elsewhere = elsewhere, elsewhere
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
		p.freed.add(quota.Gains(p.settled.ledger, p.full.ledger))
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
