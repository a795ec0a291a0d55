package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

// drawJob draws work that often collides: few nodes, few lengths.
func drawJob(t *rapid.T, i int) job {
	j := job{
		name:     fmt.Sprintf("j%d", i),
		pods:     rapid.IntRange(1, 3).Draw(t, "pods"),
		gpu:      rapid.SampledFrom([]int{1, 2, 3, 4, 8}).Draw(t, "gpu"),
		walltime: rapid.SampledFrom([]int{5, 10, 10, 20, 30, 60, 0}).Draw(t, "walltime"),
		priority: rapid.IntRange(0, 3).Draw(t, "priority"),
		queue:    rapid.SampledFrom([]string{"main", "front"}).Draw(t, "queue"),
	}
	switch rapid.IntRange(0, 5).Draw(t, "shape") {
	case 0:
		j.edit = func(w *batch.Workload) { w.PodSets[0].PerNodeMax = 1 }
	case 1:
		j.edit = func(w *batch.Workload) {
			w.PodSets = append(w.PodSets, batch.PodSet{Name: "leader", Count: 1, Requests: batch.Resources{batch.ResourceGPU: 1, batch.ResourcePods: 1}})
		}
	}
	switch rapid.IntRange(0, 4).Draw(t, "ending") {
	case 0:
		j.runs = max(1, j.walltime/2)
	case 1:
		j.runs = j.walltime + 3 // overrun
	default:
		j.runs = max(j.walltime, 7)
	}
	return j
}

// drawWorld draws a cluster in which time has passed and things have happened.
func drawWorld(t *rapid.T, check func(w *world) func(batch.Plan)) *world {
	return drawWorldOf(t, 25, check)
}

// drawWorldOf draws one in which no more than so many things have happened.
func drawWorldOf(t *rapid.T, steps int, check func(w *world) func(batch.Plan)) *world {
	wild := rapid.Bool().Draw(t, "wild")
	w := newWorld(t)
	w.queue("front", func(q *batch.Queue) { q.Tier = 5 })
	policy := batch.DefaultPolicy()
	policy.Depth = rapid.SampledFrom([]int{1000, 1000, 3}).Draw(t, "depth")
	if wild {
		drawPolicy(t, &policy)
		w.queue("alone", func(q *batch.Queue) { q.Exclusive = batch.ExclusiveWorkload })
		w.step(batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{Name: "ns/any", Queues: []batch.QueueName{"main", "front"}}})
		w.step(batch.TopologyObserved{Topology: batch.Topology{Name: "room", Levels: []batch.TopologyLevel{{Name: "rack", Label: "rack"}}}})
		w.step(batch.FlavorObserved{Flavor: batch.Flavor{Name: "racked", Topology: "room"}})
		w.queue("racked", func(q *batch.Queue) { q.Flavors = []batch.FlavorName{"racked"} })
	}
	w.step(batch.PolicyObserved{Policy: policy})
	nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
	w.nodes(nodes, 8)
	refused, begun := 0, map[string]bool{}
	w.refuse = func(d batch.StartDecision) bool {
		run := fmt.Sprintf("%s run %d", d.ID, d.Run)
		if refused < 3 && rapid.IntRange(0, 7).Draw(t, "refuse") == 0 {
			refused++
			return true
		}
		if begun[run] {
			t.Fatalf("%s is started twice", run)
		}
		begun[run] = true
		return false
	}
	w.look = check(w)
	if w.yields = rapid.Bool().Draw(t, "preemption"); w.yields {
		drawYields(t, w)
	}
	minute, least := 0, 1
	if w.yields {
		least = 12 // who is to give way must be there, and somebody come
	}
	for i := range rapid.IntRange(least, steps).Draw(t, "steps") {
		switch rapid.IntRange(0, 11).Draw(t, "step") {
		case 0, 1, 2:
			minute += rapid.IntRange(0, 12).Draw(t, "minutes")
			w.until(minute)
		case 3:
			flip := rapid.Bool().Draw(t, "ready")
			w.node(fmt.Sprintf("n%d", rapid.IntRange(1, nodes).Draw(t, "node")), 8, func(n *batch.Node) { n.Ready = flip })
			w.until(minute)
		case 4:
			disturb(t, w, nodes)
			w.until(minute)
		default:
			j := drawJob(t, i)
			if wild {
				drawWishes(t, w, &j)
			}
			if w.yields {
				j.pods = min(j.pods, nodes)
				j.gpu = max(j.gpu, rapid.SampledFrom([]int{8, 4, 8, 1}).Draw(t, "at least"))
				drawManner(t, &j)
			}
			w.submit(j)
			if rapid.Bool().Draw(t, "at once") {
				w.until(minute)
			}
		}
	}
	w.until(minute)
	return w
}

