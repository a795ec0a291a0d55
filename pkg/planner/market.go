package planner

import (
	"cmp"
	"math"
	"slices"

	"github.com/berth-dev/berth/pkg/timeline"
)

// spot is a node where victims of a search make room.
type spot struct {
	node    int
	room    int   // for the set
	most    int   // likewise, if none of the scene's victims were there
	victims []int // in the order in which they are searched
	price   int64 // of the cheapest of them
	touched bool  // it is given up anyhow
	broken  bool  // nobody could have it whole
	offer   *offer
	// rooms is the room when some of a few victims are out, and one; 0: not known.
	rooms [1 << fewMax]int
}

// fewMax is up to how many victims on a node the room is kept that each of their sets
// leaves.
const fewMax = 2

// compareSpots is the order in which nodes are asked for offers: those that are given
// up anyhow, then by the price of their cheapest victim; of equals those that nobody
// could have whole.
func compareSpots(a, b *spot) int {
	switch {
	case a.touched != b.touched:
		return trueFirst(a.touched)
	case a.price != b.price:
		return cmp.Compare(a.price, b.price)
	case a.broken != b.broken:
		return trueFirst(a.broken)
	}
	return cmp.Compare(a.node, b.node)
}

// trueFirst compares two that differ in something that the first has, or has not.
func trueFirst(has bool) int {
	if has {
		return -1
	}
	return 1
}

// mark is the spot that a search has on a node; below zero: it has none.
type mark struct {
	search int32 // its number
	spot   int32
}

// findSpots finds the nodes on which victims make room. Where quota is not in the
// way, those that make none are not searched: all of them stay. Few are left to
// be searched as they are.
func (s *search) findSpots() {
	all, m := s.victims, &s.hunt.memory
	keep := len(all) <= exactMax || !s.rich
	s.victims, s.spots, s.spotsOf, m.at = m.victims[:0], m.spots[:0], m.spotsOf[:0], m.at[:0]
	for _, v := range all {
		spots := s.spotsFor(v)
		if len(spots) == 0 && !keep {
			continue
		}
		for _, at := range spots {
			spot := &s.spots[at]
			spot.victims, spot.price = append(spot.victims, len(s.victims)), min(spot.price, v.price)
		}
		s.victims, s.spotsOf = append(s.victims, v), append(s.spotsOf, spots)
	}
	m.victims, m.spots, m.spotsOf = s.victims, s.spots, s.spotsOf
}

// spotsFor are the indexes of the spots of a victim.
func (s *search) spotsFor(v *victim) []int32 {
	all := &s.hunt.memory.at
	first, last := len(*all), -1
	for _, held := range v.holds {
		if held.node == last {
			continue
		}
		last = held.node
		if at := s.spotOn(held.node); at >= 0 {
			*all = append(*all, at)
		}
	}
	return (*all)[first:len(*all):len(*all)]
}

// spotOn is the index of the spot on a node; below zero: no victim makes room
// there.
func (s *search) spotOn(node int) int32 {
	m := &s.hunt.marks[node]
	if m.search == s.number {
		return m.spot
	}
	*m = mark{search: s.number, spot: -1}
	board, long := s.scene.board.nodes, s.demand.Long
	if !s.set.Takes(node) || !board.IsOpen(s.set, node, long, s.p.from+1) {
		return -1
	}
	at := spot{
		node: node, most: board.RoomOn(s.set, node, s.span), price: math.MaxInt64,
		touched: s.hunt.touched.Has(node), broken: s.broken.Has(node),
	}
	if at.most > 0 && s.board.nodes.IsOpen(s.set, node, long, s.p.from+1) {
		at.room = s.board.nodes.RoomOn(s.set, node, s.span)
	}
	if at.room >= at.most {
		return -1
	}
	n := len(s.spots)
	if n < cap(s.spots) {
		at.victims = s.spots[:n+1][n].victims[:0]
	}
	m.spot, s.spots = int32(n), append(s.spots, at)
	return m.spot
}

// offer is how a node makes room for pods.
type offer struct {
	out   []int // these go
	gain  int   // pods for which there is room then, and was not
	price int64
	known bool
}

func (o *offer) compare(other *offer) int {
	return cmp.Or(compareRatio(o.price, int64(o.gain), other.price, int64(other.gain)), cmp.Compare(len(o.out)*other.gain, len(other.out)*o.gain))
}

// loses says whether an offer is beaten by that of a node where one victim
// would cost so much and make room for so many pods.
func (o *offer) loses(price int64, gain int) bool {
	return cmp.Or(compareRatio(price, int64(gain), o.price, int64(o.gain)), cmp.Compare(o.gain, len(o.out)*gain)) < 0
}

// emptyNodes makes room node by node, each time where it costs least for what
// it brings: what a victim frees on other nodes costs nothing more there.
//
// Nodes are looked at in the order of their cheapest victims, nodes that are
// given up anyhow before all others, and only as long as one could be better
// than the best that is known.
//
// false: node by node, there is none. So it is where the nodes do and the quota
// does not.
func (s *search) emptyNodes() bool {
	s.setAll(false)
	m := s.market()
	for !s.fits() {
		if s.total >= s.set.Pods {
			break // the quota is short
		}
		best := m.best(s.set.Pods - s.total)
		if best == nil {
			break
		}
		for _, i := range best.out {
			s.move(i, true)
			for _, at := range s.spotsOf[i] {
				if o := s.spots[at].offer; o != nil {
					o.known = false
				}
			}
		}
	}
	s.hunt.memory.seen = m.seen
	return s.fits()
}

