package planner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// scene is what is free to those that may take the place of the same victims:
// as if all of these were gone, and all that give way already.
type scene struct {
	hunt    *hunt
	victims []*victim // the lowest standing first, then the cheapest
	board   *board
	// below are boards on which not all victims are gone: none, then those of
	// the lowest standing, and so on; made when they are needed. bounds are how
	// many victims are gone on each.
	below   []*board
	bounds  []int
	upto    int             // of the order: the places of those before it are held
	grace   timeline.Long   // the longest of the victims
	safe    time.Time       // when the first of those that are spared is so no more; zero: none is
	byQuota bool            // quotas say which of the victims may be taken
	broken  *timeline.Nodes // nodes that nobody could have whole, even if all victims went

	barren barren            // with all victims
	narrow map[string]barren // with some of them
}

// sceneKey tells apart who may take whom.
type sceneKey struct {
	tier  int32
	queue batch.QueueName // empty: the tier alone says whom it may take
	rank  int             // how many of the victims' priorities are lower
}

// scene is that of a contender.
func (h *hunt) scene(c *contender) *scene {
	key := sceneKey{tier: c.queue.Tier}
	if c.queue.Preemption.TakesMore() {
		key.queue = c.queue.Name
		key.rank, _ = slices.BinarySearch(h.priorities, c.workload().Priority)
	}
	if s, ok := h.scenes[key]; ok {
		return s
	}
	s := &scene{hunt: h, barren: barren{}, narrow: map[string]barren{}}
	h.scenes[key] = s
	for _, v := range h.victims {
		if r := h.p.rightOf(c, v); r.any() {
			s.victims = append(s.victims, v)
			s.grace = max(s.grace, v.grace)
			s.byQuota = s.byQuota || !r.higher
		}
	}
	slices.SortFunc(s.victims, func(a, b *victim) int { return cmp.Or(a.standing.compare(b.standing), cmp.Compare(a.rank, b.rank)) })
	for _, v := range h.spared {
		if h.p.rightOf(c, v.victim).any() && (s.safe.IsZero() || v.till.Before(s.safe)) {
			s.safe = v.till
		}
	}
	if len(s.victims) > 0 {
		s.build()
	}
	return s
}

// build makes the board: what stays, and the places that are kept, from now on.
func (s *scene) build() {
	h, p := s.hunt, s.hunt.p
	s.board = p.ground.clone()
	for node := range p.Nodes {
		if !h.touched.Has(node) {
			continue
		}
		for _, g := range p.gifts(node) {
			s.board.nodes.Return(node, g.takes, timeline.Span{From: p.from, Till: g.till})
		}
	}
	s.board.settle(p.giftsOfQuota(), p.from, true)
	s.findBroken()
	for _, v := range slices.Concat(h.gone, s.victims) {
		if h.holdsOf(v); v.start == nil { // else it is not on the board yet
			s.board.move(v, p.from, true)
		}
	}
	for _, c := range p.nominees() {
		if !s.maySpare(c) {
			s.keep(c.place)
		}
	}
	for _, c := range p.order {
		if h.counts(c) && !s.maySpare(c) {
			s.keep(c.place)
		}
	}
	for _, place := range h.kept {
		s.keep(place)
	}
}

// findBroken finds the nodes on which work stays, or victims go anyhow: who takes
// a little there leaves as many whole nodes to be had as there were.
func (s *scene) findBroken() {
	h, p := s.hunt, s.hunt.p
	goes := make(map[batch.WorkloadID]bool, len(s.victims))
	for _, v := range s.victims {
		goes[v.Workload.ID] = true
	}
	s.broken = timeline.NewNodes(len(p.Nodes))
	scarce := p.scarcest()
	stays := func(c batch.Charge) bool { return c.By != "" && !goes[c.By] && c.Requests[scarce] > 0 }
	for node, view := range p.Nodes {
		if h.touched.Has(node) || slices.ContainsFunc(view.Charges, stays) {
			s.broken.Add(node)
		}
	}
}

