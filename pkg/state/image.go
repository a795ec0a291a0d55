package state

import (
	"maps"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// Image is a working set as plain data: all that Snapshot and later events
// depend on. A journal's segment begins with one, so that it can be replayed
// by itself. What it points to is frozen.
type Image struct {
	Policy      batch.Policy
	Queues      []batch.Queue
	Cohorts     []batch.Cohort  `json:",omitempty"`
	Accounts    []batch.Account `json:",omitempty"`
	LocalQueues []batch.LocalQueue
	Flavors     []batch.Flavor
	Topologies  []batch.Topology `json:",omitempty"`
	Namespaces  []NamespaceImage
	Nodes       []batch.Node
	GoneNodes   []batch.NodeName `json:",omitempty"` // deleted, with work on them
	LostNodes   []batch.NodeName `json:",omitempty"` // those that the last plan knew to be lost
	Pods        []PodImage
	Records     []RecordImage
	Held        []batch.WorkloadID // those with a placement of a planned start
	Gone        []GoneImage        // fates of those that are gone, oldest first
	Settled     bool               `json:",omitempty"` // nothing has become free since the last plan
}

// NamespaceImage is a namespace in an Image.
type NamespaceImage struct {
	Name   string
	Labels batch.Labels
}

// PodImage is a pod in an Image.
type PodImage struct {
	Pod   batch.Pod
	Ghost bool `json:",omitempty"`
}

// RecordImage is what is known of a workload in an Image.
type RecordImage struct {
	ID       batch.WorkloadID
	Workload *batch.Workload   `json:",omitempty"`
	Owner    *batch.Owner      `json:",omitempty"`
	Before   *batch.Workload   `json:",omitempty"`
	Held     *batch.Allocation `json:",omitempty"`
	Trusted  bool              `json:",omitempty"`
	Refused  string            `json:",omitempty"`
	Stray    bool              `json:",omitempty"`
	// Relimited is a deadline that the API server does not say yet.
	Relimited *time.Time `json:",omitempty"`
}

// GoneImage is what became of a workload whose record was deleted.
type GoneImage struct {
	Name batch.DependencyName
	Fate batch.Fate
	Late *batch.Workload `json:",omitempty"` // what stays of it while its pods end
}

// Image returns the working set as it is now.
func (s *State) Image() Image {
	out := Image{
		Policy:      s.policy,
		Queues:      rowsOf(s.queues.rows),
		Cohorts:     rowsOf(s.cohorts.rows),
		Accounts:    rowsOf(s.accounts.rows),
		LocalQueues: rowsOf(s.localQueues.rows),
		Flavors:     rowsOf(s.flavors.rows),
		Topologies:  rowsOf(s.topologies.rows),
		Held:        idsOf(s.held),
		Settled:     !s.loose,
	}
	for _, name := range slices.Sorted(maps.Keys(s.namespaces.rows)) {
		out.Namespaces = append(out.Namespaces, NamespaceImage{Name: name, Labels: *s.namespaces.rows[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[name]
		if n.lost {
			out.LostNodes = append(out.LostNodes, name)
		}
		if n.node != nil {
			out.Nodes = append(out.Nodes, *n.node)
		} else if n.gone {
			out.GoneNodes = append(out.GoneNodes, name)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
		out.Pods = append(out.Pods, PodImage{Pod: s.pods[uid].Pod, Ghost: s.pods[uid].ghost})
	}
	for _, id := range slices.Sorted(maps.Keys(s.records)) {
		r := s.records[id]
		if r.workload == nil && r.owner == nil {
			continue // its pods bring it back
		}
		out.Records = append(out.Records, RecordImage{
			ID: id, Workload: r.workload, Owner: r.owner, Before: r.before, Held: r.held,
			Trusted: r.trusted, Refused: r.refused, Stray: r.stray, Relimited: r.relimited,
		})
	}
	for _, g := range s.names.order[s.names.first:] {
		if is := s.names.gone[g.name][g.index]; is.number == g.number {
			out.Gone = append(out.Gone, GoneImage{Name: g.name, Fate: is.Fate, Late: s.names.late[is.ID]})
		}
	}
	return out
}

func idsOf(records []*record) (ids []batch.WorkloadID) {
	for _, r := range records {
		ids = append(ids, r.id)
	}
	return ids
}

func rowsOf[K ~string, V any](rows map[K]*V) []V {
	var out []V
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, *rows[key])
	}
	return out
}

// Restore returns the working set of an image.
func Restore(image Image) *State {
	s := New()
	s.policy = image.Policy
	s.restoreTables(&image)
	for _, n := range image.Nodes {
		s.observeNode(n)
	}
	for _, is := range image.Records {
		s.restoreRecord(is)
	}
	for _, is := range image.Pods {
		s.restorePod(is)
	}
	for _, name := range image.GoneNodes {
		n := s.node(name)
		n.gone = true
		s.noteAbsence(n)
	}
	for _, id := range image.Held {
		if r, ok := s.records[id]; ok {
			s.held = append(s.held, r)
		}
	}
	for _, name := range image.LostNodes {
		s.setLost(s.node(name), true)
	}
	for _, is := range image.Gone {
		s.names.remember(is.Name, is.Fate)
		if is.Late != nil {
			s.names.late[is.Fate.ID] = is.Late
		}
	}
	s.settle()
	s.loose = !image.Settled
	return s
}

// restoreTables restores what is configured rather than scheduled.
func (s *State) restoreTables(image *Image) {
	for _, q := range image.Queues {
		s.queues.set(q.Name, q)
	}
	for _, c := range image.Cohorts {
		s.cohorts.set(c.Name, c)
	}
	for _, a := range image.Accounts {
		s.accounts.set(a.Name, a)
	}
	for _, q := range image.LocalQueues {
		s.localQueues.set(q.Name, q)
	}
	for _, f := range image.Flavors {
		s.flavors.set(f.Name, f)
	}
	for _, t := range image.Topologies {
		s.topologies.set(t.Name, t)
	}
	for _, n := range image.Namespaces {
		s.namespaces.set(n.Name, n.Labels)
	}
}

func (s *State) restoreRecord(is RecordImage) {
	r := s.record(is.ID)
	r.workload, r.owner, r.before, r.held = is.Workload, is.Owner, is.Before, is.Held
	r.trusted, r.refused, r.stray, r.relimited = is.Trusted, is.Refused, is.Stray, is.Relimited
	if r.workload != nil {
		r.shape = batch.Shape(r.workload.PodSets)
		s.names.add(r)
	}
	if r.stray {
		s.strays++
	}
	s.touch(r)
}

func (s *State) restorePod(is PodImage) {
	p := &pod{Pod: is.Pod, ghost: is.Ghost}
	s.pods[p.UID] = p
	if p.ghost {
		s.ghosts[p.UID] = p
	}
	if p.Workload == "" {
		s.chargeUnmanaged(p)
		return
	}
	r := s.record(p.Workload)
	r.pods[p.UID] = p
	s.touch(r)
}
