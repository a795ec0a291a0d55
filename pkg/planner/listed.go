package planner

import "slices"

// preferListed moves a planned start that another of the workload's queues
// offers for the same time to the first of them in the order: ties go by tier,
// and then as the queues are listed. Somebody may have made room there since the
// start was found; the next plan, which goes through the queues in order, would
// find it so.
func (p *pass) preferListed(planned []*contender) (moved bool) {
	if p.turns() != nil {
		return false // what may start when depends on the queue
	}
	for _, c := range planned {
		if len(c.records) > 1 && c.placed() && !c.started && c.records[0] != c {
			moved = p.preferBefore(c) || moved
		}
	}
	return moved
}

// preferBefore is preferListed for one workload, by the record that has a place.
func (p *pass) preferBefore(c *contender) bool {
	old := *c.claim
	p.full.release(old.place)
	for _, r := range c.records[:slices.Index(c.records, c)] {
		if !r.plannable() || r.within(old.place.Span).Till <= old.place.From {
			continue
		}
		option, place, ok := p.full.firstOf(r, func(i int) (stay, bool) { return p.full.at(r.demand(i), old.place.From) })
		if ok {
			r.settle(option, place)
			p.full.hold(place)
			p.noteGiven(old.place)
			return true
		}
	}
	p.full.hold(old.place)
	return false
}
