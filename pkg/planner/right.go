package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
)

// right is under which rules a waiting workload may take the place of a running
// one, its zero value under none. Tier and queue hold by themselves; what is
// reclaimed or borrowed depends on quotas too.
type right struct {
	higher  bool // its tier is higher, or its priority within one queue
	reclaim bool // its queue may take back what it has lent
	borrow  bool // its queue may push out lower work to borrow
}

// rightOf is the right of a contender over a victim. Equal standing gives none,
// but for what its queue takes back; and nobody takes back from whom that could
// push it out again.
func (p *pass) rightOf(c *contender, v *victim) (r right) {
	mine := c.standing()
	rules := &c.queue.Preemption
	switch {
	case p.higherTier(c.queue, v.queue):
		r.higher = true
	case c.queue == v.queue:
		r.higher = rules.WithinQueue == batch.WhomLowerPriority && v.priority < mine.priority
	case p.tree == nil || c.queue.Cohort == "" || p.higherTier(v.queue, c.queue):
	default:
		lower := v.compare(mine) < 0
		r.reclaim = rules.ReclaimWithinCohort == batch.WhomAny || rules.ReclaimWithinCohort == batch.WhomLowerPriority && lower
		r.borrow = rules.BorrowWithinCohort == batch.WhomLowerPriority && lower
	}
	return r
}

func (c *contender) standing() standing {
	return standing{tier: c.queue.Tier, priority: c.workload().Priority}
}

// higherTier says whether work of a queue may push out that of another, because
// its tier is higher.
func (p *pass) higherTier(q, other *batch.Queue) bool {
	return !p.Policy.NoTierPreemption && q.Tier > other.Tier && other.Preemption.LetsGo()
}

// any says whether there is a right at all.
func (r right) any() bool { return r != right{} }

func removePaid(u *quota.Usage, v *victim) {
	for _, c := range v.pays {
		u.Remove(c.Bill)
	}
}

// lawful says whether a set of victims may go together: each queue is above its
// nominal quota until the last of those goes that it loses, and whose queue
// takes back is within its own with all of them gone. Those that expire are gone
// before.
func (h *hunt) lawful(c *contender, option int, s *scene, victims []*victim) bool {
	if h.usage == nil || !s.byQuota {
		return true
	}
	bill := c.options[option].bill
	u := h.usage.Clone()
	for _, v := range s.expiring {
		removePaid(u, v)
	}
	least, after := h.instead(bill, slices.Concat(s.expiring, victims))
	through := after.Exceeds(bill)
	for _, v := range h.inTurn(victims) {
		r := h.p.rightOf(c, v)
		if !r.higher {
			if !u.AboveNominal(v.queue.Name, bill) || takesOwn(u, v, c, through) {
				return false
			}
			may := r.borrow || r.reclaim && after.WithinNominal(bill, v.queue.Name)
			if !may || h.turnsBack(v, c, victims, least, after) {
				return false
			}
		}
		removePaid(u, v)
	}
	return true
}

// instead is the least and the most that may be used if a bill is paid, and no
// more what victims pay.
func (h *hunt) instead(bill quota.Bill, victims []*victim) (least, most *quota.Usage) {
	least, most = h.usage.Clone(), h.most.Clone()
	for _, u := range []*quota.Usage{least, most} {
		u.Add(bill)
		for _, v := range victims {
			removePaid(u, v)
		}
	}
	return least, most
}

// causesOf are why victims of a scene go, of a deal that is lawful.
func (h *hunt) causesOf(c *contender, bill quota.Bill, s *scene, victims []*victim) (causes []batch.Cause, byQuota bool) {
	var after *quota.Usage
	for _, v := range victims {
		r := h.p.rightOf(c, v)
		cause := batch.CausePreempted
		if !r.higher {
			if byQuota = true; after == nil {
				_, after = h.instead(bill, slices.Concat(s.expiring, victims))
			}
			if r.reclaim && after.WithinNominal(bill, v.queue.Name) {
				cause = batch.CauseReclaimed
			}
		}
		causes = append(causes, cause)
	}
	return causes, byQuota
}

// takesOwn says whether a victim takes of its queue's own quotas alone: then it
// has borrowed nothing, whatever others of its queue have. Against one whose queue
// stands within its own through a cohort above it alone, what a cohort above the
// victim's queue has counts as its own too: each could take from the other, to and fro.
func takesOwn(u *quota.Usage, v *victim, c *contender, through bool) bool {
	return !slices.ContainsFunc(v.pays, func(p quota.Charge) bool {
		return u.Exceeds(p.Bill) && !(through && u.WithinNominal(p.Bill, c.queue.Name))
	})
}

