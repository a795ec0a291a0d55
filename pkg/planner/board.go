package planner

import (
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// board is what is free over time: on the nodes, and of the quotas. All that is
// granted is held on one.
type board struct {
	nodes  *timeline.Timeline
	ledger *quota.Ledger // nil: nobody has a quota
	held   int           // planned starts on it, where somebody has counted them
}

// stay is a place on the nodes, with what it takes of its queue's quotas. It is
// shared by all that know of it, and not written: of most that wait it is the same
// from plan to plan, which is seen at a glance. The zero stay is none.
type stay struct{ *granted }

type granted struct {
	timeline.Place
	bill quota.Bill
}

func stayOf(place timeline.Place, bill quota.Bill) stay {
	return stay{&granted{Place: place, bill: bill}}
}

// demand is what a claim asks for: of the nodes, and of its queue's quotas.
type demand struct {
	timeline.Need
	bill quota.Bill
}

// Equal says whether two stays take the same: the same nodes in another flavor are
// paid for by another quota.
func (s stay) Equal(other stay) bool {
	return s == other || s.granted != nil && other.granted != nil && s.Place.Equal(other.Place) && s.bill.Equal(other.bill)
}

// during is the same stay in another span.
func (s stay) during(span timeline.Span) stay {
	place := s.Place
	place.Span = span
	return stayOf(place, s.bill)
}

func (b *board) clone() *board { return &board{nodes: b.nodes.Clone(), ledger: b.ledger.Clone()} }

// since is a clone that begins at a later time.
func (b *board) since(from timeline.Time) *board {
	return &board{nodes: b.nodes.Since(from), ledger: b.ledger.Since(quota.Time(from))}
}

// follow takes over what has changed from one board to another, beside what is
// held. false, and b is of no more use: there may be no room for all of it.
func (b *board) follow(was, is *board) bool {
	return b.nodes.Follow(was.nodes, is.nodes) && b.ledger.Follow(was.ledger, is.ledger)
}

// try begins a trial: what is done on a board until undo is undone by it.
func (b *board) try() {
	b.nodes.Try()
	b.ledger.Try()
}

// undo ends a trial.
func (b *board) undo() {
	b.nodes.Undo()
	b.ledger.Undo()
}

// freeze makes all of a board be copied before it is written.
func (b *board) freeze() {
	b.nodes.Freeze()
	b.ledger.Freeze()
}

// hold takes a stay. It panics if there is no room for it.
func (b *board) hold(s stay) {
	b.nodes.Hold(s.Place)
	b.pay(s)
}

// pay is hold for the quotas alone.
func (b *board) pay(s stay) {
	if !s.bill.Free() {
		b.ledger.Hold(s.bill, payTime(s.Span))
	}
}

// release gives a stay back.
func (b *board) release(s stay) {
	b.nodes.Release(s.Place)
	if !s.bill.Free() {
		b.ledger.Release(s.bill, payTime(s.Span))
	}
}

// tryHold takes a stay if there is room for it.
func (b *board) tryHold(s stay) bool {
	if !b.pays(s.bill, s.Span) || !b.nodes.TryHold(s.Place) {
		return false
	}
	if !s.bill.Free() {
		b.ledger.Charge(s.bill, payTime(s.Span)) // there is room: see above
	}
	return true
}

// fits says whether there is room for a stay.
func (b *board) fits(s stay) bool { return b.pays(s.bill, s.Span) && b.nodes.Fits(s.Place) }

// pays says whether there is room for a bill over a span.
func (b *board) pays(bill quota.Bill, span timeline.Span) bool {
	return bill.Free() || b.ledger.Fits(bill, payTime(span))
}

// borrows says whether a stay takes more than its queue's nominal quota.
func (b *board) borrows(s stay) bool {
	return !s.bill.Free() && b.ledger.Borrows(s.bill, payTime(s.Span))
}

// at is a stay that begins at a time; false if there is none. See timeline.At.
func (b *board) at(d demand, start timeline.Time) (stay, bool) {
	if !b.pays(d.bill, timeline.SpanOf(start, d.Long)) {
		return stay{}, false
	}
	place, ok := b.nodes.At(d.Need, start)
	if !ok {
		return stay{}, false
	}
	return stayOf(keepWhole(d.Sets, place), d.bill), true
}

// earliest is the first stay that begins in a span; false if there is none.
func (b *board) earliest(d demand, in timeline.Span) (stay, bool) {
	for in.From < in.Till {
		if !d.bill.Free() {
			at, ok := b.ledger.Earliest(d.bill, termOf(d.Long), payTime(in))
			if !ok {
				return stay{}, false
			}
			in.From = timeline.Time(at)
			if in.From < in.Till && len(d.Sets) == 1 && b.nodes.HasRoom(&d.Sets[0], d.Long, in.From) {
				if s, ok := b.at(d, in.From); ok {
					return s, true // quota is what was waited for, as it mostly is where it is short
				}
			}
		}
		place, ok := b.nodes.Earliest(d.Need, in.From, in.Till)
		if !ok {
			return stay{}, false
		}
		if b.pays(d.bill, place.Span) {
			return stayOf(keepWhole(d.Sets, place), d.bill), true
		}
		in.From = place.From
	}
	return stay{}, false
}

// payTime is a span of the nodes' timeline on the ledger.
func payTime(s timeline.Span) quota.Span {
	return quota.Span{From: quota.Time(s.From), Till: quota.Time(s.Till)}
}

// termOf is what a run of a length is to pay.
func termOf(long timeline.Long) quota.Term {
	return quota.Term{Long: quota.Time(long), Till: quota.Never}
}

// newBoard puts all that runs on a board.
func (p *pass) newBoard() *board {
	b := &board{nodes: p.fleet.line}
	if p.tree != nil {
		b.ledger = quota.NewLedger(p.tree, quota.Time(p.from), p.paid())
	}
	return b
}

// paid is what is taken of quotas by all that runs, and until when.
func (p *pass) paid() []quota.Charge {
	charges := make([]quota.Charge, 0, len(p.Uses))
	for i, bill := range p.bills() {
		u := &p.Uses[i]
		if !bill.Free() && p.sits(&u.Charge) {
			charges = append(charges, quota.Charge{Bill: bill, Till: quota.Time(p.endOf(&u.Charge))})
		}
	}
	return charges
}

// bills are of each of the uses of quotas what it pays.
func (p *pass) bills() []quota.Bill {
	if p.usesPay != nil || p.tree == nil {
		return p.usesPay
	}
	if p.carried != nil && sameUses(p.carried.uses, p.Uses) {
		p.usesPay = p.carried.usesPay
	} else {
		p.usesPay = make([]quota.Bill, len(p.Uses))
		for i := range p.Uses {
			u := &p.Uses[i]
			p.usesPay[i] = p.tree.Bill(u.Queue, u.Flavor, u.Requests)
		}
	}
	return p.usesPay
}

// sameUses says whether two lists lie in the same memory.
func sameUses(a, b []batch.Use) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// endOf is when a charge is expected to end.
func (p *pass) endOf(c *batch.Charge) timeline.Time {
	end := c.End(p.now)
	if is, relimited := p.relimited[c.By]; relimited && !c.Left {
		till := batch.Charge{Until: is.deadline}
		end = till.End(p.now)
	}
	if until, evicted := p.evicting[c.By]; evicted && !c.Left {
		soon := batch.Charge{Until: until}
		end = soon.End(p.now)
	}
	return tillOf(end)
}

// tillOf is an expected end on a timeline, where zero is none.
func tillOf(end time.Time) timeline.Time {
	if end.IsZero() {
		return timeline.Never
	}
	return secondOf(end)
}

// billOf is what some pods of each set take of a queue's quotas in a flavor.
func (p *pass) billOf(q *batch.Queue, flavor batch.FlavorName, sets []batch.PodSet, pods func(set int) int) quota.Bill {
	if !p.tree.Has(q.Name) {
		return quota.Bill{}
	}
	var sum batch.Resources
	for i := range sets {
		sum = sum.Plus(sets[i].Requests.Times(pods(i)))
	}
	return p.tree.Bill(q.Name, flavor, sum)
}

// firstOf is the first option of a contender for which a stay is found without
// borrowing; else the first for which one is found at all. Of the domains of a
// flavor the tightest is taken.
func (b *board) firstOf(c *contender, find func(option int) (stay, bool)) (option int, s stay, ok bool) {
	for i := range c.options {
		found, fits := find(i)
		switch {
		case !fits:
		case !b.borrows(found):
			option, s = b.tightest(c, i, found, find)
			return option, s, true
		case !ok:
			option, s, ok = i, found, true
		}
	}
	return option, s, ok
}
