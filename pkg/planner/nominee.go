package planner

import "github.com/berth-dev/berth/pkg/batch"

// nominee is a record of one that is nominated, with its nomination.
type nominee struct {
	*contender
	is *batch.Nomination
}

// nominees are the nominated, in order.
func (p *pass) nominees() (all []nominee) {
	for i := range p.mayBeNominated {
		if n := p.nominationOf(p.order[i].workload()); n != nil {
			all = append(all, nominee{contender: p.mine(i), is: n})
		}
	}
	return all
}

// mayBeNominated goes over those of the order that may be nominated.
func (p *pass) mayBeNominated(yield func(index int) bool) {
	if len(p.named) == 0 && len(p.classes) == len(p.order) { // nobody was since the roll was called
		for _, i := range p.roll.unclear {
			if !yield(int(i)) {
				return
			}
		}
		return
	}
	for i := range p.order {
		if !yield(i) {
			return
		}
	}
}