// maySpare says whether what would start in this plan is, or was, a victim.
func (s *scene) maySpare(c *contender) bool {
	of := func(v *victim) bool { return v.start == c }
	return slices.ContainsFunc(s.victims, of) || slices.ContainsFunc(s.hunt.gone, of)
}

// layer makes the boards on which not all victims are gone.
func (s *scene) layer() {
	if s.below != nil {
		return
	}
	b := s.board
	for last := len(s.victims); last > 0; {
		b = b.clone()
		first := last
		for ; first > 0 && s.victims[first-1].standing == s.victims[last-1].standing; first-- {
			b.move(s.victims[first-1], s.hunt.p.from, false)
		}
		s.below, s.bounds = append(s.below, b), append(s.bounds, first)
		last = first
	}
	slices.Reverse(s.below)
	slices.Reverse(s.bounds)
}

// settle gives back to the quotas what somebody pays, or takes it again.
func (b *board) settle(pays []quota.Charge, from timeline.Time, back bool) {
	for _, c := range pays {
		span := quota.Span{From: quota.Time(from), Till: c.Till}
		if back {
			b.ledger.Release(c.Bill, span)
		} else {
			b.ledger.Charge(c.Bill, span)
		}
	}
}

// move takes what a victim holds off a board, or puts it back.
func (b *board) move(v *victim, from timeline.Time, out bool) {
	b.settle(v.pays, from, out)
	for _, h := range v.holds {
		span := timeline.Span{From: from, Till: h.till}
		if out {
			b.nodes.Return(h.node, h.takes, span)
		} else {
			b.nodes.Charge(h.node, h.takes, span)
		}
	}
}

// keep takes a place from now on.
func (s *scene) keep(place stay) {
	span := timeline.Span{From: s.hunt.p.from, Till: place.Till}
	for _, seat := range place.Seats {
		s.broken.Add(seat.Node)
		takes := make(batch.Vector, len(seat.Each))
		takes.Sub(seat.Each, -seat.Pods)
		s.board.nodes.Charge(seat.Node, takes, span)
		for _, b := range s.below {
			b.nodes.Charge(seat.Node, takes, span)
		}
	}
	if place.bill.Free() {
		return
	}
	s.board.ledger.Charge(place.bill, payTime(span))
	for _, b := range s.below {
		b.ledger.Charge(place.bill, payTime(span))
	}
}

// catchUp holds the places of those that are ranked before an index.
func (s *scene) catchUp(index int) {
	h := s.hunt
	for ; s.upto < index; s.upto++ {
		c := h.p.order[s.upto]
		if c.nomination != nil || c.best() != c || h.counts(c) {
			continue
		}
		if _, named := h.named[c.workload().ID]; named {
			continue
		}
		place, expected := h.places[c.claim]
		if !expected {
			if c.at == nil {
				continue
			}
			place = c.place
		}
		if !s.board.fits(place) {
			continue
		}
		s.board.hold(place)
		for _, b := range s.below {
			b.charge(place)
		}
	}
}

// charge takes a stay into account, whether there is room for it or not.
func (b *board) charge(s stay) {
	for _, seat := range s.Seats {
		takes := make(batch.Vector, len(seat.Each))
		takes.Sub(seat.Each, -seat.Pods)
		b.nodes.Charge(seat.Node, takes, s.Span)
	}
	if !s.bill.Free() {
		b.ledger.Charge(s.bill, payTime(s.Span))
	}
}

// demand is what a contender needs from now on: until its run is over, if it
// begins at the end of the longest grace.
func (s *scene) demand(c *contender, option int) demand {
	d := c.demand(option)
	d.Long = plus(d.Long, s.grace)
	return d
}

// couldDo says whether there is room for an option of a contender when all
// victims are gone.
func (s *scene) couldDo(c *contender, option int) bool {
	if s.barren.has(c, option) {
		return false
	}
	if s.has(s.demand(c, option)) {
		return true
	}
	s.barren.add(c, option)
	return false
}

