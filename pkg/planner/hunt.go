package planner

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// hunt is the search for places that others must give up, of all in one pass.
type hunt struct {
	p          *pass
	prey       prey
	victims    []*victim // whose place may be taken, by somebody
	expiring   []*victim // who need not be told to go: see expires
	spared     []spared  // whose place may be taken later
	priorities []int32   // of all of these, ascending
	scenes     map[sceneKey]*scene
	ofQueue    map[*batch.Queue]*scene // of those queues whose work may take the same, whatever its priority
	held       []int                   // of the order: those who may have a place
	touched    *timeline.Nodes         // nodes that are given up anyhow
	leaves     []leavers               // by node: who gives way already
	vacated    *vacated                // nil: nobody has asked
	preys      map[*contender]bool     // whose places are to be taken too: they do not run yet
	usage      *quota.Usage            // when those are gone that give way; nil: nobody has a quota
	most       *quota.Usage            // with all that starts in this plan
	reckoned   int                     // how often these have changed
	upto       int                     // of those who may have a place: what those before start with is in the usage
	begun      bool                    // what starts in this plan is taken as running, and may stay out
	marks      []mark                  // by node, of the last search that has come there
	searches   int32                   // that were begun
	memory     memory                  // of the last of them, used again

	taken   map[batch.WorkloadID]batch.Eviction
	named   map[batch.WorkloadID]*batch.Nomination
	made    []made
	beside  map[*contender]bool                  // those that start, ranked before the first of them: it has its place beside them
	done    []done                               // the deals that were made
	gone    []*victim                            // those that were found
	kept    []stay                               // for whom they go
	stayOut map[batch.WorkloadID]*batch.Workload // those of them that do not run yet: for whom
	settled map[*claim]bool                      // got a place, or need none that others give up
	places  map[*claim]stay                      // where those are then
}

// done is a deal that was made, for those scenes that have not heard of it.
type done struct {
	victims []*victim
	place   stay
}

// spared is a run that is safe until a time.
type spared struct {
	*victim
	till time.Time
}

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
		p: p, prey: of, begun: of != preyRuns, stayOut: map[batch.WorkloadID]*batch.Workload{}, scenes: map[sceneKey]*scene{}, ofQueue: map[*batch.Queue]*scene{}, taken: map[batch.WorkloadID]batch.Eviction{},
		named: map[batch.WorkloadID]*batch.Nomination{}, settled: map[*claim]bool{}, places: map[*claim]stay{},
		marks: make([]mark, len(p.Nodes)), preys: map[*contender]bool{},
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
	h.touched, h.leaves = timeline.NewNodes(len(p.Nodes)), p.findLeavers()
	for node, leaves := range h.leaves {
		if leaves != 0 {
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
		case h.p.expires(v):
			h.expiring, h.priorities = append(h.expiring, v), append(h.priorities, v.priority)
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
	if v.start != nil {
		h.preys[v.start] = true
	}
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
	denser := func(a, b *victim) int {
		return cmp.Or(compareRatio(a.price, a.weight, b.price, b.weight), cmp.Compare(a.price, b.price))
	}
	order := slices.SortedFunc(slices.Values(h.victims), denser)
	for i, v := range order {
		if v.dense = i; i > 0 && denser(order[i-1], v) == 0 {
			v.dense = order[i-1].dense
		}
	}
}

// spare notes that a run is safe until a time.
func (h *hunt) spare(v *victim, till time.Time) {
	h.spared = append(h.spared, spared{victim: v, till: till})
	h.priorities = append(h.priorities, v.priority)
}

// readUses looks up what is taken of quotas.
func (h *hunt) readUses() {
	p := h.p
	if p.tree == nil {
		return
	}
	h.usage = p.tree.Usage()
	for i, bill := range p.bills() {
		u := &p.Uses[i]
		if !bill.Free() && p.sits(&u.Charge) && !p.givesWay(&u.Charge) {
			h.usage.Add(bill)
		}
	}
	for _, i := range h.held {
		if c := p.order[i]; h.hasPlace(c) {
			h.usage.Add(c.place.bill)
		}
	}
	h.most = h.usage.Clone()
	for _, i := range h.held {
		if c := p.order[i]; h.mayPay(c) {
			h.most.Add(c.place.bill)
		}
	}
}

// mayPay says whether a contender starts in this plan, unless a place that is
// taken here keeps it from that.
func (h *hunt) mayPay(c *contender) bool {
	return c.nomination == nil && c.placed() && c.starts(h.p) && !h.counts(c)
}

// catchUp has those pay that start in this plan and are ranked before an index.
// Who comes after it may yet be kept from starting by the place that is taken
// here, or may start beside it: nobody has a right by what he pays, nor by his
// not paying it.
func (h *hunt) catchUp(index int) {
	for ; h.usage != nil && h.upto < len(h.held) && h.held[h.upto] < index; h.upto++ {
		c := h.p.order[h.held[h.upto]]
		if h.mayPay(c) {
			h.usage.Add(c.place.bill)
			h.reckoned++
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

// hasPlace says whether a place is kept for a contender, or it counts as running in one.
func (h *hunt) hasPlace(c *contender) bool {
	return c.placed() && c.nomination != nil || h.counts(c)
}

// counts says whether a contender starts in this plan and counts as running.
func (h *hunt) counts(c *contender) bool {
	return c.nomination == nil && c.placed() && c.starts(h.p) && (h.begun || h.p.firm[c.workload().ID] != nil)
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
		if !c.key.shape.absent && !p.justReleased(c.workload()) {
			h.catchUp(i)
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
	s := h.ofQueue[is.queue]
	return s != nil && !p.touched.has(index) && s.hasNothing(is)
}

// full says whether as many were found places as may be in one plan.
func (h *hunt) full() bool {
	return h.prey == preyRuns && len(h.p.made)+len(h.made) >= preemptorsMax
}

// mayTake says whether a contender may take a place: who is barred may still
// have that of one that does not run yet, and one beside all that starts.
func (h *hunt) mayTake(c *contender) bool {
	by := h.p.barred[c.workload().ID]
	return len(by) == 0 || len(by) == 1 && h.prey >= preyStarts
}
