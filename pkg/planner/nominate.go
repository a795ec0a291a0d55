package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// A nominated workload has its placement kept for it while those that give it
// up are ending. It is seated before everybody else: what is free there, or
// becomes free, is open to nobody, and it starts as soon as all of it is. Only
// what its victims still hold in its place is not taken twice.

// nominationOf is the placement that is kept for a workload; nil: none is.
func (p *pass) nominationOf(w *batch.Workload) *batch.Nomination {
	if n, ok := p.named[w.ID]; ok {
		return n
	}
	return w.Nomination
}

// seatNominated gives the nominated their places, in order, and ends the
// nominations of those that have none any more. Those that start for certain, in
// such a place or elsewhere, come first: others were found a place beside them.
func (p *pass) seatNominated() {
	var pending, fallen []*contender
	all := p.nominees()
	if len(p.firm) > 0 {
		for _, a := range all {
			if p.seatGrown(a.contender) {
				p.beginNominated(a.contender, a.is)
			}
		}
		p.seatFirm()
	}
	r := p.newReseating(all)
	for _, a := range all {
		c, n := a.contender, a.is
		switch {
		case c.nomination == n:
		case c.nomination != nil || n.Allocation.Queue != c.queue.Name || p.outranked(a, all) || !r.stays(c, n) && !p.reseat(c, n):
			fallen = append(fallen, c)
		default:
			if p.beginNominated(c, n); !c.starts(p) {
				pending = append(pending, c)
			}
		}
	}
	slices.SortStableFunc(p.nominated, compareOrder)
	p.keepIdle(pending, r)
	p.noteNominations()
	p.unkeep()
	for _, c := range fallen {
		if c.nomination == nil { // nor in another queue
			c.fell, c.promise = true, 0
		}
	}
}

// beginNominated notes that one that is nominated was seated.
func (p *pass) beginNominated(c *contender, n *batch.Nomination) {
	p.nominated = append(p.nominated, c)
	c.nomination, c.started, c.via = n, true, batch.ViaPreemption
	if len(n.Victims) == 0 { // others just did not start there
		c.via = batch.ViaOrder
	}
	if c.starts(p) {
		p.begun[c.workload().ID] = true
	}
}

// seatFirm starts those first that others were found a place beside, as if they
// ran: the next plan finds them running.
func (p *pass) seatFirm() {
	for i := 0; i < len(p.order) && len(p.firm) > 0; i++ {
		at := p.firm[p.order[i].workload().ID]
		if at == nil || p.order[i].started || at.record.queue.Name != p.order[i].queue.Name || !p.line.fits(at.place) {
			continue
		}
		c := p.mine(i)
		c.settle(at.option, at.place)
		c.grown, p.last = true, max(p.last, i)
		p.noteStart(c)
		p.line.hold(c.place)
	}
}

// seatGrown seats one that starts in a place that was kept for it where the pass
// before has found it the most that fits: others were found a place beside that.
func (p *pass) seatGrown(c *contender) bool {
	at := p.firm[c.workload().ID]
	if at == nil || at.record.queue.Name != c.queue.Name || !p.line.fits(at.place) {
		return false
	}
	c.settle(at.option, at.place)
	c.grown = true
	p.line.hold(c.place)
	return true
}

// unkeep lets go of the places of those that would start now where others do:
// they are planned anew, in their order.
func (p *pass) unkeep() {
	for i := 0; i < len(p.order) && len(p.ousted) > 0; i++ {
		if p.ousted[p.order[i].workload().ID] == nil {
			continue
		}
		c := p.mine(i)
		c.promise, c.kept = 0, nil
	}
}

// waitsNominated says whether a claim waits for a place that is kept for it.
func (k *claim) waitsNominated(p *pass) bool { return k.nomination != nil && !k.starts(p) }

// passNominated lets nothing of its queue overtake a nominated contender, where
// nothing may.
func (p *pass) passNominated(t turns, c *contender) {
	if c.waitsNominated(p) {
		t.pass(c)
	}
}

