package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// refusal is a waiting workload that takes no part.
type refusal struct {
	waiting *batch.Waiting
	verdict batch.Verdict
}

// rank sorts those that wait into contenders, in order, and refused ones.
func (p *pass) rank() {
	p.fleet = newFleet(p)
	p.callRoll()
	p.line = p.newBoard()
	p.ground = p.line.clone()
	p.seatNominated()
}

// enroll takes workloads that come late into the order, or refuses them.
func (p *pass) enroll(waiting []*batch.Waiting) {
	p.reach(len(p.order)) // which changes
	var claims []*claim
	for _, w := range waiting {
		k, verdict := p.judge(w)
		if verdict.Reason != "" {
			p.refused = append(p.refused, refusal{waiting: w, verdict: verdict})
			continue
		}
		claims = append(claims, k)
	}
	for _, k := range p.throttle(p.withRivals(claims)) {
		p.order = append(p.order, k.records...)
		p.several = p.several || len(k.records) > 1
	}
	// Records of one workload keep the order in which its queues are listed.
	slices.SortStableFunc(p.order, compareOrder)
	p.reached, p.classes = 0, nil
	p.reach(len(p.order))
}

// compareOrder is the order of records; those of one workload with the same tier
// are equal.
func compareOrder(a, b *contender) int {
	return cmp.Or(cmp.Compare(b.queue.Tier, a.queue.Tier), batch.CompareRank(a.workload(), b.workload()))
}

// release takes in those that waited for the start of others which start in
// this plan: the next plan would do so, and would not be empty.
func (p *pass) release() (some bool) {
	if len(p.begun) == 0 {
		return false
	}
	var free []*batch.Waiting
	still := p.refused[:0]
	for _, r := range p.refused {
		if r.verdict.Reason == batch.ReasonDependency {
			r.verdict = p.dependency(r.waiting.Workload) // it may wait for less
		}
		if r.verdict.Reason == "" {
			free = append(free, r.waiting)
		} else {
			still = append(still, r)
		}
	}
	p.refused = still
	if len(free) == 0 {
		return false
	}
	p.enroll(free)
	return true
}

// judge says why a workload takes no part; an empty reason: it does, with a
// record for each queue that takes it.
//
// What can never be comes first, then the workload's own state, then what an
// admin can change. Of several queues any that takes it will do; else the first
// that could is the one that says why not.
func (p *pass) judge(w *batch.Waiting) (*claim, batch.Verdict) {
	workload := w.Workload
	if workload.Invalid != "" {
		return nil, verdictOf(batch.ReasonInvalidSpec, batch.Facts{Text: workload.Invalid})
	}
	lane := p.laneOf(workload.LocalQueue)
	first := new(single)
	k := &first.claim
	*k = p.claim(w)
	k.records = first.records[:0]
	var never batch.Verdict
	for _, q := range lane.queues {
		c := &first.record
		if len(k.records) > 0 {
			c = new(contender)
		}
		if v := p.contend(c, k, q); v.Reason == "" {
			k.records = append(k.records, c)
		} else if never.Reason == "" {
			never = v
		}
	}
	if len(lane.queues) > 0 && len(k.records) == 0 {
		return nil, never
	}
	depends := p.dependency(workload)
	if depends.Reason == batch.ReasonDependencyNeverSatisfied {
		return nil, depends
	}
	if v := p.ownState(w, lane.local); v.Reason != "" {
		return nil, v
	}
	if depends.Reason != "" {
		return nil, depends
	}
	if len(lane.queues) == 0 {
		return nil, lane.missing
	}
	if v := p.enter(k, lane.local); v.Reason != "" {
		return nil, v
	}
	return k, batch.Verdict{}
}

// enter keeps the records whose queues let the workload in, by tier; if none
// does, the first says why.
func (p *pass) enter(k *claim, local *batch.LocalQueue) (shut batch.Verdict) {
	who := batch.ClaimantOf(k.workload(), local)
	if why := p.Accounts.Turn(who); why != "" {
		return p.turned(who, why, k.records[0].queue, who.Account)
	}
	open := k.records[:0]
	for _, c := range k.records {
		if v := p.admit(who, c); v.Reason == "" {
			open = append(open, c)
		} else if shut.Reason == "" {
			shut = v
		}
	}
	if len(open) == 0 {
		return shut
	}
	k.records = open
	slices.SortStableFunc(k.records, func(a, b *contender) int { return cmp.Compare(b.queue.Tier, a.queue.Tier) })
	return batch.Verdict{}
}

