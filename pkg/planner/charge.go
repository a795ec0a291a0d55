package planner

import (
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// catchUp makes the line of the plan before that of what sits there now. Where
// something should have ended since, or a plan took something back, what the views
// say is not what that line was made of.
func (f *fleet) catchUp(p *pass) {
	for i, view := range p.Nodes {
		switch {
		case f.ends[i] <= p.from || f.uncertain.Has(i) || p.carried.uncertain.Has(i):
			f.charge(p, i)
		case view != p.carried.views[i]:
			f.amend(p, i)
		}
	}
	f.findFirstEnd(p)
}

// charge puts on a node what sits there.
func (f *fleet) charge(p *pass, node int) {
	f.ends[node] = timeline.Never
	charges := p.Nodes[node].Charges
	taken := make([]timeline.Taken, 0, len(charges))
	for i := range charges {
		c := &charges[i]
		if !p.sits(c) {
			continue
		}
		till := p.endOf(c)
		f.ends[node] = min(f.ends[node], till)
		taken = append(taken, timeline.Taken{Each: f.takes(c), Till: till})
	}
	f.line.Occupy(node, taken)
}

// amend charges a node by what has changed of its charges: of hundreds mostly one.
func (f *fleet) amend(p *pass, node int) {
	was, is := changed(p.carried.views[node].Charges, p.Nodes[node].Charges)
	first := f.ends[node]
	for i := range was {
		if was[i].Over(p.now) {
			continue // it was then, too
		}
		till := tillOf(was[i].End(p.now)) // as it was charged: no plan has changed that
		f.line.Return(node, f.takes(&was[i]), timeline.Span{From: p.from, Till: till})
		if till == first {
			f.ends[node] = timeline.Never
		}
	}
	for i := range is {
		if p.sits(&is[i]) {
			till := p.endOf(&is[i])
			f.line.Charge(node, f.takes(&is[i]), timeline.Span{From: p.from, Till: till})
			f.ends[node] = min(f.ends[node], till)
		}
	}
	if first == timeline.Never || f.ends[node] <= first {
		return
	}
	for i := range p.Nodes[node].Charges {
		if c := &p.Nodes[node].Charges[i]; p.sits(c) {
			f.ends[node] = min(f.ends[node], p.endOf(c))
		}
	}
}

// changed leaves out the charges that two lists have in common before and behind
// all others.
func changed(was, is []batch.Charge) (gone, come []batch.Charge) {
	for len(was) > 0 && len(is) > 0 && was[0].Same(&is[0]) {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1].Same(&is[len(is)-1]) {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	return was, is
}
