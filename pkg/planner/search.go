package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/timeline"
)

// The bounds of a search: up to exactMax victims all sets are gone through,
// with checksMax looks at most, and up to wideMax the dearest are spared one by
// one, in two orders.
//
// A search costs at most (6 × victims + checksMax) looks at the nodes of one
// victim, and one pass over the nodes for each of the nodes that it empties.
const (
	exactMax  = 12
	checksMax = 5_000
	wideMax   = 100
)

// search looks for the cheapest set of victims that makes room for a gang. The
// victims that are out are not on the board, the others are.
type search struct {
	p       *pass
	board   *board
	demand  demand
	span    timeline.Span
	victims []*victim
	out     []bool
	touched *timeline.Nodes // nodes that are given up anyhow
	broken  *timeline.Nodes // nodes that nobody could have whole
	further []int           // how many others taking each breaks into

	set    *timeline.Set // the only one of its need; nil: it has several
	room   []int         // of the set, by node
	total  int
	usable []bool
	on     [][]int // victims by node
	checks int
	tried  map[int]bool // out for a look, on the node that is looked at
}

// cheapest finds the cheapest set of a scene's victims that makes room for a
// demand; there must be room when all are gone. Of those of higher standing than
// need be none is looked at.
func (h *hunt) cheapest(s *scene, d demand) (*search, []*victim) {
	n := s.least(d)
	if n == 0 {
		return newSearch(s, d, nil), nil
	}
	search := newSearch(s, d, s.victims[:n])
	return search, search.cheapest()
}

// newSearch begins with all victims on the board.
func newSearch(of *scene, d demand, victims []*victim) *search {
	p, b := of.hunt.p, of.below[0].clone()
	s := &search{
		p: p, board: b, demand: d, span: timeline.SpanOf(p.from, d.Long), victims: victims, out: make([]bool, len(victims)),
		further: make([]int, len(victims)), touched: of.hunt.touched, broken: of.broken,
	}
	for i, v := range victims {
		s.further[i] = v.further(of.broken)
	}
	if len(d.Sets) != 1 {
		return s
	}
	s.set = &d.Sets[0]
	s.room, s.usable = make([]int, b.nodes.Len()), make([]bool, b.nodes.Len())
	for _, node := range s.set.Nodes {
		s.usable[node] = true
		s.room[node] = b.nodes.RoomOn(s.set, int(node), s.span)
		s.total += s.room[node]
	}
	s.on = make([][]int, b.nodes.Len())
	for i, v := range victims {
		last := -1
		for _, h := range v.holds {
			if h.node != last {
				s.on[h.node] = append(s.on[h.node], i)
				last = h.node
			}
		}
	}
	return s
}

// fits says whether there is room for the gang beside those that are not out.
func (s *search) fits() bool {
	s.checks++
	if s.set != nil {
		return s.total >= s.set.Pods && s.board.pays(s.demand.bill, s.span)
	}
	_, ok := s.board.at(s.demand, s.p.from)
	return ok
}

// move takes a victim off the board, or puts it back.
func (s *search) move(i int, out bool) {
	if s.out[i] == out {
		return
	}
	s.out[i] = out
	s.board.move(s.victims[i], s.p.from, out)
	for _, h := range s.victims[i].holds {
		if s.set != nil && s.usable[h.node] {
			room := s.board.nodes.RoomOn(s.set, h.node, s.span)
			s.total += room - s.room[h.node]
			s.room[h.node] = room
		}
	}
}

// spare puts a victim back if there is room without it.
func (s *search) spare(i int) {
	if !s.out[i] {
		return
	}
	if s.move(i, false); !s.fits() {
		s.move(i, true)
	}
}

// indexes are all victims in an order.
func (s *search) indexes(compare func(a, b int) int) []int {
	order := make([]int, len(s.victims))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, compare)
	return order
}

