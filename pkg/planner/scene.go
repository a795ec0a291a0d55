package planner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// scene is what is free to those that may take the place of the same victims:
// as if all of these were gone, and all that give way already.
type scene struct {
	hunt     *hunt
	queue    *batch.Queue // of the contender, or one like it
	victims  []*victim    // the lowest standing first, then the cheapest
	expiring []*victim    // likewise, of those who need not be told to go: they are gone on all of its boards
	board    *board
	below    []*layer            // none are gone, those of the lowest standing, and so on; made when they are needed
	lowest   int                 // of them on which there was room for the last that asked
	deeds    []deed              // since they were made
	upto     int                 // of those who may have a place: it is held of those before
	beside   map[*contender]bool // those of them that start
	grace    timeline.Long       // the longest of the victims
	late     timeline.Long       // the same, but see victim.late
	soonest  timeline.Long       // the shortest grace of the victims
	safe     time.Time           // when the first of those that are spared is so no more; zero: none is
	exempt   time.Time           // the same, but for those that have just started: they are so for a second
	byQuota  bool                // quotas say which of the victims may be taken
	higher   bool                // and of some they do not
	ofHigher *scene              // of these; nil: nobody has needed it
	footing  footing             // of its laws
	broken   *timeline.Nodes     // nodes that nobody could have whole, even if all victims went

	heard  int               // of the deals that were made
	barren barren            // with all victims
	idle   bool              // the last that was found a place needs nobody to go
	narrow map[string]*scene // with some of them
}

// sceneKey tells apart who may take whom.
type sceneKey struct {
	tier  int32
	queue batch.QueueName // empty: the tier alone says whom it may take
	rank  int             // how many of the victims' priorities are lower
	// higher leaves out those over whom quotas have a say.
	higher bool
}

// scene is that of a contender.
func (h *hunt) scene(c *contender) *scene {
	rules := &c.queue.Preemption
	if !rules.TakesMore() {
		s := h.sceneOfHigher(c)
		h.ofQueue[c.queue] = s
		return s
	}
	key := sceneKey{tier: c.queue.Tier, queue: c.queue.Name}
	if rules.TakesByPriority() {
		key.rank, _ = slices.BinarySearch(h.priorities, c.workload().Priority)
	}
	s := h.sceneFor(key, c)
	if !rules.TakesByPriority() {
		h.ofQueue[c.queue] = s
	}
	return s
}

// sceneOfHigher is that of the victims alone which a contender may take whatever
// quotas say.
func (h *hunt) sceneOfHigher(c *contender) *scene {
	key := sceneKey{tier: c.queue.Tier, higher: true}
	if c.queue.Preemption.WithinQueue == batch.WhomLowerPriority {
		key.queue = c.queue.Name
		key.rank, _ = slices.BinarySearch(h.priorities, c.workload().Priority)
	}
	return h.sceneFor(key, c)
}

// sceneFor is the scene of a contender, and of those like it.
func (h *hunt) sceneFor(key sceneKey, c *contender) *scene {
	if s, known := h.scenes[key]; known {
		s.hear()
		return s
	}
	s := h.newScene(c, func(r right) bool { return r.higher || !key.higher && r.any() })
	h.scenes[key] = s
	return s
}

// newScene is the scene of a contender with those over whom it has some rights.
func (h *hunt) newScene(c *contender, takes func(right) bool) *scene {
	s := &scene{hunt: h, queue: c.queue, barren: barren{}, narrow: map[string]*scene{}, beside: map[*contender]bool{}, soonest: timeline.Forever}
	for _, v := range h.victims {
		if r := h.p.rightOf(c, v); takes(r) {
			s.victims = append(s.victims, v)
			s.grace, s.late, s.soonest = max(s.grace, v.grace), max(s.late, v.late()), min(s.soonest, v.grace)
			s.byQuota, s.higher = s.byQuota || !r.higher, s.higher || r.higher
		}
	}
	for _, v := range h.expiring {
		if r := h.p.rightOf(c, v); takes(r) {
			s.expiring = append(s.expiring, v)
			s.grace, s.late = max(s.grace, v.grace), max(s.late, v.late())
			s.byQuota = s.byQuota || !r.higher
		}
	}
	s.findSpared(c)
	return s
}

// byStanding orders the victims of a scene.
func byStanding(a, b *victim) int {
	return cmp.Or(a.standing.compare(b.standing), cmp.Compare(a.rank, b.rank))
}