// market is what nodes offer, as far as it is known.
type market struct {
	*search
	seen []*spot // so far, in the order of compareSpots
	rest *ascending[*spot]
}

func (s *search) market() *market {
	order := s.hunt.memory.order[:0]
	for i := range s.spots {
		order = append(order, &s.spots[i])
	}
	s.hunt.memory.order = order
	return &market{search: s, seen: s.hunt.memory.seen[:0], rest: inOrder(order, compareSpots)}
}

// best is the best offer for up to so many pods; nil: there is none.
func (m *market) best(left int) (best *offer) {
	for n := 0; ; n++ {
		if n == len(m.seen) {
			if m.rest.none() || best != nil && !m.couldBeat(m.rest.first(), best, left) {
				break
			}
			m.seen = append(m.seen, m.rest.next())
		}
		at := m.seen[n]
		o := at.offer
		if o == nil || !o.known || o.gain > left {
			if !m.mayBeat(at, best, left) {
				continue
			}
			o = m.offerOf(at, left)
			at.offer = o
		}
		if o.gain > 0 && (best == nil || o.compare(best) < 0) {
			best = o
		}
	}
	return best
}

// couldBeat says whether a node, or one behind it, may have a better offer than
// one that is known.
func (m *market) couldBeat(at *spot, best *offer, left int) bool {
	return at.touched || compareRatio(at.price, int64(min(left, m.set.Most())), best.price, int64(best.gain)) < 0
}

// mayBeat says whether the offer of a node itself may be better than one that is
// known; nil: none is. To find that out costs less than to have it offer.
func (m *market) mayBeat(at *spot, best *offer, left int) bool {
	gain := min(left, at.most-at.room)
	return gain > 0 && (best == nil || best.loses(at.price, gain))
}

// offerOf is the best that a node can do for up to so many pods.
func (s *search) offerOf(at *spot, left int) *offer {
	var in []int
	for _, i := range at.victims {
		if !s.out[i] {
			in = append(in, i)
		}
	}
	best := &offer{known: true}
	for _, compare := range []func(a, b int) int{s.cheaper, s.denser} {
		slices.SortFunc(in, compare)
		if o := s.offerIn(at, in, left); o.gain > 0 && (best.gain == 0 || o.compare(best) < 0) {
			best = o
		}
		if len(in) < 2 {
			break
		}
	}
	return best
}

// offerIn takes victims of a node out in an order, and stops where that brings
// most for its price. It leaves all as they were.
func (s *search) offerIn(at *spot, order []int, left int) *offer {
	best := &offer{known: true}
	price := int64(0)
	for n, i := range order {
		s.trial[i] = true
		price += s.victims[i].price
		gain := min(s.roomOn(at)-at.room, left)
		o := &offer{out: order[:n+1], gain: gain, price: price, known: true}
		if gain > best.gain && (best.gain == 0 || o.compare(best) < 0) {
			best = o
		}
		if gain == left {
			break
		}
	}
	for n, i := range order {
		s.trial[i] = n < len(best.out)
	}
	best.out = slices.Clone(best.out)
	for k, i := range slices.Backward(slices.Clone(best.out)) {
		if s.trial[i] = false; min(s.roomOn(at)-at.room, left) >= best.gain {
			best.price -= s.victims[i].price
			best.out = slices.Delete(best.out, k, k+1)
			continue
		}
		s.trial[i] = true
	}
	for _, i := range best.out {
		s.trial[i] = false
	}
	return best
}

// roomOn is the room on a spot when those are gone that are out, for good or for
// a look.
func (s *search) roomOn(at *spot) int {
	if len(at.victims) > fewMax {
		return s.reckonOn(at)
	}
	of := 0
	for n, i := range at.victims {
		if s.out[i] || s.trial[i] {
			of |= 1 << n
		}
	}
	known := &at.rooms[of]
	if *known == 0 {
		*known = s.reckonOn(at) + 1
	}
	return *known - 1
}

// reckonOn is roomOn, worked out.
func (s *search) reckonOn(at *spot) int {
	s.gone = s.gone[:0]
	for _, i := range at.victims {
		if s.out[i] || s.trial[i] {
			s.gone = s.victims[i].takenOn(at.node, s.gone)
		}
	}
	slices.SortFunc(s.gone, func(a, b timeline.Taken) int { return cmp.Compare(b.Till, a.Till) })
	return s.board.nodes.RoomWithout(s.set, at.node, s.span, s.gone)
}

// takenOn appends what a victim takes of a node.
func (v *victim) takenOn(node int, all []timeline.Taken) []timeline.Taken {
	first, _ := slices.BinarySearchFunc(v.holds, node, func(h holding, node int) int { return cmp.Compare(h.node, node) })
	for _, h := range v.holds[first:] {
		if h.node != node {
			break
		}
		all = append(all, timeline.Taken{Each: h.takes, Till: h.till})
	}
	return all
}
