package planner

import (
	"slices"

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
		p.giveBack(c.place)
		place, most := p.grown(c)
		if !most {
			p.loosen(planned[i+1:], c.claim)
			place, _ = p.grown(c)
		}
		c.place = place
		p.full.hold(place)
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
			if ok && within(p.nodesOf(larger.Place), c.queue) {
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
