package state

import "github.com/berth-dev/berth/pkg/batch"

// basisOf is what an answer to a workload would rest on now; see planner.
func (s *State) basisOf(r *record) batch.Basis {
	return batch.AskedBy(r.workload, r.shape).Basis(s.localQueues.rows[r.workload.LocalQueue], s.queues.rows)
}

// recheck has those ranked anew that were answered before our time and edited, or
// whose queue was, since then: while nobody looked. It waits for a snapshot, since
// after a restart the queues may come behind their workloads.
func (s *State) recheck() {
	for _, r := range s.returned {
		w := r.workload
		if w == nil || w.Allocation != nil || w.Finished != nil || w.Basis == "" {
			continue
		}
		if by, edited := w.Basis.EditedTo(s.basisOf(r), w.LocalQueue); edited {
			own := *w
			s.revoke(r, &own, own.Promise, by)
			r.workload = &own
			s.touch(r)
		}
	}
	s.returned = nil
}
