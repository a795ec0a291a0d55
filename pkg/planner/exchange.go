package planner

import (
	"cmp"
	"slices"
)

// exchange lets those that ask for the same change places, so that the first of
// them in the order has the earliest start. Space that a hold keeps is open to
// its own holder alone: without this, room before a hold would let the younger
// of two like workloads overtake the older one.
//
// Nobody's promise is broken by it: where it would be, all keep their places.
func (p *pass) exchange(planned []*contender) {
	alike := map[needKey][]*contender{}
	for _, c := range planned {
		if c.placed {
			alike[c.key] = append(alike[c.key], c)
		}
	}
	for _, group := range alike { //order:any each group by itself
		p.exchangeAlike(group)
	}
}

// exchangeAlike is for equal requests, in order.
func (p *pass) exchangeAlike(group []*contender) {
	earlier := func(a, b *contender) int { return cmp.Compare(a.start, b.start) }
	if slices.IsSortedFunc(group, earlier) {
		return
	}
	sorted := make([]contender, len(group))
	for i, c := range group {
		sorted[i] = *c
	}
	slices.SortStableFunc(sorted, func(a, b contender) int { return cmp.Compare(a.start, b.start) })
	for i, c := range group {
		if c.promise != 0 && sorted[i].start > max(c.promise, p.from) {
			return
		}
	}
	for i, c := range group {
		c.settle(sorted[i].option, sorted[i].place)
	}
}
