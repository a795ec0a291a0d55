package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
)

// A node that is not ready says nothing: what runs there goes on, its end is
// seen when the node is back, and a pod that is told to end stays until then.
// The pods of a node that is deleted are gone as soon as they are told to end.

// setReady changes whether a node is ready.
func (w *world) setReady(n *node, ready bool) {
	switch {
	case ready == n.Ready:
		return
	case ready:
		n.Ready, n.NotReadySince = true, time.Time{}
	default:
		n.Ready, n.NotReadySince = false, w.time()
	}
	w.step(batch.NodeObserved{Node: n.seen()})
	if !ready {
		return
	}
	w.clear(n)
	jobs := slices.SortedFunc(maps.Keys(n.jobs), func(a, b *job) int { return cmp.Compare(a.workload.ID, b.workload.ID) })
	for _, j := range jobs {
		if j.late != "" && j.runs() {
			w.mayEnd(j, j.late)
		}
	}
}

// mayEnd lets a run end, or puts its end off until all its nodes can tell. Its
// deadline is kept all the same: the owner sees to that, not the nodes.
func (w *world) mayEnd(j *job, state batch.EndState) {
	if state != batch.Timeout && w.silentSince(j) >= 0 {
		if j.late == "" {
			w.limitLate(j)
		}
		j.late = state
		return
	}
	w.end(j, state)
}

// limitLate ends a run at its limit of which no node has told the end until then.
func (w *world) limitLate(j *job) {
	limit := w.limitOf(j.workload.Allocation)
	if limit == scenario.Never {
		return
	}
	run, relimit := j.starts, j.relimit
	w.agenda.add(max(j.started+limit, w.now), causeEnd, func() {
		if j.starts == run && j.relimit == relimit && j.runs() {
			w.end(j, batch.Timeout)
		}
	})
}

// silentSince is since when one of the nodes of a job is not ready; below zero:
// all are.
func (w *world) silentSince(j *job) time.Duration {
	since := time.Duration(-1)
	for i := range j.pods {
		if n := w.nodes[j.pods[i].Node]; n != nil && !n.Ready {
			if at := w.offset(n.NotReadySince); since < 0 || at < since {
				since = at
			}
		}
	}
	return since
}

// lastSign is until when a job has made progress: with one of its nodes the
// whole of it stops.
func (w *world) lastSign(j *job) time.Duration {
	if since := w.silentSince(j); since >= 0 {
		return max(since, j.started)
	}
	return w.now
}

// strand leaves a pod that is told to end where it is, if its node can't end it.
// It says whether that is so.
func (w *world) strand(pod *batch.Pod) bool {
	n := w.nodes[pod.Node]
	if n == nil || n.Ready {
		return false
	}
	wreck := *pod
	wreck.GoneBy = w.time()
	n.wrecks = append(n.wrecks, wreck)
	w.count(n, &wreck, 1)
	w.step(batch.PodObserved{Pod: wreck})
	return true
}

// clear ends what was left on a node.
func (w *world) clear(n *node) {
	for i := range n.wrecks {
		w.count(n, &n.wrecks[i], -1)
		w.step(batch.PodGone{UID: n.wrecks[i].UID})
	}
	n.wrecks = nil
}

func (w *world) count(n *node, pod *batch.Pod, by int) {
	n.pods += by
	for name, amount := range pod.Requests { //order:any sums
		n.used[name] += amount * batch.Amount(by)
	}
}

// findWrecks tells a controller that has just begun of what is left on nodes.
func (w *world) findWrecks() {
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		for _, pod := range w.nodes[name].wrecks {
			w.step(batch.PodObserved{Pod: pod})
		}
	}
}

// missNodes tells a controller that has just begun of nodes that were deleted
// under running work.
func (w *world) missNodes(ids []batch.WorkloadID) {
	missing := map[batch.NodeName]bool{}
	for _, id := range ids {
		for _, pod := range w.jobs[id].pods {
			if w.nodes[pod.Node] == nil {
				missing[pod.Node] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		w.step(batch.NodeGone{Name: name})
	}
}
