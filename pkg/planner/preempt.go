package planner

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// evictionRoundsMax bounds how often a plan is gone over because somebody was
// found a place that others must give up. One round finds almost all of them.
const evictionRoundsMax = 16

// preempt finds places for those that wait and may take the place of others. It
// returns the pass to be made with what was found, or nil if nothing was.
//
// They are taken in order, each on what the ones before it have left: beside
// what runs, what is kept or planned for higher-ranked work, and as if those
// that are taken back already were gone. So two never count one victim.
//
// What starts in this plan is in nobody's way who is ranked before it. If that
// leads to nothing, those that start only to be taken at once do not start: they
// lose nothing by it. And then all of it is looked at as the next plan would find
// it: what starts as running, to be taken together with what runs. What is not taken
// starts first in the pass that follows, so that it is beside it that all is found.
//
// Whoever would be taken at once from a place that was made for it takes none.
func (p *pass) preempt() *pass {
	if len(p.order) == 0 || !p.anyGivesWay() {
		return nil
	}
	for _, of := range []prey{preyNamed, preyRuns, preyStarts, preyAll} {
		if of == preyNamed && len(p.named) == 0 || of >= preyStarts && len(p.begun) == 0 {
			continue
		}
		h := p.newHunt(of)
		if h == nil || of != preyRuns && len(h.victims) == 0 {
			continue // and who is safe until when is known of what runs
		}
		if h.goOver(); len(h.named) == 0 {
			continue
		}
		if of != preyNamed {
			return p.with(h)
		}
		maps.DeleteFunc(h.stayOut, func(id batch.WorkloadID, _ *batch.Workload) bool { return p.named[id] == nil })
		if len(h.stayOut) > 0 {
			return p.without(h.stayOut)
		}
	}
	return nil
}

// anew is a pass over the same snapshot with other decisions: what was found out
// about the nodes, and about those that wait, holds.
func (p *pass) anew() *pass {
	again := newPass(p.Snapshot, p.now)
	again.surveyed, again.judged, again.ground = p.fleet, p.roll, p.ground
	again.steady = false // what victims hold becomes free
	return again
}

// with is the pass to be made with what was found.
func (p *pass) with(h *hunt) *pass {
	again := p.anew()
	again.taken, again.named, again.ousted, again.barred = h.taken, h.named, h.stayOut, maps.Clone(p.barred)
	maps.Copy(again.taken, p.taken)
	maps.Copy(again.named, p.named)
	maps.Copy(again.ousted, p.ousted)
	// Whom it would have lost its place to has one now.
	maps.DeleteFunc(again.barred, func(_ batch.WorkloadID, by []batch.WorkloadID) bool { return again.named[by[0]] != nil })
	again.firm = map[batch.WorkloadID]*kept{}
	for _, i := range h.held {
		c := p.order[i]
		id := c.workload().ID
		if c.best() == c && h.counts(c) && again.ousted[id] == nil && (h.prey == preyAll || p.firm[id] != nil) {
			again.firm[id] = &kept{record: c, option: c.option, place: c.place}
		}
	}
	return again
}

// counts says whether a contender starts in this plan and counts as running.
func (h *hunt) counts(c *contender) bool {
	return c.nomination == nil && c.placed() && c.starts(h.p) && (h.begun || h.p.firm[c.workload().ID] != nil)
}

// without is the pass to be made when some of those for whom others were to go
// would not keep their place: nobody goes for them.
func (p *pass) without(some map[batch.WorkloadID]*batch.Workload) *pass {
	again := p.anew()
	again.barred, again.taken, again.named, again.ousted = bars{}, maps.Clone(p.taken), maps.Clone(p.named), maps.Clone(p.ousted)
	maps.Copy(again.barred, p.barred)
	for id, by := range some { //order:any each by itself
		again.barred[id] = append(slices.Clip(again.barred[id]), by.ID)
	}
	maps.DeleteFunc(again.named, func(id batch.WorkloadID, _ *batch.Nomination) bool { return some[id] != nil })
	maps.DeleteFunc(again.taken, func(_ batch.WorkloadID, e batch.Eviction) bool { return some[e.For] != nil })
	maps.DeleteFunc(again.ousted, func(_ batch.WorkloadID, by *batch.Workload) bool { return some[by.ID] != nil })
	if len(again.named) > 0 {
		again.firm = p.firm
	}
	return again
}

