package state

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// fatesMax bounds how many workloads that are gone are remembered for those
// that depend on them. The oldest are forgotten first.
const fatesMax = 10_000

// names finds workloads by the name that a person typed: of a workload, or of
// the array that it is a member of.
type names struct {
	records map[batch.DependencyName]map[batch.WorkloadID]*record
	// gone are the fates of workloads whose record was deleted: by name, and by
	// index in an array.
	gone map[batch.DependencyName]map[int]goneFate
	// late is what stays of them while their pods end, by ID: what singleton
	// compares.
	late map[batch.WorkloadID]*batch.Workload
	// order is in which gone were added; those before first are forgotten.
	order         []goneName
	first, number int
}

type goneName struct {
	name          batch.DependencyName
	index, number int
}

type goneFate struct {
	batch.Fate
	number int // of its burial
}

func newNames() names {
	return names{
		records: map[batch.DependencyName]map[batch.WorkloadID]*record{},
		gone:    map[batch.DependencyName]map[int]goneFate{},
		late:    map[batch.WorkloadID]*batch.Workload{},
	}
}

// namesOf are the names by which others may depend on a workload.
func namesOf(w *batch.Workload) []batch.DependencyName {
	all := []batch.DependencyName{{Namespace: w.Namespace, Name: w.Name}}
	if w.Array != nil && w.Array.Name != w.Name {
		all = append(all, batch.DependencyName{Namespace: w.Namespace, Name: w.Array.Name})
	}
	return all
}

func (n *names) add(r *record) {
	for _, name := range namesOf(r.workload) {
		if n.records[name] == nil {
			n.records[name] = map[batch.WorkloadID]*record{}
		}
		n.records[name][r.id] = r
	}
}

func (n *names) remove(r *record) {
	for _, name := range namesOf(r.workload) {
		delete(n.records[name], r.id)
		if len(n.records[name]) == 0 {
			delete(n.records, name)
		}
	}
}

// bury remembers what became of a workload whose record is deleted. One that
// had not ended counts as cancelled.
func (n *names) bury(r *record) {
	for _, name := range namesOf(r.workload) {
		fate := r.fate(name)
		fate.Gone = true
		if fate.End == "" {
			fate.End = batch.Cancelled
		}
		n.remember(name, fate)
	}
	n.late[r.id] = nameplate(r.workload)
	for len(n.order)-n.first > fatesMax {
		n.forget(n.order[n.first])
		n.first++
	}
	if n.first > fatesMax {
		n.order, n.first = slices.Clone(n.order[n.first:]), 0
	}
}

func (n *names) remember(name batch.DependencyName, fate batch.Fate) {
	if n.gone[name] == nil {
		n.gone[name] = map[int]goneFate{}
	}
	n.number++
	n.gone[name][fate.Index] = goneFate{Fate: fate, number: n.number}
	n.order = append(n.order, goneName{name: name, index: fate.Index, number: n.number})
}

func (n *names) forget(g goneName) {
	if is := n.gone[g.name][g.index]; is.number == g.number {
		delete(n.late, is.ID)
		delete(n.gone[g.name], g.index)
	}
	if len(n.gone[g.name]) == 0 {
		delete(n.gone, g.name)
	}
}

// fates are what is known of a name. Of several workloads of one name, and one
// index, the one that was queued last is meant, and one that is there before
// one that is gone. A member of an array that was evicted is made anew, and
// queued at the same time: the one that goes on is meant.
func (n *names) fates(name batch.DependencyName) []batch.Fate {
	byIndex := map[int]batch.Fate{}
	latest := map[int]*batch.Workload{}
	for index, fate := range n.gone[name] { //order:any each by its index
		byIndex[index] = fate.Fate
	}
	for _, r := range n.records[name] { //order:any the latest by a total order
		fate := r.fate(name)
		if other := latest[fate.Index]; other == nil || older(other, r.workload) {
			byIndex[fate.Index], latest[fate.Index] = fate, r.workload
		}
	}
	all := make([]batch.Fate, 0, len(byIndex))
	for _, fate := range byIndex { //order:any sorted below
		all = append(all, fate)
	}
	slices.SortFunc(all, func(a, b batch.Fate) int { return cmp.Compare(a.Index, b.Index) })
	return all
}

func older(a, b *batch.Workload) bool {
	return cmp.Or(a.QueuedAt.Compare(b.QueuedAt), compareBool(a.Finished == nil, b.Finished == nil), cmp.Compare(a.UID, b.UID), cmp.Compare(a.ID, b.ID)) < 0
}

// fate is how far a workload has come, for those that depend on it by a name.
func (r *record) fate(name batch.DependencyName) batch.Fate {
	w := r.workload
	fate := batch.Fate{ID: r.id, Started: w.Allocation != nil || w.Restarts > 0}
	if w.Array != nil && w.Name != name.Name {
		fate.Index, fate.Members = w.Array.Index, w.Array.Count
	}
	switch {
	case w.Finished != nil:
		fate.End = w.Finished.State
	case r.owner != nil && r.owner.End != nil:
		fate.End = r.owner.End.State
	}
	return fate
}

// markLiving says of which workloads pods are still ending: what comes after
// them may not begin beside them.
func (s *State) markLiving(fates []batch.Fate) {
	for i := range fates {
		if r, known := s.ending[fates[i].ID]; known {
			fates[i].Living = s.living(r)
		}
	}
}

// living says whether a pod of the workload is on a node and not terminal. One
// on a node that is lost is not waited for: nobody knows whether it ever ends.
func (s *State) living(r *record) bool {
	for _, p := range r.pods { //order:any one is enough
		if !p.ghost && p.live() && !s.lost(p.Node) {
			return true
		}
	}
	return false
}

// over says whether a workload has ended or was deleted.
func (r *record) over() bool {
	return r.workload == nil || r.workload.Finished != nil || r.owner != nil && r.owner.End != nil
}

// stillEnding are those that are over but for their pods.
func (s *State) stillEnding() map[batch.WorkloadID]*batch.Workload {
	if len(s.ending) == 0 {
		return nil
	}
	all := make(map[batch.WorkloadID]*batch.Workload, len(s.ending))
	for id, r := range s.ending { //order:any into a map
		all[id] = s.names.late[id]
		if r.workload != nil {
			all[id] = nameplate(r.workload)
		}
	}
	return all
}

// nameplate is what tells who a workload was, and what singleton compares.
func nameplate(w *batch.Workload) *batch.Workload {
	return &batch.Workload{
		ID: w.ID, UID: w.UID, Namespace: w.Namespace, Name: w.Name,
		Submitter: w.Submitter, QueuedAt: w.QueuedAt, JobName: w.JobName, Array: w.Array,
	}
}

// fatesOfAll are the fates of all that waiting work depends on, and work that
// runs: it may be taken back and wait again.
func (s *State) fatesOfAll() map[batch.DependencyName][]batch.Fate {
	if len(s.dependent) == 0 {
		return nil
	}
	fates := map[batch.DependencyName][]batch.Fate{}
	for _, r := range s.dependent { //order:any each name by itself
		for _, d := range r.workload.After {
			name := batch.DependencyName{Namespace: r.workload.Namespace, Name: d.Name}
			if _, known := fates[name]; !known && d.Name != "" {
				fates[name] = s.names.fates(name)
				s.markLiving(fates[name])
			}
		}
	}
	if len(fates) == 0 {
		return nil
	}
	return fates
}
