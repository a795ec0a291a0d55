package whatif

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// ObstacleKind is what an obstacle is.
type ObstacleKind string

// The kinds of obstacle.
const (
	Runs      ObstacleKind = "Runs"      // it runs, until its deadline at the latest
	Overdue   ObstacleKind = "Overdue"   // it should have ended
	Planned   ObstacleKind = "Planned"   // it does not run yet; it is planned before
	Nominated ObstacleKind = "Nominated" // it does not run yet; others give way to it
	GivesWay  ObstacleKind = "GivesWay"  // it is being taken back
	Leaves    ObstacleKind = "Leaves"    // its run is over, and its pods are not gone yet
	Removed   ObstacleKind = "Removed"   // a pod that was removed by force; its node may not have ended it yet
)

// Obstacle is something that must end first.
type Obstacle struct {
	Kind  ObstacleKind
	Name  string    // of a workload's owner, or of a pod that belongs to none
	Pods  int       // how many of its pods are meant; 0: all of it
	From  time.Time // of what does not run yet: its start
	Until time.Time // zero: nobody knows
}

// obstacles are those on some nodes that end before a start. Of what is planned
// or nominated there, only what comes before counts.
type obstacles struct {
	w     *World
	mine  batch.WorkloadID
	start time.Time
	on    map[batch.NodeName]bool
	found map[Obstacle]int // pods
}

// before lists what stands in the way of an allocation.
func (w *World) before(plan batch.Plan, place *batch.Allocation, id batch.WorkloadID) []Obstacle {
	o := obstacles{w: w, mine: id, start: place.Start, on: map[batch.NodeName]bool{}, found: map[Obstacle]int{}}
	for _, name := range Nodes(place) {
		o.on[name] = true
	}
	snapshot := w.core.Snapshot()
	o.sitting(snapshot)
	for i := range plan.Holds {
		o.coming(Planned, plan.Holds[i].ID, plan.Holds[i].Allocation)
	}
	for _, waiting := range snapshot.Waiting {
		if n := waiting.Workload.Nomination; n != nil {
			o.coming(Nominated, waiting.Workload.ID, &n.Allocation)
		}
	}
	return o.sorted()
}

// sitting adds what takes something of the nodes now.
func (o *obstacles) sitting(snapshot batch.Snapshot) {
	for _, view := range snapshot.Nodes {
		if !o.on[view.Node.Name] {
			continue
		}
		for i := range view.Charges {
			c := &view.Charges[i]
			if end := c.End(o.w.now); c.By != o.mine && !end.IsZero() && !end.After(o.start) {
				o.add(o.w.charged(c))
			}
		}
	}
}

// coming adds what will start on the nodes and end before.
func (o *obstacles) coming(kind ObstacleKind, id batch.WorkloadID, a *batch.Allocation) {
	if id == o.mine || a.Deadline.IsZero() || a.Deadline.After(o.start) || !shares(a, o.on) {
		return
	}
	o.add(Obstacle{Kind: kind, Name: o.w.nameOf(id), From: a.Start, Until: a.Deadline}, 0)
}

func (o *obstacles) add(is Obstacle, pods int) { o.found[is] += pods }

func (o *obstacles) sorted() []Obstacle { return sorted(o.found) }

// sorted are obstacles by time, with their numbers of pods.
func sorted(found map[Obstacle]int) []Obstacle {
	out := make([]Obstacle, 0, len(found))
	for o, pods := range found { //order:any sorted below
		o.Pods = pods
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Obstacle) int {
		return cmp.Or(a.Until.Compare(b.Until), batch.CompareNames(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// charged is what a charge is to those that wait for it. Pods that count one by
// one are told of together.
func (w *World) charged(c *batch.Charge) (is Obstacle, pods int) {
	is = Obstacle{Kind: Runs, Name: c.Name, Until: c.End(w.now)}
	workload, known := w.core.Workload(c.By)
	if c.Overdue(w.now) {
		is.Kind, is.Until = Overdue, c.Until
	}
	switch {
	case c.Exact:
		is.Kind = Removed
	case c.By != "" && (!known || workload.Allocation == nil || workload.Finished != nil):
		is.Kind = Leaves
	case known && workload.Eviction != nil:
		is.Kind = GivesWay
	}
	if is.Until.Equal(batch.AnyMoment()) {
		is.Until = time.Time{}
	}
	if known && c.Name != w.nameOf(c.By) {
		is.Name, pods = w.nameOf(c.By), 1
	}
	return is, pods
}

// victims are those that give way to a nomination, and what is left of others
// in its place.
func (w *World) victims(plan batch.Plan, n *batch.Nomination, id batch.WorkloadID) []Obstacle {
	found := map[Obstacle]int{}
	told := map[string]bool{}
	for _, victim := range n.Victims {
		workload, known := w.core.Workload(victim)
		until, gives := w.evictedUntil(plan, &workload)
		if !known || !gives {
			continue // it is gone
		}
		name := w.nameOf(victim)
		found[Obstacle{Kind: GivesWay, Name: name, Until: until}], told[name] = 0, true
	}
	for _, o := range w.before(plan, &n.Allocation, id) {
		if pods := o.Pods; !told[o.Name] && o.Kind != Runs {
			o.Pods = 0
			found[o] = pods
		}
	}
	return sorted(found)
}

// evictedUntil is the end of the grace of work that gives way, or will by a
// plan; false: it does not.
func (w *World) evictedUntil(plan batch.Plan, workload *batch.Workload) (time.Time, bool) {
	for i := range plan.Evict {
		if plan.Evict[i].ID == workload.ID {
			return plan.Evict[i].Eviction.Until, true
		}
	}
	if workload.Allocation == nil || workload.Finished != nil || workload.Eviction == nil {
		return time.Time{}, false
	}
	return workload.Eviction.Until, true
}

func shares(a *batch.Allocation, on map[batch.NodeName]bool) bool {
	return slices.ContainsFunc(Nodes(a), func(name batch.NodeName) bool { return on[name] })
}

// endless are those of whom nobody knows when they end.
func (w *World) endless() []Obstacle {
	found := map[Obstacle]int{}
	for _, view := range w.core.Snapshot().Nodes {
		for i := range view.Charges {
			if c := &view.Charges[i]; c.By != "" && c.End(w.now).IsZero() {
				is, pods := w.charged(c)
				found[is] += pods
			}
		}
	}
	for _, waiting := range w.core.Snapshot().Waiting {
		if n := waiting.Workload.Nomination; n != nil && n.Allocation.Deadline.IsZero() {
			found[Obstacle{Kind: Nominated, Name: w.nameOf(waiting.Workload.ID), From: n.Allocation.Start}] = 0
		}
	}
	return sorted(found)
}

func (w *World) nameOf(id batch.WorkloadID) string {
	if workload, ok := w.core.Workload(id); ok {
		return workload.Namespace + "/" + workload.Name
	}
	return string(id)
}