// goOver goes through those that wait, in order.
func (h *hunt) goOver() {
	p := h.p
	blocked := map[batch.QueueName]bool{}
	for i, c := range p.order {
		if h.passesOver(i) {
			continue
		}
		if c.started || h.settled[c.claim] || blocked[c.queue.Name] {
			continue
		}
		if !c.key.shape.absent && h.mayTake(c) && !p.justReleased(c.workload()) {
			h.try(i, c)
		}
		if p.Policy.Backfill == batch.BackfillStrict {
			blocked[c.queue.Name] = true
		}
	}
}

// passesOver says whether a record beyond reach needs no look: it may take
// nobody's place, or it is known that nothing does for one of its kind.
func (h *hunt) passesOver(index int) bool {
	p := h.p
	if index < p.reached || index >= len(p.classes) || p.Policy.Backfill == batch.BackfillStrict {
		return false
	}
	is := &p.classes[index]
	s := h.byTier[is.queue]
	return s != nil && (len(s.victims) == 0 || s.barren.coverClass(is)) && !p.touched[index]
}

// mayTake says whether a contender may take a place: who is barred may still
// have that of one that does not run yet.
func (h *hunt) mayTake(c *contender) bool {
	by := h.p.barred[c.workload().ID]
	return len(by) == 0 || len(by) == 1 && h.prey == preyStarts
}

// justReleased says whether a workload waited for a start that is of this very
// second. Until the next it takes nobody's place: this plan may yet go over
// everything again, and find that the other does not start now.
func (p *pass) justReleased(w *batch.Workload) bool {
	for _, d := range w.After {
		if d.Kind != batch.After {
			continue
		}
		for _, f := range p.Fates[batch.DependencyName{Namespace: w.Namespace, Name: d.Name}] {
			if p.begun[f.ID] || p.startsNow(f.ID) {
				p.wake(p.now.Add(time.Second))
				return true
			}
		}
	}
	return false
}

// startsNow says whether a run was started in this second.
func (p *pass) startsNow(id batch.WorkloadID) bool {
	s := p.startedOf(id)
	return s != nil && !s.Workload.Allocation.Start.Before(p.now)
}

// startedOf is what holds an allocation under an ID; nil: nothing does.
func (p *pass) startedOf(id batch.WorkloadID) *batch.Started {
	at, found := slices.BinarySearchFunc(p.Started, id, func(s *batch.Started, id batch.WorkloadID) int {
		return cmp.Compare(s.Workload.ID, id)
	})
	if !found {
		return nil
	}
	return p.Started[at]
}

// hunt is the search for places that others must give up, of all in one pass.
type hunt struct {
	p          *pass
	prey       prey
	victims    []*victim // whose place may be taken, by somebody
	spared     []spared  // whose place may be taken later
	priorities []int32   // of the victims, ascending
	scenes     map[sceneKey]*scene
	byTier     map[*batch.Queue]*scene // of those queues that may take what their tier lets them, and no more
	held       []int                   // of the order: those who may have a place
	touched    *timeline.Nodes         // nodes that are given up anyhow
	paid       map[batch.WorkloadID][]quota.Charge
	usage      *quota.Usage // when those are gone that give way; nil: nobody has a quota
	begun      bool         // what starts in this plan is taken as running, and may stay out
	marks      []mark       // by node, of the last search that has come there

	taken   map[batch.WorkloadID]batch.Eviction
	named   map[batch.WorkloadID]*batch.Nomination
	gone    []*victim                            // those that were found
	kept    []stay                               // for whom they go
	stayOut map[batch.WorkloadID]*batch.Workload // those of them that do not run yet: for whom
	settled map[*claim]bool                      // got a place, or need none that others give up
	places  map[*claim]stay                      // where those are then
}

// spared is a run that is safe until a time.
type spared struct {
	*victim
	till time.Time
}