func verdictOf(reason batch.Reason, facts batch.Facts) batch.Verdict {
	return batch.Verdict{Reason: reason, Facts: facts}
}

// lane is where the work of a LocalQueue goes.
type lane struct {
	local   *batch.LocalQueue // nil: there is none
	queues  []*batch.Queue    // in the order in which they are listed
	missing batch.Verdict     // where there are none
}

// laneOf finds the queues of a LocalQueue, once in a pass, or says what is missing.
func (p *pass) laneOf(name batch.LocalQueueName) *lane {
	if known, ok := p.lanes[name]; ok {
		return known
	}
	l := &lane{local: p.LocalQueues[name]}
	p.lanes[name] = l
	if l.local == nil || len(l.local.Queues) == 0 {
		l.missing = verdictOf(batch.ReasonQueueNotFound, batch.Facts{Text: string(name), Bound: "LocalQueue"})
		return l
	}
	for _, name := range l.local.Queues {
		if queue, ok := p.Queues[name]; ok && !slices.Contains(l.queues, queue) {
			l.queues = append(l.queues, queue)
		}
	}
	if len(l.queues) == 0 {
		l.missing = verdictOf(batch.ReasonQueueNotFound, batch.Facts{Text: string(l.local.Queues[0]), Bound: "ClusterQueue"})
	}
	return l
}

// ownState is what the author, or the last run, keeps the workload from.
func (p *pass) ownState(waiting *batch.Waiting, local *batch.LocalQueue) batch.Verdict {
	w := waiting.Workload
	if w.Held && w.Array != nil && w.Array.Index == batch.WholeArray {
		return verdictOf(batch.ReasonHeld, batch.Facts{Bound: "Array", Limit: batch.Amount(w.Array.Count)})
	}
	if w.Held {
		return verdictOf(batch.ReasonHeld, batch.Facts{Bound: "Workload"})
	}
	if local != nil && local.Held {
		return verdictOf(batch.ReasonHeld, batch.Facts{Bound: "LocalQueue", Text: string(w.LocalQueue)})
	}
	if podsOf(w.PodSets) == 0 || waiting.Owner != nil && waiting.Owner.Paused {
		return verdictOf(batch.ReasonHeld, batch.Facts{Bound: "Pods"})
	}
	if w.Begin.After(p.now) {
		p.wake(ceil(w.Begin))
		return verdictOf(batch.ReasonBeginTime, batch.Facts{Until: w.Begin})
	}
	if w.RequeueAfter.After(p.now) {
		p.wake(w.RequeueAfter)
		return verdictOf(batch.ReasonRequeued, batch.Facts{Until: w.RequeueAfter, Text: w.TakenBack})
	}
	return batch.Verdict{}
}

// podsOf is the fewest pods that a workload starts with.
func podsOf(sets []batch.PodSet) int {
	n := 0
	for i := range sets {
		n += sets[i].Least()
	}
	return n
}

// gate says whether the queue lets the workload in and starts work at all.
func (p *pass) gate(w *batch.Workload, q *batch.Queue) batch.Verdict {
	if q.Access != nil {
		labels, ok := p.Namespaces[w.Namespace]
		if !ok || !q.Access.Matches(*labels) {
			return verdictOf(batch.ReasonAccessDenied, batch.Facts{Queue: q.Name, Text: w.Namespace, Selector: q.Access.String()})
		}
	}
	if v, circle := p.cutOff(q); circle {
		return v
	}
	late := !q.StateSince.IsZero() && w.QueuedAt.After(q.StateSince)
	stopped := false
	switch q.State {
	case batch.QueueDrain:
		stopped = late || q.StateSince.IsZero()
	case batch.QueueDown, batch.QueueInactive, batch.QueueTerminating:
		stopped = true
	case batch.QueueUp:
	}
	if stopped {
		return verdictOf(batch.ReasonQueueStopped, batch.Facts{
			Queue: q.Name, Bound: string(q.State), Until: q.StateSince,
		})
	}
	return batch.Verdict{}
}
