package planner

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// standing is what a workload is worth against another: its queue's tier, then
// its priority.
type standing struct {
	tier     int32
	priority int32
}

func (s standing) compare(other standing) int {
	return cmp.Or(cmp.Compare(s.tier, other.tier), cmp.Compare(s.priority, other.priority))
}

// victim is a run whose place somebody may take, or one that would begin in this
// plan: then nothing is lost, it is just not started there.
type victim struct {
	*batch.Started
	start *contender // would begin in this plan; nil: it runs
	queue *batch.Queue
	standing
	grace timeline.Long // in seconds, rounded up
	since time.Time     // when its run began

	// price is what taking it costs by the policy: least first. weight is what
	// it holds of what is scarce.
	price, weight int64
	rank          int  // among all of the pass, by price
	dense         int  // likewise, by price for what it holds; equal in both: the same
	gone          bool // it was found for somebody

	holds []holding // nil: not looked up
	pays  []quota.Charge
}

// holding is what a victim takes of a node.
type holding struct {
	node  int
	takes batch.Vector
	till  timeline.Time
}

// newVictim judges a run by itself: free says from when on its place may be
// taken, zero that it never may.
func (p *pass) newVictim(s *batch.Started) (v *victim, free time.Time) {
	w := s.Workload
	q := p.Queues[w.Allocation.Queue]
	_, evicted := p.evicting[w.ID]
	switch {
	case q == nil || !q.Preemption.LetsGo():
		return nil, time.Time{}
	case w.Eviction != nil || evicted || (s.Owner != nil && s.Owner.End != nil):
		return nil, time.Time{}
	}
	v = &victim{
		Started: s, queue: q, standing: standing{tier: q.Tier, priority: w.Priority},
		grace: seconds(batch.Walltime(p.goneWithin(s))), since: w.Allocation.Start,
	}
	v.weight = p.weightOf(w)
	v.price = p.priceOf(v)
	if free = p.freeAfterStart(w.Allocation.Start, q, p.readySince(w)); free.IsZero() {
		return nil, free
	}
	return v, free
}

// late is how long after its notice a victim is expected to be gone at the latest. One
// without a grace should be gone at once; if it is not, it is expected as what is
// overdue, and the place that it makes must do then too: else whoever is planned
// behind it would be pushed back.
func (v *victim) late() timeline.Long {
	if v.start != nil || v.grace > 0 {
		return v.grace
	}
	return seconds(batch.Walltime(batch.OverrunStep))
}

// unborn is what would start in this plan as a victim.
func (p *pass) unborn(c *contender) *victim {
	v := &victim{
		Started: &batch.Started{Workload: c.workload()}, start: c, queue: c.queue, standing: c.standing(), since: p.now,
		holds: []holding{},
	}
	for _, seat := range c.place.Seats {
		takes := make(batch.Vector, len(seat.Each))
		takes.Sub(seat.Each, -seat.Pods)
		v.holds = append(v.holds, holding{node: seat.Node, takes: takes, till: c.place.Till})
	}
	slices.SortStableFunc(v.holds, func(a, b holding) int { return cmp.Compare(a.node, b.node) })
	if bill := c.place.bill; !bill.Free() {
		v.pays = []quota.Charge{{Bill: bill, Till: payTime(c.place.Span).Till}}
	}
	for i := range c.workload().PodSets {
		set := &c.workload().PodSets[i]
		v.weight += int64(set.Count) * int64(set.Requests[p.scarcest()])
	}
	return v
}

// freeAfterStart is from when on somebody may take the place of a run that
// began at a time, and whose pods are ready since another; zero: nobody knows
// yet. What starts now is nobody's victim now.
func (p *pass) freeAfterStart(start time.Time, q *batch.Queue, ready time.Time) time.Time {
	exempt := q.Preemption.Exempt
	switch {
	case exempt <= 0:
		return start.Add(time.Second)
	case ready.IsZero() && p.Policy.StartTimeout <= 0:
		return time.Time{} // when its pods are ready it is looked at again
	case ready.IsZero():
		// A run that never becomes ready is not protected for ever: it counts
		// as ready when it should have been.
		ready = start.Add(p.Policy.StartTimeout)
	}
	return ceil(ready.Add(exempt))
}

// readySince is since when the pods of a run have been ready; zero: they were
// not.
func (p *pass) readySince(w *batch.Workload) time.Time {
	if w.ReadySince.IsZero() && p.ready[w.ID] {
		return p.now
	}
	return w.ReadySince
}

// weightOf is how much a run holds: GPUs where the cluster has any, else
// thousandths of cores.
func (p *pass) weightOf(w *batch.Workload) (weight int64) {
	resource := p.scarcest()
	for i, placement := range w.Allocation.PodSets {
		if i < len(w.PodSets) {
			weight += int64(len(placement.Hosts)) * int64(w.PodSets[i].Requests[resource])
		}
	}
	return weight
}

// scarcest is the resource that lost work is counted in.
func (p *pass) scarcest() batch.ResourceName {
	if p.fleet.catalog.Index(batch.ResourceGPU) < 0 {
		return batch.ResourceCPU
	}
	return batch.ResourceGPU
}

// lostBy is the work that a run had not saved when it was told of its end, or, if its
// pods ran on after that, when they were told to end. What it saves in between is saved.
func (p *pass) lostBy(s *batch.Started) int64 {
	told := p.now
	if e := s.Workload.Eviction; e != nil {
		if told = e.Time; e.Stopped.After(told) {
			told = e.Stopped
		}
		if at := s.Workload.CheckpointedAt; at.After(told) && !at.After(p.now) {
			told = at
		}
	}
	return p.weightOf(s.Workload) * max(0, int64(told.Sub(savedAt(s.Workload, told))/time.Second))
}