// reseat finds the first time at which a nominated workload has its placement
// whole, and holds it; false if it never will. Not all that sits there need have been
// told to go: the place waits until the start that was found for it, and for those that
// should have ended by then and have not.
func (p *pass) reseat(c *contender, n *batch.Nomination) bool {
	usual, from := c.options, p.from
	_, silent := p.silent(n)
	if silent > 0 {
		c.options, from = p.optionsOfAll(c, n.Allocation.Flavor), silent
	}
	if kept := p.recallAt(c, &n.Allocation); kept != nil {
		long, end := c.granted(&n.Allocation)
		s, byNodes, ok := p.line.firstFit(kept.place, long, from)
		last := max(p.lastGift(kept.place.Place), secondOf(n.Allocation.Start))
		late := ok && s.From > max(from, last, p.refunds().last(s.bill))
		if late {
			last = p.lastOverdue(s)
			ok = s.From <= last
		}
		if ok {
			s = p.longer(s, c.long, end)
		}
		if ok && s.Till > s.From {
			c.settle(kept.option, s)
			p.line.hold(s)
			// What others pay may change all but the first start on its nodes.
			if byNodes && silent == 0 && (s.bill.Free() || !late && long == c.long) {
				p.noteSeated(&nominated{of: n, key: c.key, option: kept.option, place: s, last: last})
			}
			return true
		}
	}
	c.options = usual
	return false
}

// longer is a place up to a time, for a longer limit if there is room for it: one that
// was shortened begins sooner than was thought.
func (p *pass) longer(s stay, long timeline.Long, end timeline.Time) stay {
	if till := min(timeline.SpanOf(s.From, long).Till, end); till > s.Till {
		if more := s.during(timeline.Span{From: s.From, Till: till}); p.line.fits(more) {
			return more
		}
	}
	return s.during(timeline.Span{From: s.From, Till: min(s.Till, end)})
}

// granted is the limit that a nominated workload was found a place for, and by when it
// must have ended there: what it accepts may be less than it asks for.
func (c *contender) granted(a *batch.Allocation) (long timeline.Long, last timeline.Time) {
	if c.key.least >= c.long || a.Deadline.IsZero() {
		return c.long, c.key.last
	}
	deadline := secondOf(a.Deadline)
	if long = timeline.Long(deadline - secondOf(a.Start)); long >= c.long {
		return c.long, c.key.last
	}
	return long, min(deadline, c.key.last)
}

// firstFit is the first time, not before from, at which there is room for a
// stay for a length, its nodes given; false if there is none. byNodes says that
// it is the first on its nodes, whoever pays.
func (b *board) firstFit(s stay, long timeline.Long, from timeline.Time) (first stay, byNodes, ok bool) {
	for byNodes = true; ; byNodes = false {
		place, ok := b.nodes.FirstFit(s.Place, long, from)
		if !ok {
			return stay{}, false, false
		}
		if s = stayOf(place, s.bill); b.pays(s.bill, s.Span) {
			return s, byNodes, true
		}
		at, ok := b.ledger.Earliest(s.bill, termOf(long), payTime(timeline.Span{From: s.From, Till: timeline.Never}))
		if !ok {
			return stay{}, false, false
		}
		from = timeline.Time(at)
	}
}

// lastGift is when the last of what is given back is there on the nodes of a
// place; zero: nothing is. What begins later than that, and than its quotas are
// given back, waits for something else.
func (p *pass) lastGift(place timeline.Place) (at timeline.Time) {
	for _, seat := range place.Seats {
		for _, g := range p.gifts(seat.Node) {
			at = max(at, g.till)
		}
	}
	return at
}

// lastOverdue is when the last of those is expected to end that should have ended
// already, on the nodes of a stay and of its quotas; zero: all have.
func (p *pass) lastOverdue(s stay) (at timeline.Time) {
	for _, seat := range s.Seats {
		charges := p.Nodes[seat.Node].Charges
		for i := range charges {
			if c := &charges[i]; c.Overdue(p.now) && p.sits(c) {
				at = max(at, p.endOf(c))
			}
		}
	}
	if s.bill.Free() {
		return at
	}
	for i := range p.Uses {
		u := &p.Uses[i]
		if u.Overdue(p.now) && p.sits(&u.Charge) && p.tree.Meets(p.bills()[i], s.bill) {
			at = max(at, p.endOf(&u.Charge))
		}
	}
	return at
}

// keepIdle keeps what is free of the places of those that cannot start yet, and
// what becomes free of them.
//
// On each node as much is kept as they will take, less what is still held there
// by those that give way: when these are gone, that is theirs. Of quotas all is
// kept at once.
func (p *pass) keepIdle(pending []*contender, r *reseating) {
	wants := map[int][]gift{}
	for _, c := range pending {
		if !c.place.bill.Free() {
			p.line.ledger.Charge(c.place.bill, payTime(timeline.Span{From: p.from, Till: c.start()}))
		}
		for _, s := range c.place.Seats {
			if r.keepsIdle(s.Node) {
				continue
			}
			takes := make(batch.Vector, len(s.Each))
			takes.Sub(s.Each, -s.Pods)
			wants[s.Node] = append(wants[s.Node], gift{takes: takes, till: c.start()})
		}
	}
	for _, node := range slices.Sorted(maps.Keys(wants)) {
		p.keepIdleOn(node, wants[node])
	}
}