// bars are those that take nobody's place, and who would have taken theirs.
type bars map[batch.WorkloadID][]batch.WorkloadID

// prey says whose place is to be taken.
type prey int

const (
	preyNamed  prey = iota // what this plan has made a place for, with what would start
	preyRuns               // what runs
	preyStarts             // what would start
	preyAll                // both
)

// newHunt looks whether there is anybody to take, nil if not.
func (p *pass) newHunt(of prey) *hunt {
	h := &hunt{
		p: p, prey: of, begun: of != preyRuns, stayOut: map[batch.WorkloadID]*batch.Workload{}, scenes: map[sceneKey]*scene{}, byTier: map[*batch.Queue]*scene{}, taken: map[batch.WorkloadID]batch.Eviction{},
		named: map[batch.WorkloadID]*batch.Nomination{}, settled: map[*claim]bool{}, places: map[*claim]stay{},
		marks: make([]mark, len(p.Nodes)),
	}
	h.held = p.owned()
	if of == preyRuns || of == preyAll {
		h.findRuns()
	}
	h.findStarts()
	if len(h.victims)+len(h.spared) == 0 {
		return nil
	}
	h.rank()
	slices.Sort(h.priorities)
	h.priorities = slices.Compact(h.priorities)
	h.touched = timeline.NewNodes(len(p.Nodes))
	for node, view := range p.Nodes {
		if slices.ContainsFunc(view.Charges, func(c batch.Charge) bool { return p.givesWay(&c) }) {
			h.touched.Add(node)
		}
	}
	h.readUses()
	return h
}

// findRuns finds the victims among what runs.
func (h *hunt) findRuns() {
	for _, s := range h.p.Started {
		v, free := h.p.newVictim(s)
		switch {
		case v == nil:
		case free.After(h.p.now):
			h.spare(v, free)
		default:
			h.add(v)
		}
	}
}

// findStarts finds the victims among what would start in this plan, if it is to
// be taken too.
func (h *hunt) findStarts() {
	p := h.p
	for _, i := range h.held {
		c := p.order[i]
		if !c.placed() || !c.queue.Preemption.LetsGo() {
			continue
		}
		if _, fresh := p.named[c.workload().ID]; h.prey == preyNamed && fresh && c.nomination != nil {
			h.add(p.unborn(c))
		}
		if !c.starts(p) {
			continue
		}
		if h.prey != preyRuns && c.nomination == nil && c.best() == c && (h.prey != preyNamed || p.firm[c.workload().ID] == nil) {
			h.add(p.unborn(c))
		}
		if till := p.freeAfterStart(p.now, c.queue, time.Time{}); !till.IsZero() {
			h.spare(&victim{queue: c.queue, standing: c.standing()}, till)
		}
	}
}

func (h *hunt) add(v *victim) {
	h.victims = append(h.victims, v)
	h.priorities = append(h.priorities, v.priority)
}

// rank puts the victims in the order of their prices; of equals the youngest
// comes first, then the name.
func (h *hunt) rank() {
	slices.SortFunc(h.victims, func(a, b *victim) int {
		return cmp.Or(cmp.Compare(a.price, b.price), b.since.Compare(a.since), compareIDs(a, b))
	})
	for i, v := range h.victims {
		v.rank = i
	}
}

// spare notes that a run is safe until a time.
func (h *hunt) spare(v *victim, till time.Time) {
	h.spared = append(h.spared, spared{victim: v, till: till})
	h.priorities = append(h.priorities, v.priority)
}

// readUses looks up what is taken of quotas, and by whom.
func (h *hunt) readUses() {
	p := h.p
	if p.tree == nil {
		return
	}
	h.paid, h.usage = map[batch.WorkloadID][]quota.Charge{}, p.tree.Usage()
	for i := range p.Uses {
		u := &p.Uses[i]
		bill := p.tree.Bill(u.Queue, u.Flavor, u.Requests)
		if bill.Free() || !p.sits(&u.Charge) {
			continue
		}
		h.paid[u.By] = append(h.paid[u.By], quota.Charge{Bill: bill, Till: quota.Time(p.endOf(&u.Charge))})
		if !p.givesWay(&u.Charge) {
			h.usage.Add(bill)
		}
	}
	// What starts in this plan counts as running: the next one would find it so.
	for _, i := range h.held {
		c := p.order[i]
		if c.placed() && (c.nomination != nil || c.starts(p)) {
			h.usage.Add(c.place.bill)
		}
	}
}

