package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// exchange lets members of one array change places, so that they start in the
// order of their indexes. Space that a hold keeps is open to its own holder
// alone: without this, room before a hold would let a later member overtake an
// earlier one.
//
// Nobody's promise is broken by it: where it would be, all keep their places.
//
// Other equal requests do not change places. A hold belongs to whoever it was
// promised to: the younger of two may find room before its own that the older
// one cannot use.
func (p *pass) exchange(planned []*contender) {
	if p.Policy.Backfill == batch.BackfillStrict {
		return // the order is kept anyhow, and it is that of whole queues
	}
	type array struct{ namespace, name string }
	type request struct {
		array
		needKey
	}
	alike := map[request][]*contender{}
	for _, c := range planned {
		member := c.workload().Array
		if member != nil && c.placed() && !c.started && c.place.Span == timeline.SpanOf(c.start(), c.long) {
			r := request{array: array{c.workload().Namespace, member.Name}, needKey: c.key}
			alike[r] = append(alike[r], c)
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
