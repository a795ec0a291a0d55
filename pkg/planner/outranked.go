package planner

import (
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
)

// turning is what it takes to say whether one that is nominated would lose its place to
// those who have gone for it.
type turning struct {
	usage   *quota.Usage                      // when all that give way are gone, and the nominated have their places
	waiting map[batch.WorkloadID][]*contender // victims that have gone and wait again
}

// outranked says whether one of those who go for a nominated workload could take its place
// right back: somebody has edited a priority, a tier or a quota since it was found. It
// would start only to be taken, so its place is given up. A place that was found in this
// very plan was looked at in that way then.
//
// Nothing but an edit makes it so: others have gone for it, and what starts and ends
// meanwhile must not take it from it. Who has gone early and waits again is looked for
// only when the last of them has gone.
func (p *pass) outranked(a nominee, all []nominee) bool {
	if p.named[a.workload().ID] != nil || !a.queue.Preemption.LetsGo() {
		return false
	}
	drains := false
	for _, id := range a.is.Victims {
		s := p.whoHolds()[id]
		if s.Started == nil {
			continue
		}
		if drains = drains || !s.leaves; p.couldReturn(s.Started, a, all) {
			return true
		}
	}
	return !drains && p.couldAny(a, all)
}

// couldReturn says whether a run that gives way to a contender waits again then, with the
// right to take its place.
func (p *pass) couldReturn(s *batch.Started, a nominee, all []nominee) bool {
	w := s.Workload
	q := p.Queues[w.Allocation.Queue]
	if q == nil || w.Eviction == nil || w.Eviction.Final != "" {
		return false
	}
	back := &victim{Started: s, queue: q, standing: standing{tier: q.Tier, priority: w.Priority}}
	return p.couldTake(back, a, all, func() quota.Bill { return p.billToReturn(back) })
}

// couldAny is couldReturn for those of the victims that wait again.
func (p *pass) couldAny(a nominee, all []nominee) bool {
	for _, id := range a.is.Victims {
		for _, c := range p.turningOf(all).waiting[id] {
			if len(c.records) > 1 {
				continue // it may have the right in a queue in which it has not run
			}
			back := &victim{Started: &batch.Started{Workload: c.workload()}, queue: c.queue, standing: c.standing()}
			for i := range c.options {
				if p.couldTake(back, a, all, func() quota.Bill { return c.options[i].bill }) {
					return true
				}
			}
		}
	}
	return false
}

// couldTake says whether a victim that comes back may take the place of one that is
// nominated, and notes that.
func (p *pass) couldTake(back *victim, a nominee, all []nominee, bill func() quota.Bill) bool {
	c := a.contender
	taker := &contender{claim: &claim{waiting: &batch.Waiting{Workload: back.Workload}}, queue: back.queue}
	r := p.rightOf(taker, &victim{Started: &batch.Started{Workload: c.workload()}, queue: c.queue, standing: c.standing()})
	if !r.higher && (!r.reclaim || !p.lostQuota(a, back.queue.Name)) {
		return false
	}
	if !r.higher {
		if usage := p.turningOf(all).usage; !back.takesBack(bill(), c, usage, usage) {
			return false
		}
	}
	c.turnedBy = back.Workload
	return true
}

// lostQuota says whether one that was to take back what its queue has lent to another is
// not within its own any more even if it were alone.
func (p *pass) lostQuota(a nominee, lentTo batch.QueueName) bool {
	if a.is.Cause != batch.CauseReclaimed {
		return false
	}
	alone, bill := p.tree.Usage(), p.billAt(a)
	alone.Add(bill)
	return !alone.WithinNominal(bill, lentTo)
}

// billAt is what one that is nominated will pay.
func (p *pass) billAt(a nominee) quota.Bill {
	sets := a.workload().PodSets
	return p.billOf(a.queue, a.is.Allocation.Flavor, sets, func(set int) int { return sets[set].Least() })
}

// turningOf looks up what is taken of quotas, and who of the victims waits, once.
func (p *pass) turningOf(all []nominee) *turning {
	if p.turning != nil {
		return p.turning
	}
	t := &turning{waiting: map[batch.WorkloadID][]*contender{}}
	p.turning = t
	gone := map[batch.WorkloadID]bool{}
	for _, a := range all {
		for _, id := range a.is.Victims {
			gone[id] = gone[id] || p.whoHolds()[id].Started == nil
		}
	}
	for _, c := range p.order {
		if id := c.workload().ID; gone[id] {
			t.waiting[id] = append(t.waiting[id], c)
		}
	}
	if p.tree == nil {
		return t
	}
	t.usage = p.tree.Usage()
	for i, bill := range p.bills() {
		if u := &p.Uses[i]; p.sits(&u.Charge) && !p.givesWay(&u.Charge) {
			t.usage.Add(bill)
		}
	}
	for _, a := range all {
		if a.is.Allocation.Queue == a.queue.Name {
			t.usage.Add(p.billAt(a))
		}
	}
	return t
}
