package planner

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// try finds a place for one contender, if it may take that of others, would
// start sooner by it, and there is one.
func (h *hunt) try(index int, c *contender) {
	s := h.scene(c)
	if !s.safe.IsZero() {
		h.p.wake(s.safe)
		if h.prey == preyRuns { // of the others not all that are exempt are known
			h.p.noteSafe(c, s.exempt)
		}
	}
	if len(s.victims) == 0 || s.isLate(c) || !h.mayTake(c) {
		return
	}
	if h.full() {
		h.p.plan.Stats.Unsettled = true // it is looked at by the next plan
		return
	}
	for option := 0; option < len(c.options); {
		end := endOfGroup(c.options, option)
		var best *deal
		for ; option < end; option++ {
			if d := h.weigh(index, c, option, s); d != nil && (best == nil || d.compare(best) < 0) {
				best = d
			}
		}
		if best != nil {
			h.close(index, best)
			return
		}
	}
}

// weigh finds the cheapest victims for an option of a contender; nil: none do. It
// takes the longest limit for which there is room when all are gone, as a start into
// idle room does.
func (h *hunt) weigh(index int, c *contender, option int, s *scene) *deal {
	law := h.lawFor(c, option, s)
	if s.byQuota && s.none(law) {
		s.noteLawless(c, option)
		if !s.higher {
			return nil
		}
		s.ofHigher = h.sceneOfHigher(c)
		if s = s.ofHigher; len(s.victims) == 0 {
			return nil
		}
	}
	s.build()
	c = c.lasting(c.capped(h.p.from))
	if s.barren.has(c, option) && c.key.least >= c.long {
		return nil
	}
	s.catchUp(index)
	if d := s.asItIs(c, option); d != nil {
		return d
	}
	if !s.couldDo(c, option) {
		if c = s.shorter(c, option); c == nil {
			return nil
		}
	}
	of, known := s.open(c, law)
	if len(of.victims) == 0 || known.has(c, option) {
		return nil
	}
	of.catchUp(index)
	d, found := h.find(c, option, of, of == s)
	switch found {
	case noRoom:
		known.add(c, option)
	case noUse:
	case someDo:
		d.scene, s.idle = s, len(d.victims) == 0
	}
	return d
}

// deal is a place, and who gives it up.
type deal struct {
	option  int
	scene   *scene // in which it was found
	place   stay
	victims []*victim
	causes  []batch.Cause // why they go
	byQuota bool          // some of them, since quotas say so
	bill    *bill
}

// compare orders deals: the lowest highest standing of a victim, then the price.
func (d *deal) compare(other *deal) int {
	if len(d.victims) == 0 || len(other.victims) == 0 {
		return cmp.Compare(len(d.victims), len(other.victims))
	}
	return cmp.Or(d.highest().compare(other.highest()), d.bill.compare(other.bill))
}

func (d *deal) highest() standing {
	return slices.MaxFunc(d.victims, func(a, b *victim) int { return a.standing.compare(b.standing) }).standing
}

// close makes a deal with a contender.
func (h *hunt) close(index int, d *deal) {
	c := h.p.order[index]
	if len(d.victims) == 0 {
		h.settled[c.claim], h.places[c.claim] = true, d.place
		if at, held := slices.BinarySearch(h.held, index); !held {
			h.held = slices.Insert(h.held, at, index)
		}
		return
	}
	if len(h.made) == 0 {
		h.beside = maps.Clone(d.scene.beside)
	}
	h.commit(c, d)
}

// finding is what came of a search.
type finding int

const (
	noRoom finding = iota // not even if all go that may
	noUse                 // but it would not help
	someDo
)

// find finds the cheapest victims for an option of a contender. Where it is of no
// use that some do not start, they do, and it is for those that run to go: so
// the next plan would find it. sure says that there is room when all are gone.
func (h *hunt) find(c *contender, option int, s *scene, sure bool) (*deal, finding) {
	d, found := h.findAmong(c, option, s, sure)
	if found != noUse || h.prey != preyAll {
		return d, found
	}
	runs := slices.DeleteFunc(slices.Clone(s.victims), func(v *victim) bool { return v.start != nil })
	if len(runs) == 0 || len(runs) == len(s.victims) {
		return nil, noUse
	}
	if d, found = h.findAmong(c, option, s.with(runs), false); found == noRoom {
		return nil, noUse // there is, with all of them
	}
	return d, found
}