// nominees are those that a place is kept for, or that start in one.
func (h *hunt) nominees() (all []*contender) {
	for _, i := range h.held {
		if c := h.p.order[i]; c.nomination != nil && c.placed() {
			all = append(all, c)
		}
	}
	return all
}

// anyGivesWay says whether the work of any queue lets go of its place.
func (p *pass) anyGivesWay() bool {
	for _, q := range p.Queues { //order:any a disjunction
		if q.Preemption.LetsGo() {
			return true
		}
	}
	return false
}

// try finds a place for one contender, if it may take that of others, would
// start sooner by it, and there is one.
func (h *hunt) try(index int, c *contender) {
	s := h.scene(c)
	if !s.safe.IsZero() {
		h.p.wake(s.safe)
	}
	if len(s.victims) == 0 {
		return
	}
	for option := 0; option < len(c.options); {
		end := endOfGroup(c.options, option)
		var best *deal
		for ; option < end; option++ {
			if d := h.weigh(index, c, option, s); d != nil && (best == nil || d.compare(best) < 0) {
				best = d
			}
		}
		if best != nil {
			h.close(index, best)
			return
		}
	}
}

// weigh finds the cheapest victims for an option of a contender; nil: none do.
func (h *hunt) weigh(index int, c *contender, option int, s *scene) *deal {
	if !s.couldDo(c, option) {
		return nil
	}
	if s.catchUp(index); !s.couldDo(c, option) {
		return nil
	}
	some, known := s.open(c, option)
	if known.has(c, option) || len(some) == 0 {
		return nil
	}
	d, found := h.find(c, option, s.with(some))
	switch found {
	case noRoom:
		known.add(c, option)
	case noUse, someDo:
	}
	return d
}

// deal is a place, and who gives it up.
type deal struct {
	option  int
	place   stay
	victims []*victim
	bill    *bill
}

// compare orders deals: the lowest highest standing of a victim, then the price.
func (d *deal) compare(other *deal) int {
	if len(d.victims) == 0 || len(other.victims) == 0 {
		return cmp.Compare(len(d.victims), len(other.victims))
	}
	return cmp.Or(d.highest().compare(other.highest()), d.bill.compare(other.bill))
}

func (d *deal) highest() standing {
	return slices.MaxFunc(d.victims, func(a, b *victim) int { return a.standing.compare(b.standing) }).standing
}

// close makes a deal with a contender.
func (h *hunt) close(index int, d *deal) {
	c := h.p.order[index]
	if len(d.victims) == 0 {
		h.settled[c.claim], h.places[c.claim] = true, d.place
		if at, held := slices.BinarySearch(h.held, index); !held {
			h.held = slices.Insert(h.held, at, index)
		}
		return
	}
	h.commit(c, d.option, d.place, d.victims)
}

// finding is what came of a search.
type finding int

const (
	noRoom finding = iota // not even if all go that may
	noUse                 // but it would not help
	someDo
)

// find finds the cheapest victims for an option of a contender. Where it is of no
// use that some do not start, they do, and it is for those that run to go: so
// the next plan would find it.
func (h *hunt) find(c *contender, option int, s *scene) (*deal, finding) {
	d, found := h.findAmong(c, option, s)
	if found != noUse || h.prey != preyAll {
		return d, found
	}
	runs := slices.DeleteFunc(slices.Clone(s.victims), func(v *victim) bool { return v.start != nil })
	if len(runs) == 0 || len(runs) == len(s.victims) {
		return nil, noUse
	}
	if d, found = h.findAmong(c, option, s.with(runs)); found == noRoom {
		return nil, noUse // there is, with all of them
	}
	return d, found
}