// disturb lets others do something: a pod of nobody's comes or goes, a Job is
// suspended or deleted, a node goes away, a queue is stopped.
func disturb(t *rapid.T, w *world, nodes int) {
	host := fmt.Sprintf("n%d", rapid.IntRange(1, nodes).Draw(t, "host"))
	var names []string
	for name := range w.jobs { //order:any sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	name := "none"
	if len(names) > 0 {
		name = rapid.SampledFrom(names).Draw(t, "victim")
	}
	switch rapid.IntRange(0, 9).Draw(t, "disturbance") {
	case 0:
		p := unmanaged("u"+host, host, rapid.IntRange(0, 3).Draw(t, "gpus"))
		if rapid.Bool().Draw(t, "leaves") {
			p.GoneBy = w.now.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "gone by")) * time.Minute)
		}
		w.step(batch.PodObserved{Pod: p})
	case 1:
		w.step(batch.PodGone{UID: batch.PodUID("u" + host), By: w.now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "by")) * time.Minute)})
	case 2:
		if j := w.jobs[name]; j != nil && j.live {
			w.step(batch.OwnerObserved{ID: id(name), Owner: batch.Owner{Started: true, Suspended: true}})
		}
	case 3:
		if j := w.jobs[name]; j != nil && j.ended.IsZero() {
			j.live, j.ended = false, w.now
			w.step(batch.WorkloadGone{ID: id(name)})
			for i, node := range j.hosts {
				w.step(batch.PodGone{UID: w.pod(j, i, node, batch.PodReady).UID})
			}
		}
	case 4:
		w.step(batch.NodeGone{Name: batch.NodeName(host)})
	case 5:
		state := rapid.SampledFrom([]batch.QueueState{batch.QueueUp, batch.QueueUp, batch.QueueDown}).Draw(t, "state")
		w.editQueue("main", func(q *batch.Queue) { q.State = state })
	case 6:
		if j := w.jobs[name]; j != nil && j.live {
			w.step(batch.StartRefused{ID: id(name), Run: j.restarts, Text: "refused"})
		}
	case 7:
		// Old news: what it was when it was submitted.
		if _, ok := w.core.Workload(id(name)); ok {
			w.step(batch.WorkloadObserved{Workload: w.workload(w.jobs[name])})
		}
	case 8:
		if j := w.jobs[name]; j != nil && j.starts == 0 && j.ended.IsZero() {
			j.priority += rapid.IntRange(-1, 1).Draw(t, "edit")
			w.step(batch.WorkloadObserved{Workload: w.workload(j)})
		}
	case 9:
		if len(w.core.Snapshot().Cohorts) > 0 {
			reorganize(t, w)
		}
	}
}

// busy is what a node grants at one time.
type busy struct {
	from, till time.Time // till zero: for ever
	gpus       batch.Amount
	who        string
	granted    bool // by this plan
}

// grants are all grants of a snapshot and a plan on it, by node.
func grants(w *world, plan batch.Plan) map[batch.NodeName][]busy {
	all := map[batch.NodeName][]busy{}
	snapshot := w.core.Snapshot()
	for _, view := range snapshot.Nodes {
		for i := range view.Charges {
			c := &view.Charges[i]
			if requeued(plan, c.By) && !c.Left {
				continue
			}
			ends := *c
			for _, d := range plan.Evict {
				if d.ID == c.By {
					ends.Until = d.Eviction.Until
				}
			}
			all[view.Node.Name] = append(all[view.Node.Name], busy{
				from: w.now, till: ends.End(w.now), gpus: c.Requests[batch.ResourceGPU], who: c.Name,
			})
		}
	}
	asks := map[batch.WorkloadID][]batch.PodSet{}
	for _, waiting := range snapshot.Waiting {
		asks[waiting.Workload.ID] = waiting.Workload.PodSets
	}
	for _, started := range snapshot.Started {
		asks[started.Workload.ID] = started.Workload.PodSets // it may be requeued
	}
	add := func(id batch.WorkloadID, a batch.Allocation) {
		for i, placement := range a.PodSets {
			for _, host := range placement.Hosts {
				all[host] = append(all[host], busy{
					from: a.Start, till: a.Deadline, gpus: asks[id][i].Requests[batch.ResourceGPU], who: string(id), granted: true,
				})
			}
		}
	}
	for _, d := range plan.Start {
		add(d.ID, d.Allocation)
	}
	for _, d := range plan.Holds {
		add(d.ID, *d.Allocation)
	}
	return all
}