// findAmong is find, with these victims as they are; sure: there is room when all are gone.
func (h *hunt) findAmong(c *contender, option int, s *scene, sure bool) (*deal, finding) {
	b := bid{contender: c, option: option, scene: s, demand: s.demand(c, option)}
	if !sure && !s.has(b.demand) {
		return nil, noRoom
	}
	search, victims := h.cheapestLawful(&b)
	if search == nil {
		return nil, noUse
	}
	defer search.end()
	place, ok := search.board.at(b.demand, h.p.from)
	if !ok {
		return nil, noUse // gangs of several pod sets may by chance fit no more
	}
	if len(victims) == 0 {
		return &deal{option: option, place: place}, someDo
	}
	if d := h.dealFor(b, search, place, victims); d != nil {
		return d, someDo
	}
	return nil, noUse
}

// dealFor is the deal that a set of victims makes, less those that need not go; nil:
// it is of no use.
func (h *hunt) dealFor(b bid, search *search, place stay, victims []*victim) *deal {
	p, c := h.p, b.contender
	start, ok := b.scene.emptyAt(search.board, place, b.demand.Long)
	if !ok {
		return nil
	}
	stayOut := !slices.ContainsFunc(victims, func(v *victim) bool { return v.start == nil })
	if start > p.from && stayOut && b.scene.fitsBefore(search.board, place) {
		start = p.from
	}
	if some, sooner := p.needed(victims, start); len(some) < len(victims) && h.lawful(c, b.option, b.scene, some) {
		victims, start = some, sooner
		search.keepTo(victims)
	} else {
		start = p.allGone(victims, start)
	}
	span := c.ending(timeline.SpanOf(start, c.long))
	if len(victims) == 0 || !c.gainsBy(span) || p.late(victims, start) >= c.key.last {
		return nil
	}
	if start > p.from && h.prey != preyNamed && stayOut {
		return nil // who stays out makes room now, and not later
	}
	d := &deal{option: b.option, place: place.during(span), victims: victims, bill: search.bill()}
	if start > p.from && h.crowds(search.board, d) {
		return nil
	}
	d.causes, d.byQuota = h.causesOf(c, place.bill, b.scene, victims)
	return d
}

// fitsBefore says whether a stay may begin now beside those that give way already, on
// the board on which emptyAt has put them back: a place that is kept takes nothing of
// nodes and quotas before they have left it. It uses the board up.
func (s *scene) fitsBefore(b *board, at stay) bool {
	from := s.hunt.p.from
	kept := slices.Clone(s.hunt.kept)
	for _, c := range s.hunt.nominees() {
		if !s.maySpare(c) {
			kept = append(kept, c.place)
		}
	}
	for _, k := range kept {
		if k.From > from {
			b.release(k.during(timeline.Span{From: from, Till: k.From}))
		}
	}
	return b.fits(at)
}

// crowds says whether a place would not do if it were begun in early, beside victims
// that still hold theirs: who has a place kept starts as soon as there is room, and
// there may be, until somebody comes who is planned within their grace. It uses the
// board up.
func (h *hunt) crowds(b *board, d *deal) bool {
	p := h.p
	early, ok := p.line.nodes.FirstFit(d.place.Place, timeline.Long(d.place.Till-d.place.From), p.from)
	if !ok || early.From >= d.place.From {
		return false
	}
	for _, v := range d.victims {
		h.lookUp(v)
		for _, held := range v.holds {
			if till := min(held.till, p.from+timeline.Time(v.late())); till > p.from && d.place.on(held.node) {
				b.nodes.Charge(held.node, held.takes, timeline.Span{From: p.from, Till: till})
			}
		}
	}
	return !b.nodes.Fits(d.place.during(timeline.Span{From: early.From, Till: d.place.From}).Place)
}

// on says whether a stay takes anything of a node.
func (s stay) on(node int) bool {
	return slices.ContainsFunc(s.Seats, func(seat timeline.Seat) bool { return seat.Node == node })
}

