package state_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/state"
)

var zero = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

const (
	nodeCount     = 3
	workloadCount = 4
	podCount      = 8
)

func drawTime(t *rapid.T, label string) time.Time {
	return zero.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, label)) * time.Minute)
}

func drawNode(t *rapid.T) batch.NodeName {
	return batch.NodeName(fmt.Sprintf("n%d", rapid.IntRange(0, nodeCount-1).Draw(t, "node")))
}

func drawResources(t *rapid.T) batch.Resources {
	return batch.Resources{
		batch.ResourceGPU: batch.Amount(rapid.IntRange(1, 2).Draw(t, "gpu")), batch.ResourcePods: 1,
	}
}

func drawID(t *rapid.T) batch.WorkloadID {
	return batch.WorkloadID(fmt.Sprintf("ns/w%d", rapid.IntRange(0, workloadCount-1).Draw(t, "workload")))
}

func drawWorkload(t *rapid.T) batch.Workload {
	id := drawID(t)
	w := batch.Workload{
		ID: id, UID: string(id), Namespace: "ns", Name: string(id[3:]), LocalQueue: "ns/main",
		QueuedAt: drawTime(t, "queued"), Priority: int32(rapid.IntRange(0, 2).Draw(t, "priority")),
	}
	allocation := &batch.Allocation{Queue: "main", Start: zero, Deadline: drawTime(t, "deadline")}
	for i := range rapid.IntRange(1, 2).Draw(t, "sets") {
		set := batch.PodSet{Name: fmt.Sprintf("s%d", i), Count: rapid.IntRange(1, 3).Draw(t, "count"), Requests: drawResources(t)}
		w.PodSets = append(w.PodSets, set)
		placement := batch.Placement{PodSet: set.Name}
		for range set.Count {
			placement.Hosts = append(placement.Hosts, drawNode(t))
		}
		allocation.PodSets = append(allocation.PodSets, placement)
	}
	w.Restarts = rapid.IntRange(0, 1).Draw(t, "restarts")
	if rapid.IntRange(0, 3).Draw(t, "started") > 0 {
		w.Allocation = allocation
		if rapid.IntRange(0, 3).Draw(t, "evicted") == 0 {
			w.Eviction = batch.EvictedAtOnce(batch.Notice{Cause: batch.CauseSuspended, Time: zero})
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "finished") == 0 {
		w.Finished = &batch.End{State: batch.Completed, Time: zero}
	}
	return w
}

func drawPod(t *rapid.T) batch.Pod {
	n := rapid.IntRange(0, podCount-1).Draw(t, "pod")
	p := batch.Pod{
		UID: batch.PodUID(fmt.Sprintf("p%d", n)), Name: fmt.Sprintf("ns/p%d", n), Requests: drawResources(t),
		Phase: rapid.SampledFrom([]batch.PodPhase{batch.PodBound, batch.PodReady, batch.PodReady, batch.PodSucceeded, batch.PodWaiting}).Draw(t, "phase"),
	}
	if p.Phase != batch.PodWaiting {
		p.Node = drawNode(t)
	}
	// A pod's workload does not change.
	if n > 1 {
		p.Workload = batch.WorkloadID(fmt.Sprintf("ns/w%d", n%workloadCount))
	}
	if rapid.IntRange(0, 3).Draw(t, "deleting") == 0 {
		p.GoneBy = drawTime(t, "gone by")
	}
	if rapid.IntRange(0, 5).Draw(t, "saved") == 0 {
		p.CheckpointedAt = drawTime(t, "checkpointed at")
	}
	return p
}

func drawOwner(t *rapid.T) batch.Owner {
	o := batch.Owner{
		Suspended: rapid.Bool().Draw(t, "suspended"), Started: rapid.Bool().Draw(t, "owner started"),
	}
	if rapid.Bool().Draw(t, "partly") {
		o.Needed = []int{rapid.IntRange(0, 3).Draw(t, "needed")}
		o.Done = [][]int{{rapid.IntRange(0, 2).Draw(t, "done")}}
	}
	if rapid.IntRange(0, 4).Draw(t, "ended") == 0 {
		o.End = &batch.End{State: batch.Failed, Time: zero}
	}
	return o
}

// seen is an event and the object that it is about.
type seen struct {
	about string
	event batch.Event
}

func drawEvent(t *rapid.T) seen {
	switch rapid.IntRange(0, 9).Draw(t, "event") {
	case 0:
		n := drawNode(t)
		return seen{"node " + string(n), batch.NodeObserved{Node: batch.Node{Name: n, Ready: rapid.Bool().Draw(t, "node ready")}}}
	case 1:
		n := drawNode(t)
		return seen{"node " + string(n), batch.NodeGone{Name: n}}
	case 2, 3:
		p := drawPod(t)
		return seen{"pod " + string(p.UID), batch.PodObserved{Pod: p}}
	case 4:
		uid := batch.PodUID(fmt.Sprintf("p%d", rapid.IntRange(0, podCount-1).Draw(t, "pod gone")))
		gone := batch.PodGone{UID: uid}
		if rapid.Bool().Draw(t, "forced") {
			gone.By = drawTime(t, "by")
		}
		return seen{"pod " + string(uid), gone}
	case 5, 6:
		w := drawWorkload(t)
		return seen{"workload " + string(w.ID), batch.WorkloadObserved{Workload: w}}
	case 7:
		id := drawID(t)
		return seen{"workload " + string(id), batch.WorkloadGone{ID: id}}
	default:
		id := drawID(t)
		return seen{"workload " + string(id), batch.OwnerObserved{ID: id, Owner: drawOwner(t)}}
	}
}

func drawEvents(t *rapid.T) []seen {
	var events []seen
	for range rapid.IntRange(1, 40).Draw(t, "events") {
		events = append(events, drawEvent(t))
	}
	return events
}

// Incremental and rebuilt from scratch give the same: the one is asked for
// snapshots on the way, the other once at the end.
func TestSnapshotsOnTheWayMakeNoDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		often, once := state.New(), state.New()
		var frozen batch.Snapshot
		var text string
		for _, e := range drawEvents(t) {
			often.Step(e.event)
			once.Step(e.event)
			if rapid.Bool().Draw(t, "look") {
				frozen = often.Snapshot()
				text = fmt.Sprintf("%+v", describe(frozen))
			} else if got := fmt.Sprintf("%+v", describe(frozen)); text != "" && got != text {
				t.Fatalf("a snapshot changed after it was handed out:\n%s\n%s", text, got)
			}
		}
		if diff := cmp.Diff(once.Snapshot(), often.Snapshot(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-once +often):\n%s", diff)
		}
	})
}