func requeued(plan batch.Plan, id batch.WorkloadID) bool {
	return slices.ContainsFunc(plan.Requeue, func(d batch.RequeueDecision) bool { return d.ID == id }) ||
		slices.ContainsFunc(plan.Finish, func(d batch.FinishDecision) bool { return d.ID == id && endsByUs(d.End.State) })
}

// endsByUs says whether a run that has ended so was taken back for good: what of
// it is left on a node that is lost is nobody's any more.
func endsByUs(state batch.EndState) bool {
	return state == batch.Preempted || state == batch.NodeFailed || state == batch.Cancelled
}

// checkGrants holds every node to its capacity at every time at which something
// begins.
func checkGrants(w *world, plan batch.Plan) {
	for host, all := range grants(w, plan) { //order:any each node by itself
		for _, at := range all {
			var sum batch.Amount
			granted := false // others may overfill a node; a plan may not
			for _, b := range all {
				if !b.from.After(at.from) && (b.till.IsZero() || b.till.After(at.from)) {
					sum += b.gpus
					granted = granted || b.granted
				}
			}
			if sum > 8 && granted {
				w.t.Fatalf("%s grants %d GPUs at minute %d: %+v", host, sum, minuteOf(at.from), all)
			}
		}
	}
}

// checkBuckets holds a plan to one answer for each that waits.
func checkBuckets(w *world, plan batch.Plan) {
	count := map[batch.WorkloadID]int{}
	for _, d := range plan.Start {
		count[d.ID]++
	}
	for _, d := range plan.Wait {
		count[d.ID]++
		if d.Verdict.Reason == "" || d.Verdict.Message == "" {
			w.t.Fatalf("%s waits without a reason: %+v", d.ID, d.Verdict)
		}
	}
	for _, waiting := range w.core.Snapshot().Waiting {
		id := waiting.Workload.ID
		if n := count[id]; n > 1 || (n == 0 && waiting.Workload.LastVerdict == nil) {
			w.t.Fatalf("%s is in %d buckets: %s", id, n, brief(plan))
		}
	}
}

// checkPromises holds planned starts to their bound unless something is named.
func checkPromises(w *world, plan batch.Plan) {
	promised := map[batch.WorkloadID]time.Time{}
	for _, waiting := range w.core.Snapshot().Waiting {
		promised[waiting.Workload.ID] = waiting.Workload.Promise
	}
	for _, d := range plan.Wait {
		was, is := promised[d.ID], d.Verdict.PlannedStart
		if was.IsZero() || d.Verdict.MovedBy != "" || !d.Verdict.Reason.TakesPart() {
			continue // who takes no part has no start, and its reason says why
		}
		if is.IsZero() || is.After(was) {
			w.t.Fatalf("%s moved from %v to %v, and nobody says why", d.ID, was, is)
		}
	}
}

func TestPlansKeepTheirInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawWorld(t, func(w *world) func(batch.Plan) {
			return func(plan batch.Plan) {
				checkGrants(w, plan)
				checkBuckets(w, plan)
				checkPromises(w, plan)
			}
		})
	})
}