// late is when a place is expected to be free at the latest that victims make at a
// time. Who must have ended by then has nothing of it.
func (p *pass) late(victims []*victim, start timeline.Time) timeline.Time {
	for _, v := range victims {
		start = max(start, p.from+timeline.Time(v.late()))
	}
	return start
}

// gainsBy says whether a contender accepts to run for a span, and starts sooner so.
func (c *contender) gainsBy(s timeline.Span) bool { return s.From < c.planned() && c.takes(s) }

// planned is when a contender starts as things are; Never: nobody knows.
func (c *contender) planned() timeline.Time {
	if c.at == nil {
		return timeline.Never
	}
	return c.start()
}

// emptyAt is when a stay is free for a length of those that give way already, and of
// those that expire; false: never.
func (s *scene) emptyAt(b *board, at stay, long timeline.Long) (timeline.Time, bool) {
	p := s.hunt.p
	from, back := p.givenAt(b, at), false
	takes := map[int]bool{}
	for _, seat := range at.Seats {
		takes[seat.Node] = true
	}
	for _, v := range s.expiring {
		for _, h := range v.holds {
			if takes[h.node] {
				b.nodes.Charge(h.node, h.takes, timeline.Span{From: p.from, Till: h.till})
				back = true
			}
		}
		if slices.ContainsFunc(v.pays, func(c quota.Charge) bool { return p.tree.Meets(c.Bill, at.bill) }) {
			b.settle(v.pays, p.from, false)
			back = true
		}
	}
	if !back {
		return from, true
	}
	first, _, ok := b.firstFit(at, long, from)
	if !ok {
		return 0, false
	}
	return first.From, true
}

// givenAt is when a stay is free of those that give way already.
func (p *pass) givenAt(b *board, s stay) timeline.Time {
	at := p.from
	seen := map[int]bool{}
	var charged []timeline.Seat
	for _, seat := range s.Seats {
		if seen[seat.Node] {
			continue
		}
		seen[seat.Node] = true
		for _, g := range p.gifts(seat.Node) {
			at = max(at, g.till)
			charged = append(charged, timeline.Seat{Node: seat.Node, Each: g.takes})
			b.nodes.Charge(seat.Node, g.takes, timeline.Span{From: p.from, Till: g.till})
		}
	}
	var paid []quota.Charge
	if last := p.refunds().last(s.bill); last > 0 {
		at = max(at, last)
		for _, g := range p.refunds().all {
			if p.tree.Meets(g.Bill, s.bill) {
				paid = append(paid, g)
			}
		}
	}
	if len(charged)+len(paid) == 0 {
		return at
	}
	b.settle(paid, p.from, false)
	if b.fits(s) {
		return p.from // beside them
	}
	return at
}

// commit evicts the victims and keeps their place for the contender.
func (h *hunt) commit(c *contender, d *deal) {
	p, place, victims := h.p, d.place, d.victims
	n := &batch.Nomination{Cause: batch.CauseReclaimed, Since: p.now}
	h.reckoned++
	for i, v := range victims {
		v.gone = true
		cause := d.causes[i]
		if cause == batch.CausePreempted {
			n.Cause = cause
		}
		if v.start != nil {
			h.stayOut[v.Workload.ID] = c.workload()
		} else {
			h.taken[v.Workload.ID] = p.pushOut(v.Started, c.workload(), cause)
			n.Victims = append(n.Victims, v.Workload.ID)
		}
		for _, held := range v.holds {
			h.touched.Add(held.node)
		}
		if h.usage != nil {
			removePaid(h.usage, v)
			removePaid(h.most, v)
		}
	}
	if h.usage != nil {
		h.usage.Add(place.bill)
		h.most.Add(place.bill)
	}
	n.Allocation = p.allocationAt(c, d.option, place.Place)
	n.Allocation.Via = batch.ViaPreemption
	h.named[c.workload().ID] = n
	h.made = append(h.made, made{id: c.workload().ID, byQuota: d.byQuota})
	h.settled[c.claim] = true
	h.gone, h.kept = append(h.gone, victims...), append(h.kept, place)
	h.done = append(h.done, done{victims: victims, place: place})
	for _, v := range victims {
		i, _ := slices.BinarySearchFunc(h.victims, v, func(a, b *victim) int { return cmp.Compare(a.rank, b.rank) })
		h.victims = slices.Delete(h.victims, i, i+1)
	}
}