// cheapest finds the cheapest set, and leaves exactly that out. There must be
// room when all are out.
func (s *search) cheapest() []*victim {
	var best []bool
	var least *bill
	try := func(find func()) {
		find()
		if b := s.bill(); least == nil || b.compare(least) < 0 {
			best, least = slices.Clone(s.out), b
		}
	}
	byPrice := s.indexes(s.cheaper)
	slices.Reverse(byPrice)
	if s.set != nil {
		try(func() { s.emptyNodes(); s.spareAll(byPrice) })
	}
	if len(s.victims) <= wideMax || s.set == nil || !s.demand.bill.Free() {
		try(func() { s.setAll(true); s.spareAll(byPrice) })
		byDensity := s.indexes(s.denser)
		slices.Reverse(byDensity)
		try(func() { s.setAll(true); s.spareAll(byDensity) })
	}
	if len(s.victims) <= exactMax {
		try(func() { s.exact(least) })
	}
	s.reset(best)
	var chosen []*victim
	for i, v := range s.victims {
		if s.out[i] {
			chosen = append(chosen, v)
		}
	}
	slices.SortFunc(chosen, compareIDs)
	return chosen
}

// spareAll puts back whom it can, in an order.
func (s *search) spareAll(order []int) {
	for _, i := range order {
		s.spare(i)
	}
}

func (s *search) setAll(out bool) {
	for i := range s.victims {
		s.move(i, out)
	}
}

func (s *search) reset(out []bool) {
	for i := range out {
		s.move(i, out[i])
	}
}

// exact goes through all sets, as far as it may, and leaves the cheapest out, or
// that which is known: the dearest are decided first, so that most of the rest
// need not be looked at.
func (s *search) exact(known *bill) {
	s.setAll(true)
	order := s.indexes(s.cheaper)
	slices.Reverse(order)
	best, least := s.outOf(known), known
	limit := s.checks + checksMax
	var visit func(next int)
	visit = func(next int) { // those before next are decided, the others are out
		if s.checks > limit || !s.fits() {
			return
		}
		if next == len(order) {
			if b := s.bill(); b.compare(least) < 0 {
				best, least = slices.Clone(s.out), b
			}
			return
		}
		i := order[next]
		s.move(i, false)
		visit(next + 1)
		s.move(i, true)
		price, n := s.spent(order[:next+1])
		if price < least.price || (price == least.price && n < least.count) {
			visit(next + 1)
		}
	}
	visit(0)
	s.reset(best)
}

// spent is what those of some victims cost that are out, and how many they are.
func (s *search) spent(some []int) (price int64, n int) {
	for _, i := range some {
		if s.out[i] {
			price += s.victims[i].price
			n++
		}
	}
	return price, n
}

