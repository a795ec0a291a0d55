package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// recall finds the placement that the plan before held for a workload, if the
// workload and its nodes are still as they were.
func (p *pass) recall(c *contender) *kept {
	return p.recallAt(c, c.waiting.Held)
}

// recallAt turns an allocation into a placement, if the workload and its nodes
// are still as they were; nil if not.
func (p *pass) recallAt(c *contender, held *batch.Allocation) *kept {
	if held == nil || held.Queue != c.queue.Name {
		return nil
	}
	for option := range c.options {
		if c.options[option].flavor != held.Flavor {
			continue
		}
		if was := p.recallIn(c, held, option); was != nil {
			return was
		}
	}
	return nil
}

// recallIn is recallAt, for one option.
func (p *pass) recallIn(c *contender, held *batch.Allocation, option int) *kept {
	sets := c.workload().PodSets
	if len(held.PodSets) != len(sets) {
		return nil
	}
	from := secondOf(held.Start)
	place := timeline.Place{Span: timeline.SpanOf(from, c.long)}
	for i, placement := range held.PodSets {
		if placement.PodSet != sets[i].Name || len(placement.Hosts) != sets[i].Least() {
			return nil
		}
		seats, ok := p.seats(placement, &c.options[option].sets[i])
		if !ok {
			return nil
		}
		for k := range seats {
			seats[k].Set = i
		}
		place.Seats = append(place.Seats, seats...)
	}
	place = keepWhole(c.options[option].sets, place)
	return &kept{record: c, option: option, place: stayOf(place, c.options[option].bill)}
}

// seats turns hosts into seats on nodes that would still do.
func (p *pass) seats(placement batch.Placement, set *timeline.Set) ([]timeline.Seat, bool) {
	var seats []timeline.Seat
	for _, host := range placement.Hosts {
		node, ok := p.fleet.index[host]
		if !ok {
			return nil, false
		}
		if n := len(seats); n > 0 && seats[n-1].Node == node {
			seats[n-1].Pods++
			continue
		}
		if _, ok := slices.BinarySearch(set.Nodes, int32(node)); !ok {
			return nil, false
		}
		seats = append(seats, timeline.Seat{Node: node, Pods: 1, Each: set.Each})
	}
	for _, s := range seats {
		if set.PerNode > 0 && s.Pods > set.PerNode {
			return nil, false
		}
	}
	return seats, true
}

// settleAll finds placements for all promised starts that depend on nothing but
// what runs and what was promised: after a restart, when nobody knows where the
// promised starts were, they are found again in the same way. It returns a board
// with all of them; nil if there is no room for all, and nothing has changed.
//
// Taken in the order of their starts, work on whole nodes always finds a
// placement for all: of spans that overlap at no time more often than there are
// nodes, each finds a node that is free when it begins. With mixed sizes some
// may find none: where placements are lost these go to the front, and all are
// placed again. Where all are known they will do as they are.
func (p *pass) settleAll(planned []*contender) *board {
	order := promisedOf(planned)
	last := 0
	if slices.ContainsFunc(order, func(k *claim) bool { return k.kept == nil }) {
		last = ordersMax - 1
	}
	for tries := range last + 1 {
		r := &repair{p: p, line: p.line.clone()}
		before := make([]*kept, len(order))
		for i, k := range order {
			before[i] = k.kept
		}
		p.byStart[tries].follow(p.line.nodes, p.resettledOf(order, tries))
		for _, k := range order {
			if r.seatAgain(k, tries) {
				continue
			}
			if r.failed = append(r.failed, k); tries == last {
				break // no order comes after this one
			}
		}
		if len(r.failed) == 0 {
			r.line.held = len(order)
			return r.line
		}
		for i, k := range order {
			k.kept = before[i]
		}
		rest := slices.DeleteFunc(order, func(k *claim) bool { return slices.Contains(r.failed, k) })
		order = append(r.failed, rest...)
	}
	return nil
}

// resettledOf is what is known of claims from the last time that all were
// placed anew. Those that were promised another start by now are asked anew in
// another place of the order, and would hide what is known of those between.
func (p *pass) resettledOf(order []*claim, tries int) (known []**seen) {
	for _, k := range order {
		if len(k.records) != 1 || k.records[0].resettled[tries] == nil {
			continue
		}
		was := &k.records[0].resettled[tries]
		if looks := (*was).looks; len(looks) == 0 || looks[0].Start != max(k.promise, p.from) {
			*was = nil
			continue
		}
		known = append(known, was)
	}
	return known
}

// seatAgain is seat, as far as the answer is not known. Of claims with several
// records nothing is.
func (r *repair) seatAgain(k *claim, tries int) bool {
	c, p := k.records[0], r.p
	trail, known := &p.byStart[tries], &k.records[0].resettled[tries]
	var is seen
	if len(k.records) > 1 {
		ok := r.seat(k)
		if ok {
			is.place = k.kept.place.Place
		}
		*known = nil
		trail.step(known, is)
		return ok
	}
	if c.plannable() {
		start := max(k.promise, p.from)
		option, place, ok := r.line.firstOf(c, func(i int) (stay, bool) {
			d := c.demand(i)
			var look timeline.Look
			if r.line.pays(d.bill, timeline.SpanOf(start, d.Long)) {
				look = trail.look(r.line.nodes, *known, question{option: i, need: d.Need, at: start})
			}
			is.looks = append(is.looks, look)
			return placeOf(&look, d.bill)
		})
		if ok {
			k.kept = &kept{record: c, option: option, place: place}
			r.line.hold(place)
			is.place = place.Place
		}
	}
	trail.step(known, is)
	return len(is.place.Seats) > 0
}

// ordersMax bounds the orders in which all promised starts are placed anew.
const ordersMax = 4

// promisedOf are the claims with a promise, by their starts.
func promisedOf(planned []*contender) (promised []*claim) {
	seen := map[*claim]bool{}
	for _, c := range planned {
		if c.promise != 0 && !seen[c.claim] {
			seen[c.claim] = true
			promised = append(promised, c.claim)
		}
	}
	slices.SortStableFunc(promised, func(a, b *claim) int { return cmp.Compare(a.promise, b.promise) })
	return promised
}

// remember finds placements for promised starts whose placement is not known or
// does not do any more, beside those whose placement does. It returns a board
// with all of them if all were known.
func (p *pass) remember(planned []*contender) *board {
	r := &repair{p: p, line: p.line.clone()}
	var unknown []*claim
	for _, k := range promisedOf(planned) {
		if k.kept != nil && k.kept.place.From == max(k.promise, p.from) && r.line.tryHold(k.kept.place) {
			r.line.held++
			continue
		}
		k.kept = nil
		unknown = append(unknown, k)
	}
	for _, k := range unknown {
		if r.seat(k) {
			r.placed = append(r.placed, k)
		} else if k.lost() {
			r.failed = append(r.failed, k)
		}
	}
	if len(unknown) == 0 {
		return r.line
	}
	r.run()
	return nil
}

// lost says whether the placement of a promise is not known, although nothing
// may have happened to it: as after a restart.
func (k *claim) lost() bool { return k.waiting.Held == nil && !k.inherits }
