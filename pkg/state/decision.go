package state

import (
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// issue assumes the decisions of a plan: they hold from now on, before the API
// server has confirmed them.
func (s *State) issue(plan batch.Plan) {
	s.issueTaking(plan)
	for _, d := range plan.Finish {
		s.change(d.ID, func(_ *record, w *batch.Workload) { w.Finished = &d.End })
	}
	for _, d := range plan.Start {
		s.change(d.ID, func(r *record, w *batch.Workload) { start(r, w, d) })
	}
	s.answer(plan)
	s.keepHolds(plan.Holds)
	s.carried = plan.Carried
	s.dropGhosts(plan.At)
	s.settle()
	s.loose = false // the plan knew of all this
}

// answer assumes what a plan says of those that wait, and of those that run.
func (s *State) answer(plan batch.Plan) {
	for _, d := range plan.Nominate {
		s.change(d.ID, func(_ *record, w *batch.Workload) {
			if w.Allocation == nil {
				w.Nomination = d.Nomination
			}
		})
	}
	for _, d := range plan.Wait {
		s.change(d.ID, func(_ *record, w *batch.Workload) {
			w.LastVerdict, w.Promise, w.Basis, w.Revoked, w.RevokedBy = &d.Verdict, d.Verdict.PlannedStart, d.Basis, time.Time{}, ""
		})
	}
	for _, d := range plan.Ready {
		s.change(d.ID, func(_ *record, w *batch.Workload) {
			switch w.HeldBy = d.HeldBy; {
			case d.HeldBy == "":
				w.HeldSince = time.Time{}
			case w.HeldSince.IsZero():
				w.HeldSince = plan.At
			}
			if d.Ready || w.PodsReady != nil { // never ready is nil, and not false
				w.PodsReady = &d.Ready
			}
			if d.Ready && w.ReadySince.IsZero() {
				w.ReadySince = plan.At
			}
		})
	}
	for _, d := range plan.Remember {
		s.change(d.ID, func(_ *record, w *batch.Workload) { w.Outcomes = d.Outcomes })
	}
}

// issueTaking assumes what takes allocations back, in its order.
func (s *State) issueTaking(plan batch.Plan) {
	for _, d := range plan.Evict {
		s.change(d.ID, func(_ *record, w *batch.Workload) {
			if w.Allocation != nil && w.Eviction == nil {
				w.Eviction, w.Notice = &d.Eviction, nil
			}
		})
	}
	for _, d := range plan.Notify {
		s.change(d.ID, func(_ *record, w *batch.Workload) {
			if w.Allocation != nil && w.Eviction == nil {
				w.Notice = &d.Notice
			}
		})
	}
	for _, d := range plan.Relimit {
		s.change(d.ID, func(r *record, w *batch.Workload) {
			if w.Allocation == nil || w.Restarts != d.Run {
				return
			}
			if w.Relimited = false; w.Allocation.Deadline.Equal(d.Deadline) {
				return
			}
			a := *w.Allocation
			a.Deadline = d.Deadline
			w.Allocation, w.Notice, r.relimited = &a, nil, &d.Deadline
		})
	}
	for _, d := range plan.Stop {
		s.change(d.ID, func(_ *record, w *batch.Workload) {
			if w.Eviction != nil && w.Eviction.Stopped.IsZero() {
				stopped := *w.Eviction
				stopped.Stopped = d.At
				w.Eviction = &stopped
			}
		})
	}
	for _, d := range plan.Requeue {
		s.change(d.ID, func(r *record, w *batch.Workload) { requeue(r, w, d) })
	}
}

// change replaces a workload's record by an edited copy; one that is gone or
// has ended is left alone.
func (s *State) change(id batch.WorkloadID, edit func(*record, *batch.Workload)) {
	r, ok := s.records[id]
	if !ok || r.workload == nil || r.workload.Finished != nil {
		return
	}
	w := *r.workload
	edit(r, &w)
	r.workload = &w
	s.touch(r)
}

func start(r *record, w *batch.Workload, d batch.StartDecision) {
	if w.Allocation != nil || w.Restarts != d.Run {
		return
	}
	r.before = r.workload
	r.held, r.refused, r.trusted = nil, "", false
	w.Allocation = &d.Allocation
	w.Promise, w.RequeueAfter, w.PodsReady, w.LastVerdict = time.Time{}, time.Time{}, nil, nil
	w.Nomination, w.ReadySince, w.Notice = nil, time.Time{}, nil
	w.HeldBy, w.HeldSince, w.TakenBack = "", time.Time{}, ""
}

func requeue(r *record, w *batch.Workload, d batch.RequeueDecision) {
	if w.Restarts >= d.Restarts {
		return
	}
	r.held, r.before, r.refused, r.trusted = nil, nil, "", false
	w.Restarts, w.RequeueAfter = d.Restarts, d.RequeueAfter
	if w.Eviction != nil {
		was := *w.Eviction
		was.Meanwhile = d.Meanwhile
		w.TakenBack = was.Words()
	}
	w.Allocation, w.Eviction, w.Notice, w.Relimited = nil, nil, nil, false
	w.HeldBy, w.HeldSince = "", time.Time{}
	w.Promise, w.PodsReady, w.LastVerdict = time.Time{}, nil, nil
	w.ReadySince = time.Time{}
}

// undoStart takes back a start that could not be written.
func (s *State) undoStart(e batch.AdmitFailed) {
	r, ok := s.records[e.ID]
	if !ok || r.before == nil || r.workload == nil || r.workload.Restarts != e.Run || r.workload.Eviction != nil {
		return
	}
	w := *r.workload
	w.Allocation, w.PodsReady = nil, nil
	w.HeldBy, w.HeldSince = "", time.Time{}
	w.TakenBack, w.Nomination = r.before.TakenBack, r.before.Nomination
	w.Promise, w.RequeueAfter, w.LastVerdict = r.before.Promise, r.before.RequeueAfter, r.before.LastVerdict
	r.before, r.refused, r.trusted = nil, "", false
	r.workload = &w
	s.touch(r)
}

// recordIn is a record that is the first of some, and taken from them, or found by
// its ID.
func (s *State) recordIn(left *[]*record, id batch.WorkloadID) *record {
	if len(*left) > 0 && (*left)[0].id == id {
		r := (*left)[0]
		*left = (*left)[1:]
		return r
	}
	return s.records[id]
}

// keepHolds remembers the placements of all planned starts. Those that are
// where they were are not touched.
func (s *State) keepHolds(holds []batch.HoldDecision) {
	s.issued++
	before := s.held
	s.held = make([]*record, 0, len(holds))
	left := before // mostly the same hold their places, in the same order
	for i := range holds {
		d := &holds[i]
		for len(left) > 0 && left[0].held == nil {
			left = left[1:]
		}
		r := s.recordIn(&left, d.ID)
		if r == nil || r.workload == nil || r.workload.Allocation != nil || r.workload.Finished != nil {
			continue
		}
		if r.held != d.Allocation && (r.held == nil || !r.held.Same(d.Allocation)) {
			r.held = d.Allocation
			s.touch(r)
		}
		r.heldBy = s.issued
		s.held = append(s.held, r)
	}
	for _, r := range before {
		if r.held != nil && r.heldBy != s.issued {
			r.held = nil
			s.touch(r)
		}
	}
}
