package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/timeline"
)

// needed leaves out those of a set of victims that are gone by themselves when the
// place that the set makes can be used, and says when that is, not before a time.
//
// Who has the longest grace is asked first: without him the place may be free
// sooner, and another that would have been gone by then may have to go after all.
// It never is free later than with all of them.
func (p *pass) needed(victims []*victim, from timeline.Time) (some []*victim, start timeline.Time) {
	some = slices.SortedFunc(slices.Values(victims), func(a, b *victim) int {
		return cmp.Or(cmp.Compare(b.grace, a.grace), compareIDs(a, b))
	})
	start = p.allGone(some, from)
	for i := 0; i < len(some); {
		end := p.goneAnyhow(some[i])
		if end > start {
			i++
			continue
		}
		some = slices.Delete(some, i, i+1)
		from = max(from, end)
		start = p.allGone(some, from)
	}
	slices.SortFunc(some, compareIDs)
	return some, start
}

// expires says whether a victim is gone by itself before its grace would be over:
// to tell it to go brings nothing, and what it holds costs nothing.
func (p *pass) expires(v *victim) bool {
	return p.goneAnyhow(v) <= p.from+timeline.Time(v.grace)
}

// allGone is when the longest grace of victims is over, or a time that is later.
func (p *pass) allGone(victims []*victim, from timeline.Time) timeline.Time {
	for _, v := range victims {
		from = max(from, p.from+timeline.Time(v.grace))
	}
	return from
}

// goneAnyhow is when a victim is gone without being told to end: when its deadline
// is over, what it may overrun, and what its pods have of their own. Never: nobody knows.
func (p *pass) goneAnyhow(v *victim) timeline.Time {
	if v.start != nil {
		return timeline.Never
	}
	deadline := v.Workload.Allocation.Deadline
	if is, relimited := p.relimited[v.Workload.ID]; relimited {
		deadline = is.deadline
	}
	if deadline.IsZero() || !deadline.After(p.now) {
		return timeline.Never
	}
	return secondOf(deadline.Add(v.queue.Overrun + termination(v.Started)))
}