// keepIdleOn keeps on a node what is wanted, each until its start.
func (p *pass) keepIdleOn(node int, wants []gift) {
	gifts := p.gifts(node)
	edges := []timeline.Time{p.from}
	last := p.from
	for _, w := range wants {
		edges, last = append(edges, w.till), max(last, w.till)
	}
	for _, g := range gifts {
		if g.till < last {
			edges = append(edges, g.till)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	for i := 0; i+1 < len(edges); i++ {
		keep := make(batch.Vector, p.fleet.catalog.Len())
		for _, w := range wants {
			if w.till > edges[i] {
				keep.Sub(w.takes, -1)
			}
		}
		for _, g := range gifts {
			if g.till > edges[i] {
				keep.Sub(g.takes, 1)
			}
		}
		for r := range keep {
			keep[r] = max(keep[r], 0)
		}
		p.line.nodes.Charge(node, keep, timeline.Span{From: edges[i], Till: edges[i+1]})
	}
}

// nominate writes down which placements are kept from now on, and which no
// longer.
func (p *pass) nominate() {
	kept := map[batch.WorkloadID]bool{}
	for _, c := range p.nominated {
		kept[c.workload().ID] = true
		if _, fresh := p.named[c.workload().ID]; fresh && !c.starts(p) {
			p.plan.Nominate = append(p.plan.Nominate, batch.NominateDecision{ID: c.workload().ID, Nomination: c.nomination})
		}
	}
	for _, w := range p.roll.named {
		if !kept[w.ID] {
			p.plan.Nominate = append(p.plan.Nominate, batch.NominateDecision{ID: w.ID})
		}
	}
}

// namesMax bounds how many victims, or nodes, are named in an answer.
const namesMax = 8

// firstNames are the first of some names, and how many more there are.
func firstNames(names []string) string {
	if more := len(names) - namesMax; more > 0 {
		names = append(names[:namesMax:namesMax], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// nameLate names a victim, and the pod of it that is still there when its grace
// is over: somebody has to look at that one.
func (p *pass) nameLate(s *batch.Started) string {
	name := nameOf(s.Workload)
	if e := s.Workload.Eviction; e != nil && s.Ending != "" && e.Until.Before(p.now) {
		name += " (its grace is over, and pod " + s.Ending + " is not gone)"
	}
	return name
}

// preempting is the answer of a nominated workload: who gives way, and until
// when.
func (v *verdicts) preempting(c *contender, at place) batch.Verdict {
	p := v.p
	verdict := verdictOf(batch.ReasonPreempting, batch.Facts{
		Queue: c.queue.Name, Flavor: c.options[c.option].flavor, Asked: asks(c.workload().PodSets),
	})
	verdict.Facts.Resource, verdict.Facts.Loose = p.scarcest(), c.looseIn(verdict.Facts.Flavor)
	verdict.Position, verdict.PlannedStart = at.position, timeOf(c.start())
	var names []string
	facts := &verdict.Facts
	for _, id := range c.nomination.Victims {
		s, until, gives := p.givingWay(id)
		if !gives {
			continue
		}
		facts.Ahead++
		facts.Lost += batch.Amount(p.lostBy(s))
		if until.After(facts.Until) {
			facts.Until = until
		}
		names = append(names, p.nameLate(s))
	}
	facts.First = firstNames(names)
	if promise := c.workload().Promise; !promise.IsZero() && verdict.PlannedStart.After(promise) {
		verdict.MovedBy = "a place that is not free yet"
		if len(names) > 0 {
			verdict.MovedBy = "those that give way and are not gone yet: " + facts.First
		}
		if was := c.workload().Nomination; was != nil && was != c.nomination {
			if node := v.lostNode(c, &was.Allocation); node != "" {
				verdict.MovedBy = node
			}
		}
		if node, till := p.silent(c.nomination); till > 0 {
			verdict.MovedBy = "node " + string(node) + " is not ready"
		}
		v.moved[c] = verdict.MovedBy // whom it pushes back is told the same
	}
	return verdict
}