// takesBack says whether a victim could take back what it has lost, for which it pays a
// bill: if its queue would be within its own then with it, and that of who pushes it out
// is not, for all that may be used by then. Each would push out the other, to and fro.
func (v *victim) takesBack(bill quota.Bill, c *contender, least, most *quota.Usage) bool {
	whom := v.queue.Preemption.ReclaimWithinCohort
	lower := c.standing().compare(v.standing) < 0
	if whom != batch.WhomAny && (whom != batch.WhomLowerPriority || !lower) || !c.queue.Preemption.LetsGo() {
		return false
	}
	least, most = least.Clone(), most.Clone()
	least.Add(bill)
	most.Add(bill)
	return most.AboveNominal(c.queue.Name, bill) && least.WithinNominal(bill, c.queue.Name)
}

// turnsBack is takesBack with all that the victim may do then: where its queue pushes
// out own lower work, that is no more in the way of its being within its own; and where
// it pushes out lower work to borrow, it need not be. Others of the set go with it.
func (h *hunt) turnsBack(v *victim, c *contender, others []*victim, least, most *quota.Usage) bool {
	bill, rules := h.p.billToReturn(v), &v.queue.Preemption
	if v.takesBack(bill, c, least, most) {
		return true
	}
	most = most.Clone()
	most.Add(bill)
	if !c.queue.Preemption.LetsGo() || !most.AboveNominal(c.queue.Name, bill) {
		return false
	}
	if rules.BorrowWithinCohort == batch.WhomLowerPriority && c.standing().compare(v.standing) < 0 {
		return true
	}
	if rules.WithinQueue != batch.WhomLowerPriority || !rules.LetsGo() {
		return false
	}
	least = least.Clone()
	h.removeLower(least, v, others)
	return v.takesBack(bill, c, least, most)
}

// removeLower takes out of a usage what the lower work of a victim's own queue pays, of
// what runs, starts in this plan or has a place kept, but for victims that are out already.
func (h *hunt) removeLower(u *quota.Usage, v *victim, out []*victim) {
	remove := func(own *victim) {
		if own.Started != nil && own.start == nil && own.queue == v.queue && own.priority < v.priority && !slices.Contains(out, own) {
			h.lookUp(own)
			removePaid(u, own)
		}
	}
	for _, own := range h.victims {
		remove(own)
	}
	for _, own := range h.spared { // for a while: it may be pushed out then
		remove(own.victim)
	}
	goes := func(c *contender) bool {
		return slices.ContainsFunc(out, func(v *victim) bool { return v.start == c })
	}
	for k, i := range h.held {
		c := h.p.order[i]
		if c.queue == v.queue && c.workload().Priority < v.priority && h.used(k) && !goes(c) {
			u.Remove(c.place.bill)
		}
	}
}

// used says whether what one of those pays who may have a place is in the usage by now;
// see readUses and catchUp.
func (h *hunt) used(k int) bool {
	c := h.p.order[h.held[k]]
	return c.placed() && (c.nomination != nil || h.counts(c) || k < h.upto && h.mayPay(c))
}

// billToReturn is what a victim pays if it comes back where it was: an elastic
// one with the fewest pods.
func (p *pass) billToReturn(v *victim) quota.Bill {
	w := v.Workload
	var flavor batch.FlavorName
	if v.start != nil {
		flavor = v.start.options[v.start.option].flavor
	} else {
		flavor = w.Allocation.Flavor
	}
	return p.billOf(v.queue, flavor, w.PodSets, func(set int) int { return w.PodSets[set].Least() })
}

// inTurn are victims in the order that leaves their queues above their nominal
// quotas longest: of each queue the largest goes last.
func (h *hunt) inTurn(victims []*victim) []*victim {
	return slices.SortedFunc(slices.Values(victims), func(a, b *victim) int {
		return cmp.Or(cmp.Compare(a.weight, b.weight), compareIDs(a, b))
	})
}

// within are as many of the victims, the cheapest first, as their queues can
// lose and stay above their nominal quotas until the last.
func (h *hunt) within(c *contender, option int, s *scene) (open []*victim) {
	u := h.usage.Clone()
	for _, v := range s.expiring {
		removePaid(u, v)
	}
	through := h.withoutOwn(c, option, s).Exceeds(c.options[option].bill)
	order := slices.SortedFunc(slices.Values(s.victims), func(a, b *victim) int {
		return cmp.Or(a.standing.compare(b.standing), cmp.Compare(a.price, b.price), compareIDs(a, b))
	})
	for _, v := range order {
		if h.p.rightOf(c, v).higher || (u.AboveNominal(v.queue.Name, c.options[option].bill) && !takesOwn(u, v, c, through)) {
			open = append(open, v)
			removePaid(u, v)
		}
	}
	return open
}
