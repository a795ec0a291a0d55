package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// nominations are the nodes with the places that are kept on them, as a plan
// leaves them to the next: there most of these places are where they were. What
// is known of a place is of no use any more when something has changed on one of
// its nodes: what sits there, who gives way there, or a place there that comes
// before it.
type nominations struct {
	below, line *timeline.Timeline // without the places, and with them
	places      []nominated        // in order
}

// nominated is one of these places, and what else than its nodes it rests on.
type nominated struct {
	of     *batch.Nomination
	key    needKey
	option int
	place  stay
	last   timeline.Time // when all that it waits for on its nodes is there
}

// reseating takes over of the places of the plan before what holds.
type reseating struct {
	*pass
	known   map[*batch.Nomination]*nominated
	changed *timeline.Nodes      // of these nothing is taken over
	on      map[int][]*contender // those who have their place by now, by node
	read    int                  // so many of them are in it
}

// newReseating makes the line of nodes that of the plan before, where it holds;
// nil: nothing is known. Where another order changes who comes first nothing is.
func (p *pass) newReseating(all []nominee) *reseating {
	if p.carried == nil || p.carried.seated == nil || len(p.firm) > 0 {
		return nil
	}
	was := p.carried.seated
	r := &reseating{pass: p, known: make(map[*batch.Nomination]*nominated, len(was.places)), changed: timeline.NewNodes(len(p.Nodes)), on: map[int][]*contender{}}
	for i := range was.places {
		r.known[was.places[i].of] = &was.places[i]
	}
	still, next := map[*batch.Nomination]bool{}, 0
	for _, a := range all {
		if r.known[a.is] == nil || still[a.is] {
			continue
		}
		still[a.is] = true
		for next < len(was.places) && was.places[next].of != a.is {
			next++
		}
		if next == len(was.places) {
			return nil
		}
	}
	p.line.nodes = was.line.Since(p.from)
	r.findChanges(was)
	for i := range was.places {
		if gone := &was.places[i]; !still[gone.of] {
			r.clear(gone.place.Place)
		}
	}
	return r
}

// findChanges clears the nodes on which something has changed. Who gives way now
// and did not, or the other way round, is charged until another time by that.
func (r *reseating) findChanges(was *nominations) {
	timeline.Changed(was.below, r.ground.nodes, r.clearNode)
	for node, view := range r.Nodes {
		if view != r.carried.views[node] {
			r.clearNode(node)
		}
	}
}

// clear takes nothing over of the nodes of a place.
func (r *reseating) clear(place timeline.Place) {
	for _, s := range place.Seats {
		r.clearNode(s.Node)
	}
}

// clearNode leaves on a node what sits there, and the places that come first.
func (r *reseating) clearNode(node int) {
	if r.changed.Has(node) {
		return
	}
	r.changed.Add(node)
	r.line.nodes.Adopt(node, r.ground.nodes)
	for ; r.read < len(r.nominated); r.read++ {
		c := r.nominated[r.read]
		for _, s := range c.place.Seats {
			if on := r.on[s.Node]; len(on) == 0 || on[len(on)-1] != c {
				r.on[s.Node] = append(on, c)
			}
		}
	}
	for _, c := range r.on[node] {
		for _, s := range c.place.Seats {
			if s.Node == node {
				r.line.nodes.Take(timeline.Place{Span: c.place.Span, Seats: []timeline.Seat{s}})
			}
		}
	}
}

// stays leaves one that is nominated in its place, on the nodes that are taken
// over. false: its place has to be found, and nothing is taken over of its nodes.
func (r *reseating) stays(c *contender, n *batch.Nomination) bool {
	if r == nil {
		return false
	}
	if k := r.known[n]; k != nil && r.holds(k, c) {
		c.settle(k.option, k.place)
		r.line.pay(k.place)
		r.noteSeated(k)
		return true
	}
	for _, placement := range n.Allocation.PodSets {
		for _, host := range placement.Hosts {
			if node, known := r.fleet.index[host]; known {
				r.clearNode(node)
			}
		}
	}
	return false
}

// holds says whether what is known of a place is so still.
func (r *reseating) holds(k *nominated, c *contender) bool {
	return k.key == c.key && k.place.From > r.from &&
		!slices.ContainsFunc(k.place.Seats, func(s timeline.Seat) bool { return r.changed.Has(s.Node) }) &&
		r.line.pays(k.place.bill, timeline.SpanOf(k.place.From, c.long)) &&
		k.place.From <= max(r.from, k.last, r.refunds().last(k.place.bill))
}

// noteSeated notes a place for the next plan.
func (p *pass) noteSeated(k *nominated) {
	if p.seated == nil {
		p.seated = &nominations{}
	}
	p.seated.places = append(p.seated.places, *k)
}

// noteNominations notes how the nodes are with all places that are kept. Where
// some start for certain, what they take is there too.
func (p *pass) noteNominations() {
	if len(p.firm) > 0 {
		p.seated = nil
	}
	if p.seated != nil {
		p.seated.below, p.seated.line = p.ground.nodes, p.line.nodes.Clone()
	}
}

// keepsIdle says whether what is idle on a node is kept as it was.
func (r *reseating) keepsIdle(node int) bool { return r != nil && !r.changed.Has(node) }
