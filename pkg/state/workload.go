package state

import (
	"cmp"
	"strings"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// record is all that is known of a workload.
type record struct {
	id       batch.WorkloadID
	workload *batch.Workload // nil: only its owner or its pods are known
	owner    *batch.Owner    // nil: not seen
	pods     map[batch.PodUID]*pod
	stray    bool // counted in State.strays

	shape   string
	waiting *batch.Waiting    // its entry among the waiting; nil: it does not wait
	held    *batch.Allocation // placement of its planned start
	heldBy  int               // the number of the plan that holds it
	runs    bool              // it is among the started
	started *batch.Started    // its entry there, once it is made
	before  *batch.Workload   // as it waited, until the API server has confirmed its start

	// Of this run. An owner that was seen before the start says nothing about
	// it: trusted says that it was seen released since, or that the start is
	// older than what we remember.
	trusted bool
	refused string
	// relimited is the deadline that a plan has given it since it started, until
	// the API server says the same; nil: none.
	relimited *time.Time

	charges map[batch.NodeName][]batch.Charge
	uses    []batch.Use // of quota, as far as they are known
	used    bool        // uses is what the charges make
}

func (s *State) record(id batch.WorkloadID) *record {
	r, ok := s.records[id]
	if !ok {
		r = &record{id: id, pods: map[batch.PodUID]*pod{}}
		s.records[id] = r
	}
	return r
}

// touch marks a record whose charges or counts may have changed.
func (s *State) touch(r *record) { s.dirtyRecords[r.id] = r }

// countStray keeps a record that only an owner is known of, while there are few.
func (s *State) countStray(r *record) {
	switch {
	case r.stray:
	case s.strays < strayOwnersMax:
		r.stray = true
		s.strays++
	default:
		r.owner = nil
		s.forget(r)
	}
}

func (s *State) uncountStray(r *record) {
	if r.stray {
		r.stray = false
		s.strays--
	}
}

// forget drops a record of which nothing is left.
func (s *State) forget(r *record) {
	if r.workload != nil || len(r.pods) > 0 {
		return
	}
	if r.owner != nil {
		s.countStray(r)
		return
	}
	s.recharge(r)
	delete(s.records, r.id)
	delete(s.dirtyRecords, r.id)
	delete(s.ending, r.id)
}

func (s *State) observeOwner(id batch.WorkloadID, owner batch.Owner) {
	r := s.record(id)
	r.owner = &owner
	r.noteOwner()
	s.touch(r)
	s.forget(r)
}

// noteOwner trusts an owner that is seen released by a run.
func (r *record) noteOwner() {
	if r.workload != nil && r.workload.Allocation != nil && r.owner.Started && !r.owner.Suspended {
		r.trusted = true
	}
}

func (s *State) observeWorkload(seen batch.Workload) {
	r := s.record(seen.ID)
	s.uncountStray(r)
	newer := 1
	if r.workload != nil {
		newer = compareProgress(&seen, r.workload)
	}
	switch {
	case newer < 0:
		keepDecisions(&seen, r.workload)
	case newer == 0:
		keepAnswers(&seen, r.workload)
		if seen.Allocation != nil {
			r.before = nil
		}
	default:
		// Others decided, or it is our memory of before a restart.
		r.before, r.refused = nil, ""
		r.trusted = seen.Allocation != nil
	}
	r.noteRelimit(&seen)
	shape := batch.Shape(seen.PodSets)
	switch ours := r.workload; {
	case seen.Allocation != nil:
	case ours == nil:
		s.returned = append(s.returned, r)
	case r.edited(&seen, shape):
		s.revoke(r, &seen, ours.Promise, "")
	}
	if r.workload != nil {
		s.names.remove(r) // of an older record of ours, which may have been a member of nothing
	}
	r.shape = shape
	r.workload = &seen
	s.names.add(r)
	s.touch(r)
}

// noteRelimit notes that a walltime was edited while its workload runs, and keeps
// the deadline that followed from that where what was seen is older. Of a run that
// is not known yet the record itself says so: it was edited before our time.
func (r *record) noteRelimit(seen *batch.Workload) {
	ours := r.workload
	if ours == nil || ours.Allocation == nil || seen.Allocation == nil || seen.Restarts != ours.Restarts {
		r.relimited = nil
		return
	}
	seen.Relimited = ours.Relimited || seen.Walltime != ours.Walltime
	switch d := r.relimited; {
	case d == nil:
	case d.Equal(seen.Allocation.Deadline):
		r.relimited = nil
	default:
		a := *seen.Allocation
		a.Deadline = *d
		seen.Allocation = &a
	}
}

// revoke has a workload ranked anew: a person has edited it, or something else
// that is named, so that no promise of ours binds it.
func (s *State) revoke(r *record, w *batch.Workload, promise time.Time, by string) {
	if !promise.IsZero() {
		w.Revoked, w.RevokedBy = promise, by
	}
	w.Promise, w.LastVerdict, r.held = time.Time{}, nil, nil
	s.loose = true
}

// rerank has all that wait and are concerned by an edit of a queue or a local
// queue ranked anew.
func (s *State) rerank(by string, concerned func(*record) bool) {
	var waiting []*record
	s.waiting.Ascend(func(w *batch.Waiting) bool {
		r := s.records[w.Workload.ID]
		if r.workload != nil && r.workload.Allocation == nil && r.workload.Finished == nil && concerned(r) {
			waiting = append(waiting, r)
		}
		return true
	})
	for _, r := range waiting {
		own := *r.workload
		s.revoke(r, &own, own.Promise, by)
		r.workload = &own
		s.touch(r)
	}
}

// edited says whether what was asked for has changed in a way that changes its
// place in the plan.
func (r *record) edited(is *batch.Workload, shape string) bool {
	return batch.AskedBy(r.workload, r.shape) != batch.AskedBy(is, shape)
}

// compareProgress says which of two records of a workload is further on. The
// steps of a run are start, eviction and end; the next run has one restart more.
func compareProgress(a, b *batch.Workload) int {
	return cmp.Or(
		cmp.Compare(a.Restarts, b.Restarts),
		compareBool(a.Allocation != nil, b.Allocation != nil),
		compareBool(a.Eviction != nil, b.Eviction != nil),
		compareBool(stopped(a), stopped(b)),
		compareBool(a.Finished != nil, b.Finished != nil),
	)
}

func stopped(w *batch.Workload) bool { return w.Eviction != nil && !w.Eviction.Stopped.IsZero() }

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// keepDecisions keeps our decisions where what was seen is older than they.
func keepDecisions(seen, ours *batch.Workload) {
	seen.Restarts, seen.RequeueAfter = ours.Restarts, ours.RequeueAfter
	seen.Allocation, seen.Eviction, seen.Finished = ours.Allocation, ours.Eviction, ours.Finished
	seen.Promise, seen.LastVerdict, seen.Basis, seen.PodsReady = ours.Promise, ours.LastVerdict, ours.Basis, ours.PodsReady
	seen.HeldBy, seen.HeldSince, seen.TakenBack = ours.HeldBy, ours.HeldSince, ours.TakenBack
	seen.Nomination, seen.ReadySince, seen.Notice = ours.Nomination, ours.ReadySince, ours.Notice
	seen.CheckpointedAt = later(seen.CheckpointedAt, ours.CheckpointedAt)
	seen.Outcomes = ours.Outcomes
}

// keepAnswers keeps what we have said of a workload at the same stage: it may
// still be on its way to the API server, and nobody else says anything there.
func keepAnswers(seen, ours *batch.Workload) {
	seen.LastVerdict, seen.Promise, seen.Basis, seen.Outcomes = ours.LastVerdict, ours.Promise, ours.Basis, ours.Outcomes
	seen.Revoked, seen.RevokedBy = ours.Revoked, ours.RevokedBy
	seen.HeldBy, seen.HeldSince, seen.TakenBack = ours.HeldBy, ours.HeldSince, ours.TakenBack
	seen.Nomination, seen.Notice = ours.Nomination, ours.Notice
	seen.CheckpointedAt = later(seen.CheckpointedAt, ours.CheckpointedAt)
	if ours.PodsReady != nil {
		seen.PodsReady = ours.PodsReady
	}
	if !ours.ReadySince.IsZero() {
		seen.ReadySince = ours.ReadySince
	}
}

func (s *State) dropWorkload(e batch.WorkloadGone) {
	r, ok := s.records[e.ID]
	if !ok {
		return
	}
	s.uncountStray(r)
	if r.workload != nil {
		if !e.Released {
			s.names.bury(r)
		}
		s.names.remove(r)
		s.loose = s.loose || r.held != nil || r.workload.Nomination != nil
	}
	r.workload, r.owner, r.held, r.before = nil, nil, nil, nil
	r.trusted, r.refused = false, ""
	s.place(r)
	s.touch(r)
	s.forget(r)
}

func (s *State) refuseStart(e batch.StartRefused) {
	r, ok := s.records[e.ID]
	if !ok || r.workload == nil || r.workload.Allocation == nil || r.workload.Restarts != e.Run {
		return
	}
	r.refused = e.Text
	if r.refused == "" {
		r.refused = "the start was refused"
	}
	s.touch(r)
}

// place puts a record where it belongs: among the waiting, the started, or
// neither.
func (s *State) place(r *record) {
	w := r.workload
	runs := w != nil && w.Finished == nil && w.Allocation != nil
	waits := w != nil && w.Finished == nil && w.Allocation == nil
	if waits {
		s.wait(r)
	} else {
		s.removeWaiting(r)
	}
	if runs {
		s.started.ReplaceOrInsert(r)
		r.runs = true
	} else if r.runs {
		s.started.Delete(r)
		r.runs = false
	}
	if (runs || waits) && len(w.After) > 0 {
		s.dependent[r.id] = r
	} else {
		delete(s.dependent, r.id)
	}
}

// wait puts a record among the waiting, as it is now. Mostly it has its rank
// already.
func (s *State) wait(r *record) {
	is := batch.Waiting{Workload: r.workload, Owner: r.owner, Shape: r.shape, Held: r.held}
	if r.waiting != nil && *r.waiting == is {
		return
	}
	if r.waiting != nil && batch.CompareRank(r.waiting.Workload, r.workload) != 0 {
		s.removeWaiting(r)
	}
	r.waiting, s.waitingList = &is, nil
	s.waiting.ReplaceOrInsert(r.waiting)
}

func (s *State) removeWaiting(r *record) {
	if r.waiting != nil {
		s.waiting.Delete(r.waiting)
		r.waiting, s.waitingList = nil, nil
	}
}

func compareNames(a, b batch.NodeName) int { return strings.Compare(string(a), string(b)) }
