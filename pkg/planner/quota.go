package planner

import (
	"slices"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// boundQuota says that a quota is in the way.
const boundQuota = "quota"

// beyondQuota notes that a queue could not pay a bill even if nobody else used
// anything. Of a queue that is cut off from its cohort by a circle nothing is
// known: that is for an admin to undo.
func (p *pass) beyondQuota(q *batch.Queue, bill quota.Bill, best *attempts) bool {
	if bill.Free() || p.tree.Circle(q) != nil {
		return false
	}
	refusal, exceeds := p.tree.Exceeds(bill)
	if exceeds && best.beyond == nil {
		best.beyond = &refusal
	}
	return exceeds
}

// beyond says that a request exceeds what its queue could ever have.
func beyond(sets []batch.PodSet, r *quota.Refusal) batch.Verdict {
	facts := refusalFacts(*r)
	facts.Asked, facts.Limit = asks(sets), r.Most
	return verdictOf(batch.ReasonNeverFits, facts)
}

func refusalFacts(r quota.Refusal) batch.Facts {
	return batch.Facts{
		Bound: boundQuota, Flavor: r.Flavor, Resource: r.Resource, Need: r.Asked,
		Free: r.Free, Limit: r.Limit, Used: r.Used, Lent: r.Lent, Cohort: r.Cohort,
	}
}

// terms tell apart the quotas that an answer rests on, as they are set.
func (p *pass) terms(queue batch.QueueName) uint64 {
	if p.quotaTerms == nil {
		p.quotaTerms = p.tree.Terms()
	}
	return p.quotaTerms[queue]
}

// unaffordable says that quota keeps a contender from starting beside what
// runs, in every flavor. Where one has quota for it, the nodes are what it
// waits for.
func (p *pass) unaffordable(c *contender) (v batch.Verdict, refused bool) {
	for i := range c.options {
		d := c.demand(i)
		if d.bill.Free() {
			return batch.Verdict{}, false
		}
		refusal, short := p.line.ledger.Refusal(d.bill, payTime(timeline.SpanOf(p.from, d.Long)))
		if !short {
			return batch.Verdict{}, false
		}
		if refused {
			continue // the flavor listed first says why
		}
		refused = true
		v = verdictOf(batch.ReasonQuotaExceeded, refusalFacts(refusal))
		v.Facts.Terms = p.terms(c.queue.Name)
		if refusal.Borrowing {
			v.Reason, v.Facts.Limit = batch.ReasonBorrowingLimit, refusal.Most
		}
	}
	return v, refused
}

// meetsQuota says whether a higher-ranked one holds quota that a contender
// could use.
func (p *pass) meetsQuota(c, other *contender) bool {
	return p.tree != nil && other.placed() && slices.ContainsFunc(c.options, func(o option) bool {
		return p.tree.Meets(o.bill, other.place.bill)
	})
}

// quotaOverrun finds what should have ended, and takes quota that a contender
// could use.
func (p *pass) quotaOverrun(c *contender) *batch.Charge {
	if p.tree == nil {
		return nil
	}
	for i := range p.Uses {
		u := &p.Uses[i]
		if !u.Overdue(p.now) || !p.sits(&u.Charge) {
			continue
		}
		if p.payableBy(c, u) {
			return &u.Charge
		}
	}
	return nil
}

// payableBy says whether a contender could use the quota that is taken.
func (p *pass) payableBy(c *contender, u *batch.Use) bool {
	bill := p.tree.Bill(u.Queue, u.Flavor, u.Requests)
	return slices.ContainsFunc(c.options, func(o option) bool { return p.tree.Meets(o.bill, bill) })
}

// cutOff says that a queue starts nothing because its cohort is above itself.
func (p *pass) cutOff(q *batch.Queue) (v batch.Verdict, circle bool) {
	cohorts := p.tree.Circle(q)
	if len(cohorts) == 0 {
		return batch.Verdict{}, false
	}
	names := make([]string, 0, len(cohorts)+1)
	for _, name := range cohorts {
		names = append(names, string(name))
	}
	names = append(names, names[0])
	return verdictOf(batch.ReasonQueueStopped, batch.Facts{
		Queue: q.Name, Bound: boundCircle, Cohort: q.Cohort, Text: strings.Join(names, " → "),
	}), true
}

// boundCircle says that cohorts are above themselves.
const boundCircle = "Circle"
