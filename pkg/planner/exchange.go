package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// exchange lets those that ask for the same change places, so that the first of
// them in the order has the earliest start. Space that a hold keeps is open to
// its own holder alone: without this, room before a hold would let the younger
// of two like workloads overtake the older one.
//
// Nobody's promise is broken by it: where it would be, all keep their places.
func (p *pass) exchange(planned []*contender) {
	if p.Policy.Backfill == batch.BackfillStrict {
		return // the order is kept anyhow, and it is that of whole queues
	}
	alike := map[needKey][]*contender{}
	for _, c := range planned {
		if c.placed() && !c.started && c.place.Span == timeline.SpanOf(c.start(), c.long) {
			alike[c.key] = append(alike[c.key], c)
		}
	}
	for _, group := range alike { //order:any each group by itself
		p.exchangeAlike(group)
	}
}

// exchangeAlike is for equal requests, in order.
func (p *pass) exchangeAlike(group []*contender) {
	if slices.IsSortedFunc(group, func(a, b *contender) int { return cmp.Compare(a.start(), b.start()) }) {
		return
	}
	type slot struct {
		option int
		place  stay
		stuck  stuck
	}
	sorted := make([]slot, len(group))
	for i, c := range group {
		sorted[i] = slot{option: c.option, place: c.place, stuck: c.stuck}
	}
	slices.SortStableFunc(sorted, func(a, b slot) int { return cmp.Compare(a.place.From, b.place.From) })
	for i, c := range group {
		if c.promise != 0 && sorted[i].place.From > max(c.promise, p.from) {
			return
		}
	}
	for i, c := range group {
		c.loose = c.loose || !c.place.Equal(sorted[i].place) // with another place of its own, it may move
		c.settle(sorted[i].option, sorted[i].place)
		c.stuck = sorted[i].stuck // they ask for the same
	}
}