// What ends early, and later arrivals, move no planned start later: neither
// what was backfilled nor what was planned since.
func TestPlannedStartsOnlyMoveForward(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.nodes(rapid.IntRange(1, 4).Draw(t, "nodes"), 8)
		planned := map[string]time.Time{}
		w.look = func(plan batch.Plan) {
			for _, d := range plan.Wait {
				name, is := nameOf(d.ID), d.Verdict.PlannedStart
				if was := planned[name]; !was.IsZero() && (is.IsZero() || is.After(was)) {
					t.Fatalf("%s moves from %d to %d (%s)", name, minuteOf(was), minuteOf(is), d.Verdict.MovedBy)
				}
				planned[name] = is
			}
			for _, d := range plan.Start {
				if was := planned[nameOf(d.ID)]; !was.IsZero() && d.Allocation.Start.After(was) {
					t.Fatalf("%s starts at %d, planned for %d", d.ID, minuteOf(d.Allocation.Start), minuteOf(was))
				}
			}
		}
		minute := 0
		for i := range rapid.IntRange(1, 25).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "step") == 0 {
				minute += rapid.IntRange(0, 12).Draw(t, "minutes")
				w.until(minute)
				continue
			}
			j := drawJob(t, i)
			// Nobody overruns, and nobody ranks above an earlier one.
			j.queue, j.priority, j.runs = "main", 0, min(j.runs, max(j.walltime, 1))
			w.submit(j)
			w.until(minute)
		}
		w.until(minute + 600)
	})
}

// The order in which the same events arrive makes no difference to the plan.
func TestPermutedArrivalGivesTheSamePlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var events []batch.Event
		w := newWorld(t)
		for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
			events = append(events, batch.NodeObserved{Node: batch.Node{
				Name: batch.NodeName(fmt.Sprintf("n%d", i)), Ready: true,
				Capacity: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 10},
			}})
		}
		for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
			j := drawJob(t, i)
			j.queue, j.queued = "main", zero
			events = append(events, batch.WorkloadObserved{Workload: w.workload(&j)})
			events = append(events, batch.OwnerObserved{ID: id(j.name), Owner: batch.Owner{Suspended: true}})
		}
		events = append(events,
			batch.QueueObserved{Queue: batch.Queue{Name: "main", State: batch.QueueUp}},
			batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{Name: "ns/main", Queues: []batch.QueueName{"main"}}},
			batch.PodObserved{Pod: batch.Pod{UID: "u", Node: "n0", Phase: batch.PodReady, Requests: batch.Resources{batch.ResourceGPU: 3}}})
		a, b := core.New(), core.New()
		for _, e := range events {
			a.Step(e)
		}
		for _, e := range rapid.Permutation(slices.Clone(events)).Draw(t, "order") {
			b.Step(e)
		}
		if diff := cmp.Diff(a.Plan(zero), b.Plan(zero)); diff != "" {
			t.Fatalf("(-one order +another):\n%s", diff)
		}
	})
}

// More nodes never delay the first in the order.
func TestMoreCapacityNeverDelaysTheFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		few, many := newWorld(t), newWorld(t)
		nodes := rapid.IntRange(1, 3).Draw(t, "nodes")
		few.nodes(nodes, 8)
		many.nodes(nodes+rapid.IntRange(1, 2).Draw(t, "more"), 8)
		for i := range rapid.IntRange(0, 4).Draw(t, "unmanaged") {
			pod := batch.PodObserved{Pod: batch.Pod{
				UID: batch.PodUID(fmt.Sprint(i)), Node: batch.NodeName(fmt.Sprintf("n%d", rapid.IntRange(1, nodes).Draw(t, "node"))),
				Phase: batch.PodReady, Requests: batch.Resources{batch.ResourceGPU: 3},
			}}
			if rapid.Bool().Draw(t, "leaving") {
				pod.Pod.GoneBy = zero.Add(time.Duration(rapid.IntRange(1, 9).Draw(t, "gone by")) * time.Minute)
			}
			few.step(pod)
			many.step(pod)
		}
		first := drawJob(t, 0)
		first.priority, first.queue = 9, "main"
		rest := []job{first}
		for i := range rapid.IntRange(0, 4).Draw(t, "others") {
			j := drawJob(t, i+1)
			j.queue = "main"
			rest = append(rest, j)
		}
		few.submit(rest...)
		many.submit(rest...)
		before, after := answer(few, first.name), answer(many, first.name)
		if !before.IsZero() && (after.IsZero() || after.After(before)) {
			t.Fatalf("planned for %v, with more nodes for %v", before, after)
		}
	})
}

// answer is when a job starts or is planned to; zero: unknown.
func answer(w *world, name string) time.Time {
	plan := w.core.Plan(w.now)
	for _, d := range plan.Start {
		if d.ID == id(name) {
			return d.Allocation.Start
		}
	}
	for _, d := range plan.Wait {
		if d.ID == id(name) {
			return d.Verdict.PlannedStart
		}
	}
	return time.Time{}
}
