package sim

import (
	"fmt"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// owed is a start that somebody was evicted for.
type owed struct {
	by    *job
	since time.Duration
	runs  int // starts that it had then
}

// checkPreemption: those evicted for another are of lower standing, and a place
// is kept for the other or it starts in the same plan: victims are named with
// their preemptor.
func (w *world) checkPreemption(plan batch.Plan) {
	where := map[batch.WorkloadID]batch.QueueName{}
	for _, d := range plan.Nominate {
		if d.Nomination != nil {
			where[d.ID] = d.Nomination.Allocation.Queue
		}
	}
	for _, d := range plan.Start {
		where[d.ID] = d.Allocation.Queue
	}
	for _, d := range plan.Evict {
		e := d.Eviction
		if e.For == "" {
			continue
		}
		queue, kept := where[e.For]
		if !kept {
			w.broke(fmt.Sprintf("eviction of %s", d.ID), "a place kept for "+string(e.For), "none")
			return
		}
		by, victim := w.jobs[e.For], w.jobs[d.ID]
		w.owed = append(w.owed, owed{by: by, since: w.now, runs: by.starts})
		if e.Cause != batch.CausePreempted {
			continue
		}
		mine, its := w.tier(queue), w.tier(victim.workload.Allocation.Queue)
		if mine < its || (mine == its && by.workload.Priority <= victim.workload.Priority) {
			w.broke(fmt.Sprintf("standing of %s, evicted for %s", d.ID, e.For),
				fmt.Sprintf("below tier %d, priority %d", mine, by.workload.Priority), fmt.Sprintf("tier %d, priority %d", its, victim.workload.Priority))
		}
	}
}

func (w *world) tier(queue batch.QueueName) int32 {
	seen, _ := w.objects["ClusterQueue//"+string(queue)].Seen.(batch.QueueObserved)
	return seen.Queue.Tier
}

// checkOwed: whom others were evicted for has started since, or its place is
// kept; unless it is gone, or something has happened to it, the queues or the
// nodes.
func (w *world) checkOwed() {
	still := w.owed[:0]
	for _, o := range w.owed {
		j := o.by
		if j.starts > o.runs || j.ended || j.deleted || w.disturbed >= o.since {
			continue
		}
		if j.workload.Nomination == nil {
			w.broke(fmt.Sprintf("start of %s, for which others were evicted at %s", j.workload.ID, offsetText(o.since)), "a start, or a place that is kept", "neither")
		}
		still = append(still, o)
	}
	w.owed = still
}
