package planner

import (
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// verdicts says of each contender why it waits. Answers are the same for equal
// requests, and are worked out once: beside what runs alone, room only grows,
// so that the time for which it is asked makes no difference.
type verdicts struct {
	p      *pass
	known  map[*shape]*answer
	before map[*shape]*answer // of the plan before, by the same policy
	moved  map[*contender]string
	lost   map[*contender]string
	crowds map[*shape]*crowd
	heads  map[batch.QueueName]*contender // the first of each queue that waits; nil: some may overtake
}

// answer is the verdict for all that ask for the same.
type answer struct {
	batch.Verdict
	again bool // the plan before gave it, too
}

func newVerdicts(p *pass) *verdicts {
	v := &verdicts{p: p, known: map[*shape]*answer{}, moved: map[*contender]string{}, lost: map[*contender]string{}, crowds: map[*shape]*crowd{}}
	if p.Policy.Backfill == batch.BackfillStrict {
		v.heads = map[batch.QueueName]*contender{}
	}
	if p.carried != nil && p.carried.roll.policy == p.Policy {
		v.before = p.carried.answers
	}
	return v
}

// place is where a contender stands: its index in the order, and its position
// among those of it that still wait, from 1.
type place struct{ index, position int }

// unchanged says whether the answer is the one that was given before: of most
// that wait nothing else need be worked out. Who is still where he was, and had the
// same answer then, has it as long as all have it that ask for the same.
func (v *verdicts) unchanged(c *contender) bool {
	stays := c.issued != nil && c.issued == c.waiting.Held && !c.asksDomain() && (len(v.p.exempt) == 0 || v.p.exempt[c.claim].IsZero())
	if c.heard && stays && v.ofShape(c).again {
		return true
	}
	told := v.told(c)
	c.heard = told && stays && c.workload().LastVerdict.Facts.SafeUntil.IsZero()
	return told
}

// told says whether a contender was last told what would be told it now.
func (v *verdicts) told(c *contender) bool {
	last := c.workload().LastVerdict
	if last == nil {
		return false
	}
	promise := c.workload().Promise
	if c.asksDomain() && last.Facts.Loose != c.looseIn(last.Facts.Flavor) {
		return false
	}
	if c.nomination != nil {
		return last.Reason == batch.ReasonPreempting && timeOf(c.start()).Equal(last.PlannedStart)
	}
	if c.at == nil {
		if !promise.IsZero() || !last.PlannedStart.IsZero() {
			return false
		}
		if last.Facts.InTurn != v.behind(c) {
			return false
		}
		if c.bound != "" {
			return v.p.sameBound(c.bound, last)
		}
		return v.sameGround(c, last)
	}
	start := timeOf(c.start())
	return start.Equal(last.PlannedStart) && !start.After(promise) && !start.After(v.p.now.Add(v.p.window())) &&
		v.sameGround(c, last)
}

// sameBound says whether somebody has been told that this bound of the policy, as it
// is set now, leaves him no planned start.
func (p *pass) sameBound(bound string, last *batch.Verdict) bool {
	return last.Reason == batch.ReasonNotPlanned && last.Facts.Bound == bound && last.Facts.Limit == batch.Amount(limitOf(p.Policy, bound))
}

// sameGround says whether a contender waits for the reason that it was told, by
// the same quotas or for the same nodes.
func (v *verdicts) sameGround(c *contender, last *batch.Verdict) bool {
	return sameGround(&v.ofShape(c).Verdict, last) && last.Facts.SafeUntil.Equal(v.p.safeUntil(c))
}

func sameGround(a, b *batch.Verdict) bool {
	return a.Reason == b.Reason && a.Facts.Terms == b.Facts.Terms && a.Facts.SameAway(b.Facts)
}

// ofShape is the answer for all that ask for the same.
func (v *verdicts) ofShape(c *contender) *answer {
	known, ok := v.known[c.key.shape]
	if !ok {
		known = &answer{Verdict: v.judge(c)}
		if was := v.before[c.key.shape]; was != nil {
			known.again = sameGround(&known.Verdict, &was.Verdict)
		}
		v.known[c.key.shape] = known
	}
	return known
}

func (v *verdicts) verdict(c *contender, at place) batch.Verdict {
	if c.nomination != nil {
		return v.preempting(c, at)
	}
	verdict := v.ofShape(c).Verdict
	verdict.Facts.Queue = c.queue.Name
	verdict.Position = at.position
	if c.at != nil {
		verdict.PlannedStart = timeOf(c.start())
	}
	if verdict.PlannedStart.After(v.p.now.Add(v.p.window())) {
		verdict.PlannedStart = time.Time{}
		verdict.Facts.Window = v.p.window()
	}
	verdict.MovedBy = v.movedBy(c, at)
	if c.bound != "" && c.at == nil {
		verdict.Reason = batch.ReasonNotPlanned
		verdict.Facts.Bound = c.bound
		verdict.Facts.Limit = batch.Amount(limitOf(v.p.Policy, c.bound))
	}
	if verdict.Reason != batch.ReasonNotPlanned {
		verdict.Facts.SafeUntil = v.p.safeUntil(c)
	}
	verdict.Facts.InTurn = c.at == nil && v.behind(c)
	verdict.Facts.Loose = c.looseIn(verdict.Facts.Flavor)
	if last := c.workload().LastVerdict; last != nil && verdict.SameAnswer(*last) {
		return verdict // nobody will read the rest
	}
	verdict.Facts.Asked = asks(c.workload().PodSets)
	if verdict.Reason == batch.ReasonPriority {
		v.ahead(c, at.index, &verdict.Facts)
	}
	if c.at == nil && verdict.Reason.TakesPart() {
		verdict.Facts.Until = c.workload().EndBefore
		if c.long == timeline.Forever {
			verdict.Facts.Walltime = batch.Unlimited
		}
	}
	return verdict
}

// judge says why a request does not start now: it fits beside what runs, and
// planned starts are in the way; or it does not.
func (v *verdicts) judge(c *contender) batch.Verdict {
	p := v.p
	if c.key.shape.absent {
		return verdictOf(batch.ReasonNodesUnavailable, c.key.shape.facts)
	}
	if v, refused := p.unaffordable(c); refused {
		return v
	}
	facts := batch.Facts{}
	inTotal, first := false, true
	for i := range c.options {
		d := c.demand(i)
		need := d.Need
		if !p.line.pays(d.bill, timeline.SpanOf(p.from, d.Long)) {
			continue
		}
		if _, ok := p.line.nodes.At(need, p.from); ok {
			facts.Flavor = c.options[i].flavor
			return verdictOf(batch.ReasonPriority, facts)
		}
		pods, nodes := p.room(need)
		if first || pods > facts.FreeNow {
			first, facts.Flavor, facts.FreeNow, facts.FreeNodes = false, c.options[i].flavor, pods, nodes
		}
		inTotal = inTotal || p.enoughInTotal(c.wideNeed(i))
	}
	v.scarce(c, &facts)
	if c.key.shape.whole {
		facts.Bound = boundWhole
	}
	if domain := c.workload().PodSets[0].Domain; domain != "" && c.options[0].wide != nil {
		facts.Level = domain
	}
	if inTotal {
		return verdictOf(batch.ReasonTopology, facts)
	}
	return verdictOf(batch.ReasonResources, facts)
}

// boundWhole says that whole nodes were asked for.
const boundWhole = "exclusive"

func nameOf(w *batch.Workload) string { return w.Namespace + "/" + w.Name }
