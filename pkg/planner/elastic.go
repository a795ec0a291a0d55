package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// elastic says whether a claim may start with more pods than its fewest.
func (k *claim) elastic() bool {
	sets := k.workload().PodSets
	for i := range sets {
		if sets[i].Least() < sets[i].Count {
			return true
		}
	}
	return false
}

// growAll gives those that start with their fewest pods, and take more, the
// most that fit: in order, and beside everything that was promised before.
//
// Lower-ranked work that found its place in this very round has no claim on
// what a higher-ranked start can use: it is looked for anew in the next one.
func (p *pass) growAll(planned []*contender) {
	for i, c := range planned {
		if !c.placed() || !c.starts(p) || c.grown {
			continue
		}
		c.grown = true
		if !c.elastic() {
			continue
		}
		p.grow(c, planned[i+1:])
		p.full.hold(c.place)
	}
}

// grow makes the place of a start that of the most pods that fit, those lower in the
// order that have no promise out of its way. It is for the caller to hold it.
func (p *pass) grow(c *contender, lower []*contender) {
	p.giveBack(c.place)
	place, most := p.grown(c)
	if !most {
		p.loosen(lower, c.claim)
		place, _ = p.grown(c)
	}
	c.place = place
}

// growsNominated finds the first that starts in a place that was kept for it, for its
// fewest pods, and may yet start with more; nil: there is none.
func (p *pass) growsNominated() *contender {
	for _, c := range p.nominated {
		if !c.grown && c.starts(p) && c.elastic() {
			return c
		}
	}
	return nil
}

// growNominated is growAll for those that start in a place that was kept for them:
// it was made for their fewest pods, but they start with the most that fit into what
// their victims leave and what is idle. Who comes before one moves into that first;
// and those that come after a newcomer that is not seated yet (nil: all are) wait.
func (p *pass) growNominated(planned []*contender, newcomer *contender) (some bool) {
	for c := p.growsNominated(); c != nil && (newcomer == nil || compareOrder(c, newcomer) < 0); c = p.growsNominated() {
		behind := func(other *contender) bool { return compareOrder(other, c) > 0 }
		end := slices.IndexFunc(planned, behind)
		if end < 0 {
			end = len(planned)
		}
		p.fill(planned[:end])
		p.growNominee(c, planned[end:])
		some = true
	}
	return some
}

// growNominee is grow for one that starts in a place that was kept for it.
func (p *pass) growNominee(c *contender, lower []*contender) {
	was := c.place
	c.grown = true
	p.grow(c, lower)
	p.full.charge(c.place) // quotas may be overdrawn meanwhile: what others wait for is charged whole
	if p.line != p.full {
		p.line.release(was)
		p.line.charge(c.place)
	}
}

// loosen takes their places from those that have no promise, but for one.
func (p *pass) loosen(lower []*contender, grows *claim) {
	for _, c := range lower {
		if c.claim != grows && c.at != nil && !c.started && c.promise == 0 {
			p.giveBack(c.place)
			c.at, c.loose, c.grown = nil, true, false
		}
	}
}

// grown is the place of an elastic claim that starts, with the most pods that
// fit beside all that is on p.full, where its own place is not; and whether
// these are as many as it takes at most.
func (p *pass) grown(c *contender) (place stay, most bool) {
	place, most = c.place, true
	if !c.elastic() {
		return place, true
	}
	need := c.needOf(c.place.Span, c.option)
	need.Sets = slices.Clone(need.Sets)
	sets := c.workload().PodSets
	for i := range sets {
		room := sets[i].Count
		if limit := c.queue.MaxPods; limit > 0 {
			room = min(room, need.Sets[i].Pods+limit-podsIn(need.Sets))
		}
		low, high := need.Sets[i].Pods, room+1
		for high-low > 1 { // low fits, high does not
			need.Sets[i].Pods = low + (high-low)/2
			need.bill = p.billOf(c.queue, c.options[c.option].flavor, sets, func(set int) int { return need.Sets[set].Pods })
			larger, ok := p.full.at(need, p.from)
			if ok && within(p.nodesOf(larger.Place), c.queue) && !(c.reclaims() && p.full.borrows(larger)) {
				low, place = need.Sets[i].Pods, larger
			} else {
				high = need.Sets[i].Pods
			}
		}
		need.Sets[i].Pods = low
		most = most && low == room
	}
	return place, most
}

// reclaims says whether a claim starts where its queue took back what it had lent:
// it takes its own, and no loan on top of it, which would be taken back from it next.
func (k *claim) reclaims() bool {
	return k.nomination != nil && k.nomination.Cause == batch.CauseReclaimed
}

func podsIn(sets []timeline.Set) int {
	n := 0
	for i := range sets {
		n += sets[i].Pods
	}
	return n
}

// needOf is what a claim needs for a run of another length than planned.
func (c *contender) needOf(span timeline.Span, option int) demand {
	need := c.demand(option)
	if span.Till == timeline.Never {
		need.Long = timeline.Forever
	} else {
		need.Long = timeline.Long(span.Till - span.From)
	}
	return need
}
