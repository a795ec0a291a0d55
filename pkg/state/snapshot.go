package state

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// Snapshot returns the working set as it is now. What it holds is frozen.
func (s *State) Snapshot() batch.Snapshot {
	s.recheck()
	s.settle()
	snapshot := batch.Snapshot{
		Policy:      s.policy,
		Nodes:       s.refreshViews(),
		Queues:      s.queues.frozen(),
		Cohorts:     s.cohorts.frozen(),
		Accounts:    s.accounts.frozen(),
		LocalQueues: s.localQueues.frozen(),
		Flavors:     s.flavors.frozen(),
		Topologies:  s.topologies.frozen(),
		Namespaces:  s.namespaces.frozen(),
		Carried:     s.carried,
		Waiting:     s.waitingNow(),
		Started:     s.startedNow(),
		Fates:       s.fatesOfAll(),
		Settled:     !s.loose,
	}
	if s.hasQuotas() {
		snapshot.Uses = s.uses()
	} else {
		s.forgetUses()
	}
	snapshot.Ending = s.stillEnding()
	return snapshot
}

// waitingNow are all that wait, by rank; as long as they are the same, the same
// list.
func (s *State) waitingNow() []*batch.Waiting {
	if s.waitingList == nil {
		s.waitingList = make([]*batch.Waiting, 0, s.waiting.Len())
		s.waiting.Ascend(func(w *batch.Waiting) bool {
			s.waitingList = append(s.waitingList, w)
			return true
		})
	}
	return slices.Clip(s.waitingList)
}

// startedNow are all that hold an allocation, by ID.
func (s *State) startedNow() []*batch.Started {
	list := make([]*batch.Started, 0, s.started.Len())
	s.started.Ascend(func(r *record) bool {
		if r.started == nil {
			r.started = s.asStarted(r)
		}
		list = append(list, r.started)
		return true
	})
	return list
}

// settle works out what has changed since it was last called.
func (s *State) settle() {
	for _, r := range s.dirtyRecords { //order:any each record by itself
		r.started = nil
		s.place(r)
		s.recharge(r)
		if r.over() && s.living(r) {
			s.ending[r.id] = r
		} else {
			delete(s.ending, r.id)
		}
	}
	clear(s.dirtyRecords)
}

func (s *State) asStarted(r *record) *batch.Started {
	st := &batch.Started{
		Workload: r.workload, Owner: r.owner, Released: r.released(), Refused: r.refused,
		Suspended: r.suspended(), Lost: s.lostUnder(r),
	}
	var held *pod
	saved, acknowledged := r.workload.CheckpointedAt, 0
	for _, p := range r.pods { //order:any counts, and the first by name
		r.noteDisruption(st, p)
		switch {
		case p.ghost:
			st.Gone = later(st.Gone, p.GoneBy)
			continue
		case s.leftBehind(r, p):
			continue
		case p.live():
			st.Live++
			acknowledged += r.ends(st, p)
		}
		saved = later(saved, p.CheckpointedAt)
		if p.Held != "" && (held == nil || p.Name < held.Name) {
			held = p
		}
		switch p.Phase {
		case batch.PodReady:
			st.Ready++
		case batch.PodSucceeded:
			st.Succeeded++
		case batch.PodWaiting, batch.PodBound, batch.PodFailed:
		}
	}
	if !saved.Equal(r.workload.CheckpointedAt) {
		w := *r.workload
		w.CheckpointedAt = saved
		st.Workload = &w
	}
	st.Acknowledged = acknowledged > 0 && acknowledged == st.Live
	if held != nil {
		st.HeldBy = "pod " + held.Name + ": " + held.Held
	}
	return st
}

// noteDisruption notes a pod of this run that somebody else has ended.
func (r *record) noteDisruption(st *batch.Started, p *pod) {
	if p.Disrupted == "" || p.Run == 0 || r.outlived(p) || st.Disrupted != nil && st.Disrupted.Pod <= p.Name {
		return
	}
	st.Disrupted = &batch.Disruption{Pod: p.Name, Node: p.Node, Reason: p.Disrupted}
}

// ends notes a live pod of a run that is being taken back. It is 1 if the pod
// has acknowledged the notice, else 0.
func (r *record) ends(st *batch.Started, p *pod) (acknowledged int) {
	e := r.workload.Eviction
	if e == nil {
		return 0
	}
	if st.Ending == "" || p.Name < st.Ending {
		st.Ending = p.Name
	}
	if p.CheckpointedAt.Before(e.Time) {
		return 0
	}
	return 1
}

// Summaries returns what each queue holds and what waits for it.
func (s *State) Summaries() map[batch.QueueName]batch.QueueSummary {
	s.settle()
	sums := map[batch.QueueName]batch.QueueSummary{}
	for name := range s.queues.rows { //order:any each queue by itself
		sums[name] = batch.QueueSummary{}
	}
	s.addLingering(sums)
	for _, r := range s.records { //order:any sums
		s.addUses(sums, r)
		if r.workload == nil {
			s.summarizePods(sums, r)
			continue
		}
		s.summarize(sums, r)
	}
	return sums
}

// addLingering adds the pods that were removed by force, by queue.
func (s *State) addLingering(sums map[batch.QueueName]batch.QueueSummary) {
	for _, p := range s.ghosts { //order:any sorted below
		if q, known := sums[p.Queue]; known && p.Workload != "" {
			q.Lingering = append(q.Lingering, p.Pod)
			sums[p.Queue] = q
		}
	}
	for _, q := range sums { //order:any each queue by itself
		slices.SortFunc(q.Lingering, func(a, b batch.Pod) int {
			return cmp.Or(a.GoneBy.Compare(b.GoneBy), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
		})
	}
}

func (s *State) summarize(sums map[batch.QueueName]batch.QueueSummary, r *record) {
	w := r.workload
	if w.Allocation == nil {
		if w.Finished != nil {
			return
		}
		local, ok := s.localQueues.rows[w.LocalQueue]
		if !ok || len(local.Queues) == 0 {
			return
		}
		for i, name := range local.Queues {
			q := sums[name]
			q.Pending++
			if r.held != nil && r.held.Queue == name || r.held == nil && i == 0 {
				q.PlannedNext = batch.Sooner(q.PlannedNext, w.Promise)
			}
			sums[name] = q
		}
		return
	}
	if w.Finished != nil && !s.takesAny(r) {
		return
	}
	q := sums[w.Allocation.Queue]
	q.Running++
	sums[w.Allocation.Queue] = q
}

// summarizePods counts a workload that is gone where its pods still run: a Job
// that was deleted is charged until its last pod has ended.
func (s *State) summarizePods(sums map[batch.QueueName]batch.QueueSummary, r *record) {
	counted := map[batch.QueueName]bool{}
	for _, p := range r.livePods() {
		if p.Queue == "" || counted[p.Queue] || s.lost(p.Node) {
			continue
		}
		counted[p.Queue] = true
		q := sums[p.Queue]
		q.Running++
		sums[p.Queue] = q
	}
}

// addUses adds what a record takes of its queue, as quotas count it.
func (s *State) addUses(sums map[batch.QueueName]batch.QueueSummary, r *record) {
	for _, u := range s.quotaUses(r) {
		q := sums[u.Queue]
		if q.Used == nil {
			q.Used = map[batch.FlavorName]batch.Resources{}
		}
		q.Used[u.Flavor] = q.Used[u.Flavor].Plus(u.Requests)
		sums[u.Queue] = q
	}
}