// build makes the board: what stays, and the places that are kept, from now on. There
// may be a scene for each queue and priority, and most never need it.
func (s *scene) build() {
	if s.board != nil {
		return
	}
	h, p := s.hunt, s.hunt.p
	s.heard = len(h.done)
	s.victims = slices.DeleteFunc(s.victims, func(v *victim) bool { return v.gone })
	slices.SortFunc(s.victims, byStanding)
	s.board = h.vacate().board.clone()
	s.findBroken()
	for _, v := range slices.Concat(h.gone, s.expiring, s.victims) {
		if h.lookUp(v); v.start == nil { // else it is not on the board yet
			s.board.move(v, p.from, true)
		}
	}
	for _, i := range h.held {
		if c := p.order[i]; h.preys[c] && h.hasPlace(c) && !s.maySpare(c) {
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
	for _, v := range slices.Concat(s.expiring, s.victims) {
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
	for place := range h.vacate().kept() {
		s.broken.AddPlace(place.Place)
	}
}

// maySpare says whether what would start in this plan is, or was, a victim.
func (s *scene) maySpare(c *contender) bool {
	of := func(v *victim) bool { return v.start == c }
	return slices.ContainsFunc(s.victims, of) || slices.ContainsFunc(s.hunt.gone, of)
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
	s.broken.AddPlace(place.Place)
	place = place.during(timeline.Span{From: s.hunt.p.from, Till: place.Till})
	s.board.charge(place)
	s.note(deed{place: place})
}

// catchUp holds the places of those that are ranked before an index.
func (s *scene) catchUp(index int) {
	h := s.hunt
	for ; s.upto < len(h.held) && h.held[s.upto] < index; s.upto++ {
		c := h.p.order[h.held[s.upto]]
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
		if !s.board.tryHold(place) {
			continue
		}
		if s.note(deed{place: place}); !expected && c.starts(h.p) {
			s.beside[c] = true
		}
	}
}

// charge takes a stay into account, whether there is room for it or not.
func (b *board) charge(s stay) {
	if b.nodes.Take(s.Place); !s.bill.Free() {
		b.ledger.Charge(s.bill, payTime(s.Span))
	}
}

// demand is what a contender needs from now on: until its run is over, if it
// begins when the last of the victims is gone.
func (s *scene) demand(c *contender, option int) demand {
	d := c.demand(option)
	if d.Long = plus(d.Long, s.late); c.key.last != timeline.Never {
		d.Long = min(d.Long, timeline.Long(c.key.last-s.hunt.p.from))
	}
	return d
}

// hasNothing says whether it is known that nothing does for a record that has not been
// looked at.
func (s *scene) hasNothing(is *class) bool {
	if s.hear(); len(s.victims) == 0 || s.barren.coverClass(is) {
		return true
	}
	return s.lawlessClass(is) && (s.ofHigher == nil || s.ofHigher.hasNothing(is))
}

// couldDo says whether there is room for an option of a contender when all
// victims are gone.
func (s *scene) couldDo(c *contender, option int) bool {
	if s.barren.has(c, option) {
		return false
	}
	d := s.demand(c, option)
	s.hunt.vacated.asked[barrenKey{kind: c.key.shape.kind, option: option}] = d.Sets
	if s.has(d) {
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
		return b.nodes.HasRoom(&d.Sets[0], d.Long, from)
	}
	_, ok := b.at(d, from)
	return ok
}

// isLate says whether a contender is planned to start before any of the victims is gone:
// it has nothing of their going.
func (s *scene) isLate(c *contender) bool {
	return s.hunt.p.from+timeline.Time(s.soonest) >= c.planned()
}

// open is the scene with those of its victims alone that a contender may take and
// that would be gone before its planned start, and what is known of these.
func (s *scene) open(c *contender, law law) (of *scene, known barren) {
	h := s.hunt
	planned, grace := c.planned(), timeline.Long(0)
	if !s.byQuota && h.p.from+timeline.Time(s.grace) < planned {
		return s, s.barren
	}
	those := func(all []*victim) (some []*victim) {
		for _, v := range all {
			if h.p.from+timeline.Time(v.grace) >= planned || !law.grants(h.p.rightOf(c, v), v) {
				continue
			}
			some = append(some, v)
			grace = max(grace, v.grace)
		}
		return some
	}
	some, expiring := those(s.victims), those(s.expiring)
	if len(some) == len(s.victims) && len(expiring) == len(s.expiring) {
		return s, s.barren
	}
	key := fmt.Sprintf("%d %s", grace, law.text())
	n := s.narrow[key]
	if n == nil {
		n = s.among(some, expiring)
		n.barren, n.beside, n.upto = barren{}, maps.Clone(s.beside), s.upto
		s.narrow[key] = n
	}
	n.hear()
	return n, n.barren
}

// with is the scene with some of its victims alone.
func (s *scene) with(some []*victim) *scene { return s.among(some, s.expiring) }

// among is the scene with some of its victims alone, and some of those that expire.
func (s *scene) among(some, expiring []*victim) *scene {
	if len(some) == len(s.victims) && len(expiring) == len(s.expiring) {
		return s
	}
	n := &scene{hunt: s.hunt, heard: len(s.hunt.done), queue: s.queue, victims: some, expiring: expiring, broken: s.broken, byQuota: s.byQuota}
	for _, v := range slices.Concat(some, expiring) {
		n.grace, n.late = max(n.grace, v.grace), max(n.late, v.late())
	}
	if len(some) == 0 {
		return n // of no use, and nothing is asked of it
	}
	s.makeLayers()
	n.board = s.layer(0).clone()
	if len(expiring) < len(s.expiring) {
		for _, v := range s.expiring {
			if !slices.Contains(expiring, v) {
				n.board.move(v, s.hunt.p.from, false)
			}
		}
	}
	for _, v := range some {
		n.board.move(v, s.hunt.p.from, true)
	}
	return n
}

// hear takes note of the deals that were made. Who has no board yet will when it is
// made: most scenes are asked once.
func (s *scene) hear() {
	if s.board == nil {
		return
	}
	for ; s.heard < len(s.hunt.done); s.heard++ {
		s.giveUp(s.hunt.done[s.heard])
	}
}

// giveUp takes note of victims that go, and of the place that is kept for whom
// they go.
func (s *scene) giveUp(d done) {
	for _, v := range d.victims {
		for _, held := range v.holds {
			s.broken.Add(held.node)
		}
		// Where it is gone already it is not taken twice.
		i, mine := slices.BinarySearchFunc(s.victims, v, byStanding)
		if s.note(deed{victim: v, other: !mine}); !mine {
			s.board.move(v, s.hunt.p.from, true)
			s.barren = barren{} // there is more room than there was
			continue
		}
		s.victims = slices.Delete(s.victims, i, i+1)
		for _, l := range s.below {
			if l.gone > i {
				l.gone--
			}
		}
	}
	s.keep(d.place)
}