// outOf is the set that a bill is for.
func (s *search) outOf(b *bill) []bool {
	out := make([]bool, len(s.victims))
	for i, v := range s.victims {
		_, out[i] = slices.BinarySearch(b.names, v.Workload.ID)
	}
	return out
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

// emptyNodes makes room node by node, each time where it costs least for what
// it brings: what a victim frees on other nodes costs nothing more there.
//
// Nodes are looked at in the order of their cheapest victims, nodes that are
// given up anyhow before all others, and only as long as one could be better
// than the best that is known.
func (s *search) emptyNodes() {
	s.setAll(false)
	m := market{search: s, nodes: s.byCheapest(), offers: make([]*offer, s.board.nodes.Len())}
	for !s.fits() {
		best := m.best(s.set.Pods - s.total)
		if best == nil {
			s.setAll(true) // not node by node, then
			return
		}
		for _, i := range best.out {
			s.move(i, true)
			for _, h := range s.victims[i].holds {
				if o := m.offers[h.node]; o != nil {
					o.known = false
				}
			}
		}
	}
}

// market is what nodes offer, as far as it is known.
type market struct {
	*search
	nodes  []priced
	offers []*offer // by node
	seen   int      // of nodes
}

// best is the best offer for up to so many pods; nil: there is none.
func (m *market) best(left int) (best *offer) {
	for n, node := range m.nodes {
		if n >= m.seen {
			if best != nil && !m.couldBeat(node, best, left) {
				break
			}
			m.seen = n + 1
		}
		o := m.offers[node.index]
		if o == nil || !o.known || o.gain > left {
			o = m.offerOf(node.index, left)
			m.offers[node.index] = o
		}
		if o.gain > 0 && (best == nil || o.compare(best) < 0) {
			best = o
		}
	}
	return best
}

// couldBeat says whether a node may have a better offer than one that is known.
func (m *market) couldBeat(node priced, best *offer, left int) bool {
	return m.touched.Has(node.index) ||
		compareRatio(node.price, int64(min(left, m.set.Most())), best.price, int64(best.gain)) < 0
}

// priced is a node with the price of its cheapest victim.
type priced struct {
	index int
	price int64
}

// byCheapest are the nodes with victims: those that are given up anyhow, then
// the others by the price of their cheapest; of equals those that nobody could
// have whole.
func (s *search) byCheapest() []priced {
	var nodes []priced
	for _, node := range s.set.Nodes {
		on := s.on[node]
		if len(on) == 0 {
			continue
		}
		n := priced{index: int(node), price: s.victims[on[0]].price}
		for _, i := range on {
			n.price = min(n.price, s.victims[i].price)
		}
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b priced) int {
		return cmp.Or(
			compareHas(s.touched, a.index, b.index), cmp.Compare(a.price, b.price),
			compareHas(s.broken, a.index, b.index), cmp.Compare(a.index, b.index),
		)
	})
	return nodes
}

// compareHas puts a node that is in a set before one that is not.
func compareHas(set *timeline.Nodes, a, b int) int {
	switch {
	case set.Has(a) == set.Has(b):
		return 0
	case set.Has(a):
		return -1
	default:
		return 1
	}
}

// offerOf is the best that a node can do for up to so many pods.
func (s *search) offerOf(node, left int) *offer {
	var in []int
	for _, i := range s.on[node] {
		if !s.out[i] {
			in = append(in, i)
		}
	}
	best := &offer{known: true}
	for _, compare := range []func(a, b int) int{s.cheaper, s.denser} {
		slices.SortFunc(in, compare)
		if o := s.offerIn(node, in, left); o.gain > 0 && (best.gain == 0 || o.compare(best) < 0) {
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
func (s *search) offerIn(node int, order []int, left int) *offer {
	before := s.room[node]
	best := &offer{known: true}
	price := int64(0)
	for n, i := range order {
		s.moveOn(node, i, true)
		price += s.victims[i].price
		gain := min(s.room[node]-before, left)
		o := &offer{out: order[:n+1], gain: gain, price: price, known: true}
		if gain > best.gain && (best.gain == 0 || o.compare(best) < 0) {
			best = o
		}
		if gain == left {
			break
		}
	}
	for _, i := range order {
		if !slices.Contains(best.out, i) {
			s.moveOn(node, i, false)
		}
	}
	best.out = slices.Clone(best.out)
	for k, i := range slices.Backward(slices.Clone(best.out)) {
		if s.moveOn(node, i, false); min(s.room[node]-before, left) >= best.gain {
			best.price -= s.victims[i].price
			best.out = slices.Delete(best.out, k, k+1)
			continue
		}
		s.moveOn(node, i, true)
	}
	for _, i := range best.out {
		s.moveOn(node, i, false)
	}
	return best
}

// moveOn is move, on one node alone and for a look.
func (s *search) moveOn(node, i int, out bool) {
	if s.tried == nil {
		s.tried = map[int]bool{}
	}
	if s.tried[i] == out {
		return
	}
	s.tried[i] = out
	for _, h := range s.victims[i].holds {
		if h.node != node {
			continue
		}
		span := timeline.Span{From: s.p.from, Till: h.till}
		if out {
			s.board.nodes.Return(h.node, h.takes, span)
		} else {
			s.board.nodes.Charge(h.node, h.takes, span)
		}
	}
	s.room[node] = s.board.nodes.RoomOn(s.set, node, s.span)
}