// priceOf is what taking the place of a run costs, by the policy: the work that
// is lost, or how long it has run, or what it holds.
func (p *pass) priceOf(v *victim) int64 {
	switch p.Policy.Victims {
	case batch.VictimsYoungest:
		return max(0, int64(p.now.Sub(v.since)/time.Second))
	case batch.VictimsSmallestFirst:
		return v.weight
	case batch.VictimsLeastLost:
	}
	return v.weight * max(0, int64(p.now.Sub(savedAt(v.Workload, p.now))/time.Second))
}

// savedAt is since when a run has saved nothing: the last save that it told of.
// Of one that tells nothing, the last that is due since its pods are ready, if it
// says how often it saves; else its start.
func savedAt(w *batch.Workload, now time.Time) time.Time {
	start := w.Allocation.Start
	if at := w.CheckpointedAt; at.After(start) && !at.After(now) {
		return at
	}
	works, every := start, w.Checkpoint.Every
	if w.ReadySince.After(start) {
		works = w.ReadySince
	}
	if age := now.Sub(works); every > 0 && age >= every {
		return works.Add(age.Truncate(every))
	}
	return start
}

// lookUp finds what a victim takes of which nodes, and what it pays, once.
func (h *hunt) lookUp(v *victim) {
	p := h.p
	if v.holds != nil {
		return
	}
	v.holds = []holding{}
	seen := map[int]bool{}
	for _, placement := range v.Workload.Allocation.PodSets {
		for _, host := range placement.Hosts {
			node, ok := p.fleet.index[host]
			if !ok || seen[node] {
				continue
			}
			seen[node] = true
			charges := p.Nodes[node].Charges
			for i := range charges {
				if c := &charges[i]; c.By == v.Workload.ID && p.sits(c) {
					v.holds = append(v.holds, holding{node: node, takes: p.fleet.takes(c), till: p.endOf(c)})
				}
			}
		}
	}
	slices.SortStableFunc(v.holds, func(a, b holding) int { return cmp.Compare(a.node, b.node) })
	v.pays = h.p.paidBy(v.Workload.ID)
}

// paidBy is what a run pays of quotas, and until when.
func (p *pass) paidBy(id batch.WorkloadID) (charges []quota.Charge) {
	bills := p.bills()
	if len(bills) == 0 {
		return nil
	}
	first, _ := slices.BinarySearchFunc(p.Uses, id, func(u batch.Use, id batch.WorkloadID) int { return cmp.Compare(u.By, id) })
	for i := first; i < len(p.Uses) && p.Uses[i].By == id; i++ {
		if u := &p.Uses[i]; !bills[i].Free() && p.sits(&u.Charge) {
			charges = append(charges, quota.Charge{Bill: bills[i], Till: quota.Time(p.endOf(&u.Charge))})
		}
	}
	return charges
}

// cheaper orders victims of any standing: the cheapest first, then those on
// nodes that nobody could have whole, the youngest, the name.
func (s *search) cheaper(a, b int) int {
	x, y := s.victims[a], s.victims[b]
	if x.price != y.price {
		return cmp.Compare(x.price, y.price)
	}
	return s.likelier(a, b)
}

// denser orders victims by what they cost for what they hold.
func (s *search) denser(a, b int) int {
	if x, y := s.victims[a].dense, s.victims[b].dense; x != y {
		return cmp.Compare(x, y)
	}
	return s.likelier(a, b)
}

// likelier orders victims that cost the same.
func (s *search) likelier(a, b int) int {
	if s.further[a] != s.further[b] {
		return cmp.Compare(s.further[a], s.further[b])
	}
	return cmp.Compare(s.victims[a].rank, s.victims[b].rank)
}

// compareRatio compares a/b with c/d, none of them below zero; what is divided
// by 0 is divided by 1.
func compareRatio(a, b, c, d int64) int {
	high, low := bits.Mul64(uint64(a), uint64(max(d, 1)))
	otherHigh, otherLow := bits.Mul64(uint64(c), uint64(max(b, 1)))
	return cmp.Or(cmp.Compare(high, otherHigh), cmp.Compare(low, otherLow))
}

func compareIDs(a, b *victim) int { return cmp.Compare(a.Workload.ID, b.Workload.ID) }

// further is how many nodes taking a victim breaks into that are not broken.
func (v *victim) further(broken *timeline.Nodes) (n int) {
	last := -1
	for _, h := range v.holds {
		if h.node != last && !broken.Has(h.node) {
			n++
		}
		last = h.node
	}
	return n
}

// bill is what a set of victims costs.
type bill struct {
	price   int64
	count   int
	further int
	oldest  time.Time // start of the one that has run longest
	names   []batch.WorkloadID
}

func (b *bill) compare(other *bill) int {
	return cmp.Or(
		cmp.Compare(b.price, other.price), cmp.Compare(b.count, other.count), cmp.Compare(b.further, other.further),
		other.oldest.Compare(b.oldest), slices.Compare(b.names, other.names),
	)
}

// bill adds up what those cost that are out.
func (s *search) bill() *bill {
	b := &bill{}
	nodes := map[int]bool{}
	add := func(v *victim) {
		b.price += v.price
		b.count++
		if b.oldest.IsZero() || v.since.Before(b.oldest) {
			b.oldest = v.since
		}
		b.names = append(b.names, v.Workload.ID)
		for _, h := range v.holds {
			if !s.broken.Has(h.node) && !nodes[h.node] {
				nodes[h.node] = true
				b.further++
			}
		}
	}
	for i, v := range s.victims {
		if s.out[i] {
			add(v)
		}
	}
	for _, v := range s.first {
		add(v)
	}
	slices.Sort(b.names)
	return b
}
