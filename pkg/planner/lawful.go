package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// lawsMax bounds how many sets of a few victims are asked whether they may go together,
// for each standing among them: each of these is a search of its own.
const lawsMax = 500

// bid is what somebody looks for, among which victims.
type bid struct {
	contender *contender
	option    int
	scene     *scene
	demand    demand
}

// lot are victims to choose from, beside those that go in any case.
type lot struct{ all, first []*victim }

// cheapestLawful finds the cheapest set of victims that may go together. If that of all
// may not, a few are gone through exactly; of more it is that of those whose queues can
// lose them all, or of those over whom quotas have no say, or of others beside as many of
// its own queue as must go so that it may reclaim. No search: there is none.
func (h *hunt) cheapestLawful(b *bid) (*search, []*victim) {
	all := b.scene
	search, victims := h.cheapest(all, b.demand)
	if h.lawful(b.contender, b.option, all, victims) {
		return search, victims
	}
	search.end()
	if len(all.victims) <= exactMax {
		return h.exactLawful(b)
	}
	for _, choose := range []func() lot{
		func() lot { return lot{all: h.within(b.contender, b.option, all)} },
		func() lot { return lot{all: h.higher(b.contender, all)} },
		func() lot { return h.ownFirst(b.contender, b.option, all) },
	} {
		some := choose()
		if b.scene = all.from(some); len(b.scene.victims) == 0 || !b.scene.has(b.demand) {
			continue
		}
		search, victims = h.cheapest(b.scene, b.demand)
		if search.first = some.first; len(some.first) > 0 {
			victims = slices.Concat(some.first, victims)
			slices.SortFunc(victims, compareIDs)
		}
		if h.lawful(b.contender, b.option, b.scene, victims) {
			return search, h.spareFirst(b, search, victims)
		}
		search.end()
	}
	return nil, nil
}

// exactLawful goes through all sets of a few victims: those of the lowest standing, then
// those of the next too, and so on.
func (h *hunt) exactLawful(b *bid) (*search, []*victim) {
	s := b.scene
	s.makeLayers()
	for i := 1; i <= len(s.below); i++ {
		n := len(s.victims)
		if i < len(s.below) {
			n = s.below[i].gone
		}
		search := h.newSearch(s, b.demand, s.victims[:n])
		asked := 0
		if search.exact(nil, func() bool {
			asked++
			return asked <= lawsMax && h.lawful(b.contender, b.option, s, search.those())
		}) {
			return search, search.chosen()
		}
		search.end()
	}
	return nil, nil
}

// higher are the victims of a scene over whom quotas have no say.
func (h *hunt) higher(c *contender, s *scene) (some []*victim) {
	for _, v := range s.victims {
		if h.p.rightOf(c, v).higher {
			some = append(some, v)
		}
	}
	return some
}

// ownFirst are the victims of a scene, of whom the cheapest of the contender's own
// queue go first: as many as must, so that the queue is within its nominal quota with
// the contender and may take back what it has lent. None: it is, or can't be.
func (h *hunt) ownFirst(c *contender, option int, s *scene) lot {
	if may := c.queue.Preemption.ReclaimWithinCohort; h.usage == nil || !s.byQuota || may == "" || may == batch.WhomNever {
		return lot{}
	}
	bill := c.options[option].bill
	_, after := h.instead(bill, s.expiring)
	within := func() bool {
		return slices.ContainsFunc(s.victims, func(v *victim) bool {
			return h.p.rightOf(c, v).reclaim && after.WithinNominal(bill, v.queue.Name)
		})
	}
	own := slices.DeleteFunc(slices.Clone(s.victims), func(v *victim) bool { return v.queue != c.queue || !h.p.rightOf(c, v).higher })
	n := 0
	for ; n < len(own) && !within(); n++ {
		removePaid(after, own[n])
	}
	if n == 0 || !within() {
		return lot{}
	}
	return lot{all: slices.DeleteFunc(slices.Clone(s.victims), func(v *victim) bool { return slices.Contains(own[:n], v) }), first: own[:n]}
}

// from is the scene with those of a lot to choose from, where the others have gone.
func (s *scene) from(l lot) *scene {
	n := s.with(l.all)
	if len(n.victims) > 0 {
		for _, v := range l.first {
			n.board.move(v, s.hunt.p.from, true)
		}
	}
	return n
}

// spareFirst leaves those in their place that went first and need not.
func (h *hunt) spareFirst(b *bid, s *search, victims []*victim) []*victim {
	if len(s.first) == 0 {
		return victims
	}
	for _, v := range slices.Backward(s.first) {
		rest := slices.DeleteFunc(slices.Clone(victims), func(other *victim) bool { return other == v })
		if s.board.move(v, h.p.from, false); h.lawful(b.contender, b.option, b.scene, rest) {
			if _, ok := s.board.at(b.demand, h.p.from); ok {
				victims = rest
				continue
			}
		}
		s.board.move(v, h.p.from, true)
	}
	s.keepTo(victims)
	return victims
}