// has says whether there is room for a demand when all victims are gone.
func (s *scene) has(d demand) bool { return s.board.has(d, s.hunt.p.from) }

// has says whether there is room for a demand from a time on.
func (b *board) has(d demand, from timeline.Time) bool {
	if len(d.Sets) == 1 {
		if !b.pays(d.bill, timeline.SpanOf(from, d.Long)) {
			return false
		}
		pods, _ := b.nodes.Room(&d.Sets[0], d.Long, from)
		return pods >= d.Sets[0].Pods
	}
	_, ok := b.at(d, from)
	return ok
}

// least is how many of the victims must be looked at, those of the lowest
// standing first, so that there is room for a demand when they are gone.
func (s *scene) least(d demand) int {
	s.layer()
	for i, b := range s.below {
		if b.has(d, s.hunt.p.from) {
			return s.bounds[i]
		}
	}
	return len(s.victims)
}

// open are the victims that a contender may take and that would be gone before
// its planned start, and what is known of them.
func (s *scene) open(c *contender, option int) (some []*victim, known barren) {
	h := s.hunt
	law := h.lawFor(c, option, s)
	planned, grace := c.planned(), timeline.Long(0)
	for _, v := range s.victims {
		if h.p.from+timeline.Time(v.grace) >= planned || !law.grants(h.p.rightOf(c, v), v) {
			continue
		}
		some = append(some, v)
		grace = max(grace, v.grace)
	}
	if len(some) == len(s.victims) {
		return some, s.barren
	}
	key := fmt.Sprintf("%d %s", grace, law.text())
	if s.narrow[key] == nil {
		s.narrow[key] = barren{}
	}
	return some, s.narrow[key]
}

// with is the scene with some of its victims alone.
func (s *scene) with(some []*victim) *scene {
	if len(some) == len(s.victims) {
		return s
	}
	n := &scene{hunt: s.hunt, victims: some, broken: s.broken}
	for _, v := range some {
		n.grace = max(n.grace, v.grace)
	}
	s.layer()
	n.board = s.below[0].clone()
	for _, v := range some {
		n.board.move(v, s.hunt.p.from, true)
	}
	return n
}

// giveUp takes note of victims that go, and of the place that is kept for whom
// they go.
func (s *scene) giveUp(victims []*victim, place stay) {
	if s.board == nil {
		return
	}
	for _, v := range victims {
		for _, held := range v.holds {
			s.broken.Add(held.node)
		}
		// Where it is gone already it is not taken twice.
		i := slices.Index(s.victims, v)
		for k, b := range s.below {
			if i < 0 || s.bounds[k] <= i {
				b.move(v, s.hunt.p.from, true)
			}
		}
		if i < 0 {
			s.board.move(v, s.hunt.p.from, true)
			s.barren = barren{} // there is more room than there was
			continue
		}
		s.victims = slices.Delete(s.victims, i, i+1)
		for k := range s.bounds {
			if s.bounds[k] > i {
				s.bounds[k]--
			}
		}
	}
	s.narrow = map[string]barren{}
	s.keep(place)
}

// barren are requests for which no set of victims does, as long as there are
// fewer of them and more is held. What is known of a request for like pods
// holds for every one of its kind that asks for as many and as long, or more.
type barren map[barrenKey][]barrenNeed

type barrenKey struct {
	kind   *kind
	option int
}

type barrenNeed struct {
	shape *shape
	pods  int
	long  timeline.Long
}

func (b barren) has(c *contender, option int) bool {
	for _, known := range b[barrenKey{kind: c.key.shape.kind, option: option}] {
		if known.long <= c.long && (known.shape == c.key.shape || c.key.shape.single() && known.pods <= c.key.shape.pods) {
			return true
		}
	}
	return false
}

func (b barren) add(c *contender, option int) {
	key := barrenKey{kind: c.key.shape.kind, option: option}
	b[key] = append(b[key], barrenNeed{shape: c.key.shape, pods: c.key.shape.pods, long: c.long})
}
