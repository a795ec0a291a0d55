package planner

import (
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// contender is a waiting workload that takes part.
type contender struct {
	waiting *batch.Waiting
	queue   *batch.Queue
	long    timeline.Long
	options []option // flavors that could do, in order of preference
	key     needKey

	// arrived says that it has not been looked at in this order before. Only
	// then may it push lower-ranked planned starts back; what waited without a
	// start takes the space that nobody holds.
	arrived bool
	promise timeline.Time // the start that binds; 0: none
	kept    *kept         // its placement, if it is known
	tried   bool          // a round of this plan has looked for space for it
	beyond  bool          // it is deeper in the order than the policy plans

	// What was found: a place in one of the options, or none.
	placed bool
	option int
	start  timeline.Time
	place  timeline.Place
	via    batch.Via
}

func (c *contender) workload() *batch.Workload { return c.waiting.Workload }

// kept is a placement from the plan before.
type kept struct {
	option int
	place  timeline.Place
}

// refusal is a waiting workload that takes no part.
type refusal struct {
	waiting *batch.Waiting
	verdict batch.Verdict
}

// rank sorts those that wait into contenders, in order, and refused ones.
func (p *pass) rank() {
	p.fleet = newFleet(p)
	for _, w := range p.waiting {
		c, verdict := p.judge(w)
		if verdict.Reason != "" {
			p.refused = append(p.refused, refusal{waiting: w, verdict: verdict})
			continue
		}
		p.order = append(p.order, c)
	}
	// They came in order of rank within a tier: only the tier is left.
	slices.SortStableFunc(p.order, func(a, b *contender) int { return int(b.queue.Tier) - int(a.queue.Tier) })
}

// judge says why a workload takes no part; an empty reason: it does.
//
// What can never be comes first, then the workload's own state, then what an
// admin can change.
func (p *pass) judge(w *batch.Waiting) (*contender, batch.Verdict) {
	workload := w.Workload
	if workload.Invalid != "" {
		return nil, verdictOf(batch.ReasonInvalidSpec, batch.Facts{Text: workload.Invalid})
	}
	queue, missing := p.queueOf(workload)
	var c *contender
	if queue != nil {
		var never batch.Verdict
		if c, never = p.contender(w, queue); never.Reason != "" {
			return nil, never
		}
	}
	if v := p.ownState(workload); v.Reason != "" {
		return nil, v
	}
	if queue == nil {
		return nil, missing
	}
	if v := p.gate(workload, queue); v.Reason != "" {
		return nil, v
	}
	return c, batch.Verdict{}
}

func verdictOf(reason batch.Reason, facts batch.Facts) batch.Verdict {
	return batch.Verdict{Reason: reason, Facts: facts}
}

// queueOf finds the queue of a workload, or says what is missing.
func (p *pass) queueOf(w *batch.Workload) (*batch.Queue, batch.Verdict) {
	local, ok := p.LocalQueues[w.LocalQueue]
	if !ok || len(local.Queues) == 0 {
		return nil, verdictOf(batch.ReasonQueueNotFound, batch.Facts{Text: string(w.LocalQueue), Bound: "LocalQueue"})
	}
	name := local.Queues[0]
	queue, ok := p.Queues[name]
	if !ok {
		return nil, verdictOf(batch.ReasonQueueNotFound, batch.Facts{Text: string(name), Bound: "ClusterQueue"})
	}
	return queue, batch.Verdict{}
}

// ownState is what the author, or the last run, keeps the workload from.
func (p *pass) ownState(w *batch.Workload) batch.Verdict {
	if w.Held {
		return verdictOf(batch.ReasonHeld, batch.Facts{Bound: "Workload"})
	}
	if local, ok := p.LocalQueues[w.LocalQueue]; ok && local.Held {
		return verdictOf(batch.ReasonHeld, batch.Facts{Bound: "LocalQueue", Text: string(w.LocalQueue)})
	}
	if podsOf(w.PodSets) == 0 {
		return verdictOf(batch.ReasonHeld, batch.Facts{Bound: "Pods"})
	}
	if w.RequeueAfter.After(p.now) {
		p.wake(w.RequeueAfter)
		return verdictOf(batch.ReasonRequeued, batch.Facts{Until: w.RequeueAfter, Text: w.TakenBack})
	}
	return batch.Verdict{}
}

func podsOf(sets []batch.PodSet) int {
	n := 0
	for i := range sets {
		n += sets[i].Count
	}
	return n
}

// gate says whether the queue lets the workload in and starts work at all.
func (p *pass) gate(w *batch.Workload, q *batch.Queue) batch.Verdict {
	if q.Access != nil {
		labels, ok := p.Namespaces[w.Namespace]
		if !ok || !q.Access.Matches(*labels) {
			return verdictOf(batch.ReasonAccessDenied, batch.Facts{Queue: q.Name, Text: w.Namespace})
		}
	}
	late := !q.StateSince.IsZero() && w.QueuedAt.After(q.StateSince)
	stopped := false
	switch q.State {
	case batch.QueueDrain:
		stopped = late || q.StateSince.IsZero()
	case batch.QueueDown, batch.QueueInactive:
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

// longOf is how long a workload may run, and whether it asks for too much.
func longOf(w *batch.Workload, q *batch.Queue) (long timeline.Long, within bool) {
	limit := q.WalltimeMax
	asked := w.Walltime
	if asked == 0 {
		asked = q.WalltimeDefault
		if asked == 0 || exceeds(asked, limit) {
			asked = limit
		}
	} else if exceeds(asked, limit) {
		return 0, false
	}
	if asked == 0 || asked == batch.Unlimited {
		return timeline.Forever, true
	}
	// Part of a second counts as one: a run must not outlive its hold.
	return timeline.Long((time.Duration(asked) + time.Second - 1) / time.Second), true
}

func exceeds(asked, limit batch.Walltime) bool {
	switch {
	case limit == 0 || limit == batch.Unlimited:
		return false
	case asked == batch.Unlimited:
		return true
	}
	return asked > limit
}
