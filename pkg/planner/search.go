package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// The bounds of a search: up to exactMax victims all sets are gone through,
// with checksMax looks at most, and up to wideMax the dearest are spared one by
// one, in two orders.
//
// A search costs at most (11 × victims + checksMax) looks at the nodes of one
// victim, and one pass over the nodes of all victims for each that it empties.
const (
	exactMax  = 12
	checksMax = 5_000
	wideMax   = 100
)

// search looks for the cheapest set of victims that makes room for a gang.
//
// For a single set of pods it reckons with the nodes where its victims make room,
// and no node is written until they are chosen; for several the victims that are out
// are not on the board, and the others are.
type search struct {
	p       *pass
	hunt    *hunt
	scene   *scene
	board   *board // the scene's own, on trial, where there is a single set
	undo    func() // ends the trial; nil: there is none
	demand  demand
	span    timeline.Span
	victims []*victim // of those to choose from, the ones who make room
	many    int       // of those to choose from
	first   []*victim // go beside those that are out
	out     []bool
	broken  *timeline.Nodes // nodes that nobody could have whole
	number  int32           // among the searches of a hunt
	further []int           // how many others taking each breaks into

	set     *timeline.Set // the only one of its need; nil: it has several
	total   int           // room for it on all nodes
	spots   []spot        // nodes that would do and have victims
	spotsOf [][]int32     // by victim
	checks  int
	rich    bool   // there is quota, whoever stays
	paid    bool   // there was with those that had settled, when it was asked; see pays
	asked   bool   // whether there was
	settled []bool // what it pays was given back
	// unsettled are victims of which that may differ from whether they are out.
	unsettled []int
	trial     []bool           // out for a look, on the node that is looked at
	gone      []timeline.Taken // memory that is used again
}

// memory is that of a search, which the next one of its hunt uses again: of many that
// wait each goes through hundreds of victims.
type memory struct {
	victims    []*victim
	spots      []spot
	spotsOf    [][]int32
	at         []int32 // what spotsOf lies in
	out, trial []bool
	further    []int
	order      []*spot
	seen       []*spot
	settled    []bool
	all        []int
}

