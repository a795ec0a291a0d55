package planner

import (
	"iter"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// vacated is what is free before anybody more is told to go: as if all were gone that
// give way already, and the places that are kept were taken from now on. On most nodes
// none of that differs from one plan to the next, and these are taken over. It is frozen.
type vacated struct {
	board  *board
	leaves []leavers                    // by node
	places map[*batch.Nomination]stay   // that are kept
	begun  []stay                       // likewise, of those who start and count as running
	asked  map[barrenKey][]timeline.Set // what room was looked for
}

// leavers are those of the charges of a node that give way, a bit for each.
type leavers uint64

// manyLeavers stands for more charges than there are bits: it equals nothing.
const manyLeavers = ^leavers(0)

// findLeavers finds who gives way already, by node.
func (p *pass) findLeavers() []leavers {
	all := make([]leavers, len(p.Nodes))
	for node, view := range p.Nodes {
		for i := range view.Charges {
			if !p.givesWay(&view.Charges[i]) {
				continue
			}
			if len(view.Charges) >= 64 {
				all[node] = manyLeavers
				break
			}
			all[node] |= 1 << i
		}
	}
	return all
}

// same says whether it is known that those of a node are the ones that they were.
func (l leavers) same(was leavers) bool { return l == was && l != manyLeavers }

// vacate makes the board of what is free. The places of those that are to be taken
// themselves are for each scene to keep, or not.
func (h *hunt) vacate() *vacated {
	if h.vacated != nil {
		return h.vacated
	}
	p := h.p
	v := &vacated{leaves: h.leaves, places: map[*batch.Nomination]stay{}, asked: map[barrenKey][]timeline.Set{}}
	for _, i := range h.held {
		c := p.order[i]
		if h.preys[c] || !h.hasPlace(c) {
			continue
		}
		if c.nomination != nil {
			v.places[c.nomination] = c.place
		} else {
			v.begun = append(v.begun, c.place)
		}
	}
	v.board = &board{nodes: v.nodes(p)}
	if p.tree != nil {
		v.board.ledger = quota.NewLedger(p.tree, quota.Time(p.from), v.paid(p))
	}
	v.board.freeze()
	h.vacated = v
	return v
}

// paid is what those pay that stay, and those for whom places are kept.
func (v *vacated) paid(p *pass) (charges []quota.Charge) {
	for i, bill := range p.bills() {
		u := &p.Uses[i]
		if !bill.Free() && p.sits(&u.Charge) && !p.givesWay(&u.Charge) {
			charges = append(charges, quota.Charge{Bill: bill, Till: quota.Time(p.endOf(&u.Charge))})
		}
	}
	for place := range v.kept() {
		if !place.bill.Free() {
			charges = append(charges, quota.Charge{Bill: place.bill, Till: payTime(place.Span).Till})
		}
	}
	return charges
}

// nodes are those of the plan before, and made anew where something has changed.
func (v *vacated) nodes(p *pass) *timeline.Timeline {
	nodes, changed := p.ground.nodes.Clone(), timeline.NewNodes(len(p.Nodes))
	was := v.before(p)
	if was != nil {
		nodes = was.board.nodes.Since(p.from)
		v.findChanges(p, was, changed)
	} else {
		for node, leaves := range v.leaves {
			if leaves != 0 {
				changed.Add(node)
			}
		}
		for place := range v.kept() {
			changed.AddPlace(place.Place)
		}
	}
	for _, node := range changed.List() {
		nodes.Adopt(int(node), p.ground.nodes)
		for _, g := range p.gifts(int(node)) {
			nodes.Return(int(node), g.takes, timeline.Span{From: p.from, Till: g.till})
		}
	}
	for place := range v.kept() {
		for i, s := range place.Seats {
			if changed.Has(s.Node) {
				nodes.Take(timeline.Place{Span: timeline.Span{From: p.from, Till: place.Till}, Seats: place.Seats[i : i+1]})
			}
		}
	}
	if was != nil {
		for _, sets := range was.asked { //order:any each by itself
			for i := range sets {
				nodes.Index(&sets[i])
			}
		}
	}
	return nodes
}

// before is what the plan before has left; nil: nothing of use.
func (v *vacated) before(p *pass) *vacated {
	if p.carried == nil {
		return nil
	}
	return p.carried.vacated
}

// findChanges finds the nodes on which something else runs, gives way or has a place
// kept than in the plan before.
func (v *vacated) findChanges(p *pass, was *vacated, changed *timeline.Nodes) {
	timeline.Changed(p.carried.line, p.ground.nodes, changed.Add)
	for node, view := range p.Nodes {
		if view != p.carried.views[node] || !v.leaves[node].same(was.leaves[node]) {
			changed.Add(node)
		}
	}
	for _, place := range v.begun {
		changed.AddPlace(place.Place) // no plan before has known them
	}
	for _, pair := range [][2]*vacated{{was, v}, {v, was}} {
		for of, place := range pair[0].places { //order:any each node by itself
			if other, still := pair[1].places[of]; !still || !place.Equal(other) {
				changed.AddPlace(place.Place)
			}
		}
	}
}

// kept are all places that are kept, in no order.
func (v *vacated) kept() iter.Seq[stay] {
	return func(yield func(stay) bool) {
		for _, place := range v.places { //order:any each takes its own
			if !yield(place) {
				return
			}
		}
		for _, place := range v.begun {
			if !yield(place) {
				return
			}
		}
	}
}

// noteVacated leaves it to the next plan. Who starts for certain runs by then, and is
// known by no nomination.
func (p *pass) noteVacated(h *hunt) {
	if h.prey == preyRuns && len(p.firm) == 0 {
		p.vacated = h.vacated
	}
}
