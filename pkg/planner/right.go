package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// causeOf is why a victim goes.
func (r right) causeOf() batch.Cause {
	if r.reclaim && !r.higher {
		return batch.CauseReclaimed
	}
	return batch.CausePreempted
}

// law is what quotas say of a contender's rights: over the work of which queues
// it may reclaim, and over which it may borrow.
type law struct {
	reclaim, borrow map[batch.QueueName]bool
}

// lawFor works out what holds for an option of a contender if all victims of its
// own queue were gone: the most that there can be.
func (h *hunt) lawFor(c *contender, option int, s *scene) law {
	if h.usage == nil || !s.byQuota {
		return law{}
	}
	l := law{reclaim: map[batch.QueueName]bool{}, borrow: map[batch.QueueName]bool{}}
	bill := c.options[option].bill
	after := h.withoutOwn(c, option, s.victims)
	seen := map[batch.QueueName]bool{}
	for _, v := range s.victims {
		name := v.queue.Name
		if v.queue == c.queue || seen[name] {
			continue
		}
		seen[name] = true
		above := h.usage.AboveNominal(name, bill)
		l.borrow[name] = above
		l.reclaim[name] = above && after.WithinNominal(bill, name)
	}
	return l
}

func removePaid(u *quota.Usage, v *victim) {
	for _, c := range v.pays {
		u.Remove(c.Bill)
	}
}

// grants says whether a right over a victim holds.
func (l *law) grants(r right, v *victim) bool {
	return r.higher || (r.reclaim && l.reclaim[v.queue.Name]) || (r.borrow && l.borrow[v.queue.Name])
}

// text tells laws apart.
func (l *law) text() string {
	var b strings.Builder
	for _, all := range []map[batch.QueueName]bool{l.reclaim, l.borrow} {
		var names []string
		for name, holds := range all { //order:any sorted below
			if holds {
				names = append(names, string(name))
			}
		}
		slices.Sort(names)
		fmt.Fprintf(&b, "%q/", names)
	}
	return b.String()
}

// lawful says whether a set of victims may go together: each queue is above its
// nominal quota until the last of those goes that it loses, and whose queue
// takes back is within its own with all of them gone.
func (h *hunt) lawful(c *contender, option int, victims []*victim) bool {
	if h.usage == nil {
		return true
	}
	bill := c.options[option].bill
	u := h.usage.Clone()
	after := u.Clone()
	after.Add(bill)
	for _, v := range victims {
		removePaid(after, v)
	}
	through := after.Exceeds(bill)
	for _, v := range h.inTurn(victims) {
		r := h.p.rightOf(c, v)
		if !r.higher {
			if !u.AboveNominal(v.queue.Name, bill) || takesOwn(u, v, c, through) {
				return false
			}
			if reclaims := r.reclaim && after.WithinNominal(bill, v.queue.Name); !reclaims && (!r.borrow || takesBack(after, v, c)) {
				return false
			}
		}
		removePaid(u, v)
	}
	return true
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

// takesBack says whether a victim would be taken back, of the usage that is left
// when it is gone, from whom has borrowed what it had: each would push out the
// other, to and fro.
func takesBack(after *quota.Usage, v *victim, c *contender) bool {
	if v.queue.Preemption.ReclaimWithinCohort != batch.WhomAny || !c.queue.Preemption.LetsGo() {
		return false
	}
	again := after.Clone()
	for _, pay := range v.pays {
		again.Add(pay.Bill)
	}
	return slices.ContainsFunc(v.pays, func(pay quota.Charge) bool {
		return again.WithinNominal(pay.Bill, c.queue.Name) && again.AboveNominal(c.queue.Name, pay.Bill)
	})
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
func (h *hunt) within(c *contender, option int, victims []*victim) (open []*victim) {
	u := h.usage.Clone()
	through := h.withoutOwn(c, option, victims).Exceeds(c.options[option].bill)
	order := slices.SortedFunc(slices.Values(victims), func(a, b *victim) int {
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

// withoutOwn is the usage with a contender in, and all victims of its own queue gone.
func (h *hunt) withoutOwn(c *contender, option int, victims []*victim) *quota.Usage {
	after := h.usage.Clone()
	after.Add(c.options[option].bill)
	for _, v := range victims {
		if v.queue == c.queue {
			removePaid(after, v)
		}
	}
	return after
}
