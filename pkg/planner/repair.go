package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/timeline"
)

// triesMax and looksMax bound the tries of a repair: the larger the cluster,
// the fewer.
const (
	triesMax = 2000
	looksMax = 200_000
)

// repair finds placements for promised starts that found none beside the
// others: some of those that are in the way are taken out and placed again
// behind it, as long as that loses nobody. It is a search by trial, the same
// one every time, and bounded; it runs after restarts alone.
type repair struct {
	p      *pass
	line   *board   // with what runs and all that are placed
	placed []*claim // these may be moved
	failed []*claim
	chance uint64
}

func (r *repair) run() {
	for range min(triesMax, looksMax/max(1, len(r.p.Nodes))) {
		if len(r.failed) == 0 {
			return
		}
		r.try(r.failed[r.draw(len(r.failed))])
	}
}

// draw is a number below n: of a fixed sequence, since plans must repeat.
func (r *repair) draw(n int) int {
	r.chance = r.chance*6364136223846793005 + 1442695040888963407
	return int((r.chance >> 33) % uint64(n))
}

// seat gives a claim a place at its promised start.
func (r *repair) seat(k *claim) bool {
	for _, c := range k.records {
		if !c.plannable() {
			continue
		}
		option, place, ok := r.line.firstOf(c, func(i int) (stay, bool) { return r.line.at(c.demand(i), max(k.promise, r.p.from)) })
		if ok {
			k.kept = &kept{record: c, option: option, place: place}
			r.line.hold(place)
			return true
		}
	}
	return false
}

// try places a claim that has no place in front of some that are in its way. It
// keeps what comes of it unless more find no place than before.
func (r *repair) try(k *claim) {
	out := r.inTheWay(k)
	before := make([]*kept, len(out))
	for i, other := range out {
		before[i] = other.kept
		r.line.release(other.kept.place)
	}
	order := slices.Clone(out)
	r.arrange(order)
	var lost []*claim
	in := r.seat(k)
	for _, other := range order {
		if !in || len(lost) > 1 || !r.seat(other) {
			other.kept = nil
			lost = append(lost, other)
		}
	}
	if in && len(lost) <= 1 {
		r.placed = append(slices.DeleteFunc(r.placed, func(c *claim) bool { return slices.Contains(lost, c) }), k)
		r.failed = append(slices.DeleteFunc(r.failed, func(c *claim) bool { return c == k }), lost...)
		return
	}
	if in {
		r.line.release(k.kept.place)
		k.kept = nil
	}
	for i, other := range out {
		if other.kept != nil {
			r.line.release(other.kept.place)
		}
		other.kept = before[i]
	}
	for _, other := range out {
		r.line.hold(other.kept.place)
	}
}

// arrange orders those that are placed again: by chance, or the largest pods
// first.
func (r *repair) arrange(order []*claim) {
	for i := range order {
		j := i + r.draw(len(order)-i)
		order[i], order[j] = order[j], order[i]
	}
	if r.draw(2) == 0 {
		slices.SortStableFunc(order, func(a, b *claim) int { return cmp.Compare(b.widest(), a.widest()) })
	}
}

// widest is what one pod of a claim asks of what is scarce at most: large pods
// are hard to place.
func (k *claim) widest() int {
	need := 0
	for _, s := range k.records[0].options[0].sets {
		for _, amount := range s.Each {
			if amount > 0 {
				need = max(need, int(amount))
				break // the scarce one comes first
			}
		}
	}
	return need
}

// inTheWay draws some of those that run at the same time as a claim would: all
// that are on some nodes, mostly on those with the fewest, or any.
func (r *repair) inTheWay(k *claim) (out []*claim) {
	c := k.records[r.draw(len(k.records))]
	span := timeline.SpanOf(max(k.promise, r.p.from), c.long)
	way := r.draw(4)
	var nodes map[int]bool
	if way > 0 {
		nodes = r.someNodes(&c.options[r.draw(len(c.options))], span, way > 1)
	}
	for _, other := range r.placed {
		switch place := other.kept.place; {
		case !overlap(place.Span, span):
		case nodes == nil && r.draw(4) > 0:
		case nodes != nil && !slices.ContainsFunc(place.Seats, func(s timeline.Seat) bool { return nodes[s.Node] }):
		default:
			out = append(out, other)
		}
	}
	return out
}

func overlap(a, b timeline.Span) bool { return a.From < b.Till && b.From < a.Till }

// someNodes draws nodes for a claim: any, or those on which the fewest are.
func (r *repair) someNodes(o *option, span timeline.Span, quiet bool) map[int]bool {
	set := &o.sets[r.draw(len(o.sets))]
	type node struct{ index, weight int }
	crowd := make([]node, len(set.Nodes))
	at := make(map[int]int, len(set.Nodes))
	for i, n := range set.Nodes {
		crowd[i] = node{index: int(n), weight: r.draw(8)}
		at[int(n)] = i
	}
	if quiet {
		for _, other := range r.placed {
			if !overlap(other.kept.place.Span, span) {
				continue
			}
			for _, s := range other.kept.place.Seats {
				if i, ok := at[s.Node]; ok {
					crowd[i].weight += 3
				}
			}
		}
	}
	slices.SortFunc(crowd, func(a, b node) int { return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(a.index, b.index)) })
	chosen := map[int]bool{}
	for _, n := range crowd[:min(len(crowd), 1+r.draw(set.Pods+1))] {
		chosen[n.index] = true
	}
	return chosen
}
