package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
	"github.com/berth-dev/berth/pkg/scenario"
)

// world is everything around the planner: the objects of the API server, the
// nodes, the work, and the one clock.
type world struct {
	file    *scenario.File
	options Options
	core    *core.Core    // nil while the controller is down
	seen    []batch.Event // since the last plan, for a journal
	now     time.Duration
	agenda  agenda
	wake    time.Duration // when the last plan wants to be made again; 0: not by itself
	down    time.Duration // until when the controller is down
	logged  time.Duration // the last submission of the trace that was read
	cut     bool          // the run was stopped where none goes on without an end of its own

	objects    map[string]scenario.Object // Berth objects by kind and name
	namespaces map[string]bool
	nodes      map[batch.NodeName]*node
	jobs       map[batch.WorkloadID]*job
	order      []*job // those that the result shows, as they were submitted
	watched    map[batch.WorkloadID]bool
	open       int // jobs that have not ended, submitted or not

	owed      []owed        // starts that others were evicted for
	disturbed time.Duration // when nodes, objects or a job were last changed by hand; below zero: never

	declined int      // edits that changed nothing
	notes    []string // about the first of them

	checks  []*check
	results []*check
	meter   meter
	breach  *Breach
	failed  error // the file asks for what cannot be played
	doing   string
}

// node is a node and the pods on it.
type node struct {
	batch.Node
	cordoned bool
	used     batch.Resources
	pods     int
	jobs     map[*job]int // pods by job
	wrecks   []batch.Pod  // left there by runs that were taken back while it was not ready
}

func newWorld(file *scenario.File, options Options) *world {
	w := &world{
		file: file, options: options,
		objects: map[string]scenario.Object{}, namespaces: map[string]bool{},
		nodes: map[batch.NodeName]*node{}, jobs: map[batch.WorkloadID]*job{},
		watched: map[batch.WorkloadID]bool{}, disturbed: -1,
	}
	w.meter.world = w
	w.starts()
	return w
}

// time is the clock as the core sees it.
func (w *world) time() time.Time { return w.file.Start.Add(w.now) }

// offset is a time as a distance from the start.
func (w *world) offset(t time.Time) time.Duration { return t.Sub(w.file.Start) }

// step tells the core what happened, if there is a controller to see it.
func (w *world) step(e batch.Event) {
	if w.core == nil {
		return
	}
	w.core.Step(e)
	if w.options.Pass != nil {
		w.seen = append(w.seen, e)
	}
}

// starts makes a controller that has seen nothing yet.
func (w *world) starts() {
	w.core, w.seen = core.New(), nil
	if w.options.Began != nil {
		w.options.Began(w.core.Image())
	}
}

// planned passes on what a plan was made from, and the plan.
func (w *world) planned(plan batch.Plan) {
	if w.options.Pass == nil {
		return
	}
	w.options.Pass(Pass{Events: w.seen, Plan: plan, Issued: !plan.Empty(), Image: w.core.Image})
	w.seen = nil
}

// begin lays out the cluster at the start.
func (w *world) begin() {
	for i := range w.file.Nodes {
		w.addNode(w.file.Nodes[i])
	}
	for _, object := range w.file.Objects {
		w.apply(object)
	}
	for i := range w.file.Jobs {
		spec := &w.file.Jobs[i]
		w.open++
		w.agenda.add(spec.At, causeSubmit, func() { w.submit(spec) })
	}
	for i := range w.file.Events {
		event := &w.file.Events[i]
		w.agenda.add(event.At, causeOf(event), func() { w.happen(event) })
	}
	w.prepareChecks()
}

func (w *world) addNode(seen batch.Node) {
	n := &node{Node: seen, used: batch.Resources{}, jobs: map[*job]int{}}
	w.nodes[seen.Name] = n
	w.meter.capacity(seen.Capacity, 1)
	w.step(batch.NodeObserved{Node: n.seen()})
}

// cordonTaint is what a cordon does to a node in Kubernetes.
func cordonTaint() batch.Taint {
	return batch.Taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"}
}

// seen is the node as the informers show it.
func (n *node) seen() batch.Node {
	out := n.Node
	if n.cordoned {
		out.Taints = append(slices.Clone(out.Taints), cordonTaint())
	}
	return out
}

// apply puts an object into the API server.
func (w *world) apply(object scenario.Object) {
	key := object.Kind + "/" + object.Namespace + "/" + object.Name
	if seen, ok := object.Seen.(batch.QueueObserved); ok {
		// The queue's controller dates the last change of its state: work
		// that came before a drain began is still started.
		if seen.Queue.State != batch.QueueUp {
			seen.Queue.StateSince = w.time()
			if old, ok := w.objects[key].Seen.(batch.QueueObserved); ok && old.Queue.State == seen.Queue.State {
				seen.Queue.StateSince = old.Queue.StateSince
			}
		}
		object.Seen = seen
	}
	w.objects[key] = object
	if object.Seen != nil { // a PriorityClass is in the jobs
		w.step(object.Seen)
	}
}

func (w *world) remove(object scenario.Object) {
	delete(w.objects, object.Kind+"/"+object.Namespace+"/"+object.Name)
	w.step(object.Gone)
}

// restart loses all that the controller had in memory, and rebuilds it from
// the objects alone.
func (w *world) restart() {
	w.starts()
	w.step(batch.PolicyObserved{Policy: batch.DefaultPolicy()})
	for _, name := range slices.Sorted(maps.Keys(w.namespaces)) {
		w.step(namespaceSeen(name))
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		w.step(batch.NodeObserved{Node: w.nodes[name].seen()})
	}
	ids := slices.Sorted(maps.Keys(w.jobs))
	for _, id := range ids {
		for _, p := range w.jobs[id].pods {
			w.step(batch.PodObserved{Pod: p})
		}
	}
	w.findWrecks()
	for _, key := range slices.Sorted(maps.Keys(w.objects)) {
		w.step(w.objects[key].Seen)
	}
	for _, id := range ids {
		if j := w.jobs[id]; !j.deleted {
			j.forgetFacts()
			w.step(batch.OwnerObserved{ID: id, Owner: j.owner})
			w.step(batch.WorkloadObserved{Workload: j.workload})
		}
	}
	w.missNodes(ids)
}

func namespaceSeen(name string) batch.NamespaceObserved {
	return batch.NamespaceObserved{Name: name, Labels: batch.Labels{"kubernetes.io/metadata.name": name}}
}

// refuse ends the run: the file asks for what this version cannot play.
func (w *world) refuse(format string, args ...any) {
	if w.failed == nil {
		w.failed = fmt.Errorf("at %s: %s", offsetText(w.now), fmt.Sprintf(format, args...))
	}
}
