package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// Whole nodes are planned with a resource that no object has: every node has
// wholeNode of it, each managed pod takes one, and work that asks for whole
// nodes takes all of it wherever it goes. So such work goes only where no
// managed pod is, and no managed pod comes to it, at any time of its run.
// Unmanaged pods, such as those of DaemonSets, take none of it.
const (
	resourceWhole batch.ResourceName = "berth.dev/whole-node"
	wholeNode     batch.Amount       = 1 << 30
)

// seatWhole is the set of seats that keep a node whole; see timeline.Seat.
const seatWhole = -1

// wantsWhole says whether a workload takes whole nodes in a queue.
func wantsWhole(w *batch.Workload, q *batch.Queue) bool {
	return w.Exclusive == batch.ExclusiveWorkload || (q != nil && q.Exclusive == batch.ExclusiveWorkload)
}

// someWhole says whether anything that waits or runs takes whole nodes, or may.
func (p *pass) someWhole() bool {
	for _, q := range p.Queues { //order:any any of them
		if q.Exclusive == batch.ExclusiveWorkload {
			return true
		}
	}
	waiting := p.waiting
	if left, ok := p.Carried.Value().(*carry); ok && left.whole < 0 {
		waiting = p.strangers // none of the others did then
	}
	for _, w := range waiting {
		if w.Workload.Exclusive == batch.ExclusiveWorkload {
			return true
		}
	}
	for _, s := range p.Started {
		if s.Workload.Exclusive == batch.ExclusiveWorkload {
			return true
		}
	}
	return false
}

// planWhole prepares for whole nodes, if there is anything that takes them.
func (f *fleet) planWhole(p *pass) {
	f.whole = f.catalog.Index(resourceWhole)
	if f.whole < 0 {
		return
	}
	for _, v := range f.capacity {
		v[f.whole] = wholeNode
	}
	f.keeping = map[batch.WorkloadID]bool{}
	for _, s := range p.Started {
		if wantsWhole(s.Workload, p.Queues[s.Workload.Allocation.Queue]) {
			f.keeping[s.Workload.ID] = true
		}
	}
}

// chargeWhole adds what a charge takes of its node's wholeness.
func (f *fleet) chargeWhole(v batch.Vector, by batch.WorkloadID) {
	switch {
	case f.whole < 0 || by == "":
	case f.keeping[by]:
		v[f.whole] = wholeNode
	default:
		v[f.whole] = 1
	}
}

// setWhole makes a set ask for whole nodes, or for a share of nodes that nobody
// has for himself.
func (f *fleet) setWhole(set *timeline.Set, whole bool) {
	switch {
	case f.whole < 0:
	case whole:
		set.Spare = f.wholeVector()
	default:
		set.Each[f.whole] = 1
	}
}

func (f *fleet) wholeVector() batch.Vector {
	v := make(batch.Vector, f.catalog.Len())
	v[f.whole] = wholeNode
	return v
}

// keep adds to a place the seats that keep its nodes whole, if its sets ask for
// that.
func keepWhole(sets []timeline.Set, place timeline.Place) timeline.Place {
	if len(sets) == 0 || sets[0].Spare == nil {
		return place
	}
	seen := map[int]bool{}
	for _, seat := range place.Seats {
		if !seen[seat.Node] {
			seen[seat.Node] = true
			place.Seats = append(place.Seats, timeline.Seat{Set: seatWhole, Node: seat.Node, Pods: 1, Each: sets[0].Spare})
		}
	}
	return place
}

// seatsAlone is a place without the seats that keep its nodes whole.
func seatsAlone(place timeline.Place) timeline.Place {
	if slices.ContainsFunc(place.Seats, isWhole) {
		place.Seats = slices.DeleteFunc(slices.Clone(place.Seats), isWhole)
	}
	return place
}

func isWhole(s timeline.Seat) bool { return s.Set == seatWhole }