func describe(s batch.Snapshot) []any {
	var all []any
	for _, n := range s.Nodes {
		all = append(all, *n.Node, n.Charges)
	}
	for _, w := range s.Waiting {
		all = append(all, *w.Workload)
	}
	for _, st := range s.Started {
		all = append(all, *st.Workload, st.Live, st.Ready)
	}
	return all
}

// The order in which events of different objects come in makes no difference.
// (Events of a workload and its owner do not commute: what an owner says counts
// for the allocation that it was seen with.)
func TestEventsOfDifferentObjectsCommute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		other := interleave(t, events)
		a, b := state.New(), state.New()
		for i := range events {
			a.Step(events[i].event)
			b.Step(other[i].event)
		}
		if diff := cmp.Diff(a.Snapshot(), b.Snapshot(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-one order +another):\n%s", diff)
		}
		// A pod that is first seen when its workload is gone is charged to
		// its node alone: whose it was nobody remembers.
		deleted := slices.ContainsFunc(events, func(e seen) bool {
			_, ok := e.event.(batch.WorkloadGone)
			return ok
		})
		if diff := cmp.Diff(a.Summaries(), b.Summaries()); diff != "" && !deleted {
			t.Fatalf("(-one order +another):\n%s", diff)
		}
	})
}

// interleave is the same events in another order that keeps each object's own.
func interleave(t *rapid.T, events []seen) []seen {
	lanes := map[string][]seen{}
	var names []string
	for _, e := range events {
		if lanes[e.about] == nil {
			names = append(names, e.about)
		}
		lanes[e.about] = append(lanes[e.about], e)
	}
	var out []seen
	for len(names) > 0 {
		i := rapid.IntRange(0, len(names)-1).Draw(t, "lane")
		lane := lanes[names[i]]
		out = append(out, lane[0])
		if lanes[names[i]] = lane[1:]; len(lane) == 1 {
			names = append(names[:i], names[i+1:]...)
		}
	}
	return out
}

// What sits on a node is always charged; what is charged to nobody is nowhere.
func TestLivePodsAreAlwaysCharged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := state.New()
		pods := map[batch.PodUID]batch.Pod{}
		for range nodeCount {
			s.Step(batch.NodeObserved{Node: batch.Node{Name: drawNode(t), Ready: true}})
		}
		for _, e := range drawEvents(t) {
			if _, ok := e.event.(batch.NodeGone); ok {
				continue
			}
			s.Step(e.event)
			switch e := e.event.(type) {
			case batch.PodObserved:
				pods[e.Pod.UID] = e.Pod
			case batch.PodGone:
				if e.By.IsZero() {
					delete(pods, e.UID)
				}
			}
		}
		for _, view := range s.Snapshot().Nodes {
			var charged, live batch.Amount
			for _, c := range view.Charges {
				charged += c.Requests[batch.ResourceGPU]
			}
			for _, p := range pods { //order:any a sum
				if p.Node == view.Node.Name && !p.Terminal() {
					live += p.Requests[batch.ResourceGPU]
				}
			}
			if charged < live {
				t.Fatalf("node %s: %d GPUs charged, %d in use", view.Node.Name, charged, live)
			}
		}
	})
}

// When everything is gone, nothing is left behind.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := state.New()
		for _, e := range drawEvents(t) {
			s.Step(e.event)
		}
		for i := range podCount {
			s.Step(batch.PodGone{UID: batch.PodUID(fmt.Sprintf("p%d", i))})
		}
		for i := range workloadCount {
			s.Step(batch.WorkloadGone{ID: batch.WorkloadID(fmt.Sprintf("ns/w%d", i))})
		}
		for i := range nodeCount {
			s.Step(batch.NodeObserved{Node: batch.Node{Name: batch.NodeName(fmt.Sprintf("n%d", i))}})
		}
		snapshot := s.Snapshot()
		for _, view := range snapshot.Nodes {
			if len(view.Charges) > 0 {
				t.Fatalf("node %s is still charged: %+v", view.Node.Name, view.Charges)
			}
		}
		if n := len(snapshot.Waiting) + len(snapshot.Started); n > 0 {
			t.Fatalf("%d workloads are left", n)
		}
		if n := s.Size(); n != nodeCount {
			t.Fatalf("%d objects are remembered, want the %d nodes", n, nodeCount)
		}
	})
}