// findAmong is find, with these victims as they are.
func (h *hunt) findAmong(c *contender, option int, s *scene) (*deal, finding) {
	p := h.p
	d := s.demand(c, option)
	if !s.has(d) {
		return nil, noRoom
	}
	search, victims := h.cheapest(s, d)
	if !h.lawful(c, option, victims) {
		if s = s.with(h.within(c, option, s.victims)); !s.has(d) {
			return nil, noUse
		}
		if search, victims = h.cheapest(s, d); !h.lawful(c, option, victims) {
			return nil, noUse
		}
	}
	place, ok := search.board.at(d, p.from)
	if !ok {
		return nil, noUse // gangs of several pod sets may by chance fit no more
	}
	found := &deal{option: option, place: place, victims: victims, bill: search.bill()}
	if len(victims) == 0 {
		return found, someDo
	}
	start := p.emptyAt(search.board, place)
	for _, v := range victims {
		start = max(start, p.from+timeline.Time(v.grace))
	}
	found.place.Span = timeline.SpanOf(start, c.long)
	if start >= c.planned() || found.place.Till > c.key.last && c.key.last != timeline.Never {
		return nil, noUse
	}
	if start > p.from && h.prey != preyNamed && !slices.ContainsFunc(victims, func(v *victim) bool { return v.start == nil }) {
		return nil, noUse // who stays out makes room now, and not later
	}
	return found, someDo
}

// planned is when a contender starts as things are; Never: nobody knows.
func (c *contender) planned() timeline.Time {
	if c.at == nil {
		return timeline.Never
	}
	return c.start()
}

// emptyAt is when a stay is free of those that give way already.
func (p *pass) emptyAt(b *board, s stay) timeline.Time {
	at := p.from
	seen := map[int]bool{}
	var charged []timeline.Seat
	for _, seat := range s.Seats {
		if seen[seat.Node] {
			continue
		}
		seen[seat.Node] = true
		for _, g := range p.gifts(seat.Node) {
			at = max(at, g.till)
			charged = append(charged, timeline.Seat{Node: seat.Node, Each: g.takes})
			b.nodes.Charge(seat.Node, g.takes, timeline.Span{From: p.from, Till: g.till})
		}
	}
	var paid []quota.Charge
	if last := p.refunds().last(s.bill); last > 0 {
		at = max(at, last)
		for _, g := range p.refunds().all {
			if p.tree.Meets(g.Bill, s.bill) {
				paid = append(paid, g)
			}
		}
	}
	if len(charged)+len(paid) == 0 {
		return at
	}
	b.settle(paid, p.from, false)
	if b.fits(s) {
		return p.from // beside them
	}
	return at
}

// commit evicts the victims and keeps their place for the contender.
func (h *hunt) commit(c *contender, option int, place stay, victims []*victim) {
	p := h.p
	n := &batch.Nomination{Cause: batch.CauseReclaimed, Since: p.now}
	for _, v := range victims {
		cause := p.rightOf(c, v).causeOf()
		if cause == batch.CausePreempted {
			n.Cause = cause
		}
		if v.start != nil {
			h.stayOut[v.Workload.ID] = c.workload()
		} else {
			h.taken[v.Workload.ID] = p.pushOut(v.Started, c.workload(), cause)
			n.Victims = append(n.Victims, v.Workload.ID)
		}
		for _, held := range v.holds {
			h.touched.Add(held.node)
		}
		if h.usage != nil {
			removePaid(h.usage, v)
		}
	}
	if h.usage != nil {
		h.usage.Add(place.bill)
	}
	n.Allocation = p.allocationAt(c, option, place.Place)
	n.Allocation.Via = batch.ViaPreemption
	h.named[c.workload().ID] = n
	h.settled[c.claim] = true
	h.gone, h.kept = append(h.gone, victims...), append(h.kept, place)
	for _, s := range h.scenes { //order:any each by itself
		s.giveUp(victims, place)
	}
	for _, v := range victims {
		i, _ := slices.BinarySearchFunc(h.victims, v, func(a, b *victim) int { return cmp.Compare(a.rank, b.rank) })
		h.victims = slices.Delete(h.victims, i, i+1)
	}
}

func plus(long, more timeline.Long) timeline.Long {
	if long > timeline.Forever-more {
		return timeline.Forever
	}
	return long + more
}