// zeroed is a slice of n zeros, in the same memory if there is enough.
func zeroed[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// cheapest finds the cheapest set of a scene's victims that makes room for a
// demand; there must be room when all are gone. Of those of higher standing than
// need be none is looked at. The search is to be ended before the next one begins.
func (h *hunt) cheapest(s *scene, d demand) (*search, []*victim) {
	n := s.least(d)
	if n == 0 {
		search := &search{p: h.p, hunt: h, scene: s, demand: d}
		search.begin()
		return search, nil
	}
	search := h.newSearch(s, d, s.victims[:n])
	return search, search.cheapest()
}

// newSearch begins with all victims on the board.
func (h *hunt) newSearch(of *scene, d demand, victims []*victim) *search {
	h.searches++
	s := &search{
		p: h.p, hunt: h, scene: of, board: of.layer(0), broken: of.broken, demand: d, span: timeline.SpanOf(h.p.from, d.Long),
		victims: victims, many: len(victims), number: h.searches,
	}
	switch {
	case len(d.Sets) != 1:
		s.board = s.board.clone()
	default:
		s.set = &d.Sets[0]
		s.total, _ = s.board.nodes.Room(s.set, d.Long, h.p.from)
		s.rich = s.pays()
		s.findSpots()
		if !s.rich {
			s.board.ledger.Try()
			s.undo = s.board.ledger.Undo
		}
	}
	m := &h.memory
	m.out, m.trial, m.further = zeroed(m.out, len(s.victims)), zeroed(m.trial, len(s.victims)), m.further[:0]
	for _, v := range s.victims {
		m.further = append(m.further, v.further(of.broken))
	}
	m.settled = zeroed(m.settled, len(s.victims))
	s.out, s.trial, s.further, s.settled = m.out, m.trial, m.further, m.settled
	return s
}

// begin begins a trial on the board on which no victims of the scene are gone.
func (s *search) begin() {
	s.end()
	s.board = s.scene.layer(0)
	s.board.try()
	s.undo = s.board.undo
}

// end makes the board of the scene what it was.
func (s *search) end() {
	if s != nil && s.undo != nil {
		s.undo()
		s.undo = nil
	}
}

// fits says whether there is room for the gang beside those that are not out.
func (s *search) fits() bool {
	s.checks++
	if s.set != nil {
		return s.total >= s.set.Pods && s.pays()
	}
	_, ok := s.board.at(s.demand, s.p.from)
	return ok
}

// pays says whether there is quota for the gang beside those that are not out. Most
// that are moved are moved back before anybody asks.
func (s *search) pays() bool {
	for _, i := range s.unsettled {
		if s.settled[i] != s.out[i] {
			s.settled[i], s.asked = s.out[i], false
			s.board.settle(s.victims[i].pays, s.p.from, s.out[i])
		}
	}
	if s.unsettled = s.unsettled[:0]; !s.asked {
		s.paid, s.asked = s.board.pays(s.demand.bill, s.span), true
	}
	return s.paid
}

// settle notes that a victim is out, or back, where what it pays matters.
func (s *search) settle(i int) {
	meets := func(c quota.Charge) bool { return s.p.tree.Meets(c.Bill, s.demand.bill) }
	if !s.rich && slices.ContainsFunc(s.victims[i].pays, meets) {
		s.unsettled = append(s.unsettled, i)
	}
}

// move takes a victim off the board, or puts it back.
func (s *search) move(i int, out bool) {
	if s.out[i] == out {
		return
	}
	s.out[i] = out
	if s.set == nil {
		s.board.move(s.victims[i], s.p.from, out)
		return
	}
	s.settle(i)
	for _, at := range s.spotsOf[i] {
		spot := &s.spots[at]
		room := s.roomOn(spot)
		s.total += room - spot.room
		spot.room = room
	}
}

// spare puts a victim back if there is room without it.
func (s *search) spare(i int) {
	if s.move(i, false); !s.fits() {
		s.move(i, true)
	}
}

// dearest are the victims that are out, in the reverse of an order.
func (s *search) dearest(compare func(a, b int) int) (order []int) {
	for i, out := range s.out {
		if out {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return compare(b, a) })
	return order
}

// cheapest finds the cheapest set, and leaves a board from which exactly that is
// gone. There must be room when all are out.
func (s *search) cheapest() []*victim {
	var best []bool
	var least *bill
	try := func(find func()) {
		find()
		if b := s.bill(); least == nil || b.compare(least) < 0 {
			best, least = slices.Clone(s.out), b
		}
	}
	emptied := s.set != nil && s.emptyNodes()
	if emptied {
		try(func() { s.spareAll(s.cheaper) })
	}
	wide := s.many <= wideMax || s.set == nil || !s.rich && !emptied
	if wide || !emptied {
		try(func() { s.spareDearest(s.cheaper) })
	}
	if wide {
		try(func() { s.spareDearest(s.denser) })
	}
	if s.many <= exactMax {
		try(func() { s.exact(least, func() bool { return true }) })
	}
	s.reset(best)
	return s.chosen()
}

// those are the victims that are out.
func (s *search) those() (some []*victim) {
	for i, v := range s.victims {
		if s.out[i] {
			some = append(some, v)
		}
	}
	return some
}

// chosen are the victims that are out, and just they are gone from the board.
func (s *search) chosen() (some []*victim) {
	some = s.those()
	if s.set != nil {
		s.begin()
		for _, v := range some {
			s.board.move(v, s.p.from, true)
		}
	}
	slices.SortFunc(some, compareIDs)
	return some
}

// spareDearest takes all out and puts back whom it can, the last of an order
// first. For a single set of pods it comes from the other end, and is as soon done
// as few must go: the first of the order without which there is no room are those
// that are left out when, from the last on, the others have come back. For several
// that does not hold: there may by chance be room with fewer out, and not with more.
func (s *search) spareDearest(compare func(a, b int) int) {
	if s.setAll(s.set == nil); s.set == nil {
		s.spareAll(compare)
		return
	}
	order := s.inOrder(compare)
	n := 0
	for ; !s.fits(); n++ {
		s.move(order[n], true)
	}
	for _, i := range slices.Backward(order[:n]) {
		s.spare(i)
	}
}

// inOrder are the indexes of the victims in an order. They come by price within a
// standing, so that mostly few are out of order.
func (s *search) inOrder(compare func(a, b int) int) []int {
	all := s.hunt.memory.all[:0]
	for i := range s.victims {
		all = append(all, i)
	}
	s.hunt.memory.all = all
	slices.SortFunc(all, compare)
	return all
}

// spareAll puts back whom it can, the last of an order first.
func (s *search) spareAll(compare func(a, b int) int) {
	for _, i := range s.dearest(compare) {
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

// exact goes through all sets, as far as it may, and leaves the cheapest out that may
// go together, or that which is known; nil: none is. The dearest are decided first, so
// that most of the rest need not be looked at. false: there is none.
func (s *search) exact(known *bill, may func() bool) bool {
	s.setAll(true)
	order := s.dearest(s.cheaper)
	var best []bool
	least := known
	if known != nil {
		best = s.outOf(known)
	}
	limit := s.checks + checksMax
	var visit func(next int)
	visit = func(next int) { // those before next are decided, the others are out
		if s.checks > limit || !s.fits() {
			return
		}
		if next == len(order) {
			if b := s.bill(); (least == nil || b.compare(least) < 0) && may() {
				best, least = slices.Clone(s.out), b
			}
			return
		}
		i := order[next]
		s.move(i, false)
		visit(next + 1)
		s.move(i, true)
		price, n := s.spent(order[:next+1])
		if least == nil || price < least.price || (price == least.price && n < least.count) {
			visit(next + 1)
		}
	}
	if visit(0); best != nil {
		s.reset(best)
	}
	return best != nil
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

// keepTo leaves some of those out alone that are: the board is as it was.
func (s *search) keepTo(some []*victim) {
	for i, v := range s.victims {
		s.out[i] = s.out[i] && slices.Contains(some, v)
	}
	s.first = slices.DeleteFunc(slices.Clone(s.first), func(v *victim) bool { return !slices.Contains(some, v) })
}
