package scenario

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// events reads what happens, in the order of time: an object that is applied
// replaces the one that is there by then.
func (l *loader) events(in []v1alpha1.Event) {
	order := make([]int, len(in))
	out := make([]Event, len(in))
	for i := range in {
		order[i] = i
		out[i].At = l.offset(fmt.Sprintf("spec.events[%d].at", i), in[i].At)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(out[a].At, out[b].At) })
	for _, i := range order {
		for _, each := range l.perMember(in[i]) {
			l.event(fmt.Sprintf("spec.events[%d]", i), &each, &out[i])
			l.out.Events = append(l.out.Events, out[i])
			l.out.Events = append(l.out.Events, l.classed(fmt.Sprintf("spec.events[%d].apply", i), &out[i])...)
		}
	}
}

// classed gives the jobs of a PriorityClass that an event brings its value: those that
// come later have it from the start, and those that wait for the class are edited.
func (l *loader) classed(path string, e *Event) (edits []Event) {
	if len(e.Apply) == 0 || e.Apply[0].Kind != kindPriorityClass {
		return nil
	}
	for i := range l.out.Jobs {
		job := &l.out.Jobs[i]
		w := &job.Workload
		if l.ranks[w.ID].class != e.Apply[0].Name {
			continue
		}
		priority, invalid := l.priorityOf(path, l.ranks[w.ID].class, l.ranks[w.ID].own)
		if job.At >= e.At {
			w.Priority, w.Invalid = priority, invalid
		} else {
			edits = append(edits, Event{At: e.At, Set: &Edit{Job: w.ID, Priority: &priority, Classed: true}})
		}
	}
	return edits
}

// perMember is what a person does to an array as a whole, as what is done to
// each of its members: the Job behind them is one.
func (l *loader) perMember(in v1alpha1.Event) []v1alpha1.Event {
	edited := cmp.Or(in.Release, in.Hold)
	if in.Set != nil {
		edited = in.Set.Job
	}
	if len(l.named[edited]) > 0 {
		return []v1alpha1.Event{in} // a job has that name
	}
	var all []v1alpha1.Event
	for _, id := range l.arrays[edited] {
		each, name := in, string(id)
		switch {
		case in.Release != "":
			each.Release = name
		case in.Hold != "":
			each.Hold = name
		default:
			set := *in.Set
			set.Job, each.Set = name, &set
		}
		all = append(all, each)
	}
	if all == nil {
		return []v1alpha1.Event{in}
	}
	return all
}

func (l *loader) event(path string, in *v1alpha1.Event, out *Event) {
	if !l.oneDeed(path, in) {
		return
	}
	switch {
	case in.Node != "":
		l.nodeChange(path, in, out)
	case in.AddNodes != nil:
		out.Nodes = l.nodeGroup(path+".addNodes", in.AddNodes)
	case in.Apply != nil:
		out.Apply = l.applied(path+".apply", in.Apply)
	case in.Delete != "":
		out.Delete = l.deleted(path+".delete", in.Delete)
	case in.Release != "":
		out.Release = l.jobOfFile(path+".release", in.Release)
	case in.Hold != "":
		out.Hold = l.jobOfFile(path+".hold", in.Hold)
	case in.Set != nil:
		out.Set = l.edit(path+".set", in.Set)
	case in.Restart != "":
		out.Restart = true
		if in.Restart != "controller" {
			l.wrong(path+".restart", "%q: only the controller is restarted", in.Restart)
		}
	case in.ControllerDown != "":
		out.Down = l.offset(path+".controllerDown", in.ControllerDown)
		if out.Down == 0 {
			l.wrong(path+".controllerDown", "is 0s: say for how long, or write restart: controller")
		}
	}
}

// oneDeed says whether an event does exactly one thing.
func (l *loader) oneDeed(path string, in *v1alpha1.Event) bool {
	deeds := 0
	for _, given := range []bool{
		in.Node != "", in.AddNodes != nil, in.Apply != nil, in.Delete != "" && in.Node == "",
		in.Release != "", in.Hold != "", in.Set != nil, in.Restart != "", in.ControllerDown != "",
	} {
		if given {
			deeds++
		}
	}
	if deeds != 1 {
		l.wrong(path, "does %d things; an event does one of node, addNodes, apply, delete, release, hold, set, restart, controllerDown", deeds)
	}
	if in.Node == "" && (in.Ready != nil || in.Unschedulable != nil) {
		l.wrong(path, "ready and unschedulable are about a node: name it")
	}
	return deeds == 1
}

func (l *loader) nodeChange(path string, in *v1alpha1.Event, out *Event) {
	change := &NodeChange{Name: batch.NodeName(in.Node), Ready: in.Ready, Unschedulable: in.Unschedulable}
	switch in.Delete {
	case "", "false":
	case "true":
		change.Delete = true
	default:
		l.wrong(path+".delete", "%q: with node it is true", string(in.Delete))
	}
	if !l.nodes[change.Name] {
		l.wrong(path+".node", "there is no node %q by then", in.Node)
	}
	deeds := 0
	for _, given := range []bool{in.Ready != nil, in.Unschedulable != nil, change.Delete} {
		if given {
			deeds++
		}
	}
	if deeds != 1 {
		l.wrong(path, "does %d things to the node; it does one of ready, unschedulable, delete: true", deeds)
	}
	if change.Delete {
		delete(l.nodes, change.Name)
	}
	out.Node = change
}

// jobOfFile finds a job of the file: those of a trace are nobody's to edit.
func (l *loader) jobOfFile(path, name string) batch.WorkloadID {
	id := l.jobNamed(path, name)
	if _, ok := l.jobs[id]; id != "" && !ok {
		l.wrong(path, "%q is a job of the trace; only jobs of the file are edited", name)
		return ""
	}
	return id
}

func (l *loader) edit(path string, in *v1alpha1.Edit) *Edit {
	id := l.jobOfFile(path+".job", in.Job)
	out := &Edit{Job: id}
	if id == "" {
		return out
	}
	job := &l.out.Jobs[l.jobs[id]]
	if in.Walltime != "" {
		walltime := l.walltime(path+".walltime", in.Walltime)
		out.Walltime = &walltime
	}
	if in.Priority != nil {
		is := rank{class: l.ranks[id].class, own: in.Priority}
		priority, _ := l.priorityOf(path+".priority", is.class, is.own)
		l.ranks[id], out.Priority = is, &priority
	}
	if in.Queue != "" {
		l.name(path+".queue", in.Queue)
		queue := batch.LocalQueueName(job.Workload.Namespace + "/" + in.Queue)
		out.Queue = &queue
	}
	if out.Walltime == nil && out.Priority == nil && out.Queue == nil {
		l.wrong(path, "sets nothing: give walltime, priority or queue")
	}
	return out
}
