package sim

import (
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
)

// causeOf is the place of an event among what happens at its instant.
func causeOf(e *scenario.Event) cause {
	if e.Hold != "" || e.Release != "" || e.Set != nil {
		return causeEdit
	}
	return causeEvent
}

// happen plays one event of the file.
func (w *world) happen(e *scenario.Event) {
	if !e.Restart && e.Down == 0 {
		w.disturbed = w.now
	}
	switch {
	case e.Node != nil:
		w.changeNode(e.Node)
	case e.Nodes != nil:
		for _, n := range e.Nodes {
			w.doing = "node " + string(n.Name) + " added"
			w.addNode(n)
			w.log(EventNode, "", NodeDetail{Node: n.Name, Change: "added"})
		}
	case e.Apply != nil:
		for _, object := range e.Apply {
			w.doing = "apply " + object.Kind + "/" + object.Name
			w.apply(object)
			w.log(EventPolicy, "", PolicyDetail{Object: object.Kind + "/" + object.Name})
		}
	case e.Delete != nil:
		w.doing = "delete " + e.Delete.Kind + "/" + e.Delete.Name
		w.remove(*e.Delete)
		w.log(EventPolicy, "", PolicyDetail{Object: e.Delete.Kind + "/" + e.Delete.Name + " deleted"})
	case e.Restart:
		w.doing = "restart of the controller"
		if w.core != nil { // who is down has lost it all, and is back when that is over
			w.restart()
		}
	case e.Down > 0:
		w.doing = "controller down"
		w.core = nil
		w.down = max(w.down, w.now+e.Down)
		w.agenda.add(w.now+e.Down, causeSubmit, w.back)
	default:
		w.edit(e)
	}
}

// back is the controller coming back, unless it is still down for longer.
func (w *world) back() {
	if w.now >= w.down && w.core == nil {
		w.doing = "controller back"
		w.restart()
	}
}

func (w *world) changeNode(c *scenario.NodeChange) {
	n, ok := w.nodes[c.Name]
	if !ok {
		w.refuse("node %s is not there", c.Name)
		return
	}
	var change string
	switch {
	case c.Delete:
		change = "deleted"
		delete(w.nodes, c.Name)
		w.meter.capacity(n.Capacity, -1)
		w.step(batch.NodeGone{Name: c.Name})
		w.clear(n)
	case c.Ready != nil:
		change = word(*c.Ready, "ready", "notReady")
		w.setReady(n, *c.Ready)
	default:
		change = word(*c.Unschedulable, "cordoned", "uncordoned")
		n.cordoned = *c.Unschedulable
		w.step(batch.NodeObserved{Node: n.seen()})
	}
	w.doing = "node " + string(c.Name) + " " + change
	w.log(EventNode, "", NodeDetail{Node: c.Name, Change: change})
}

func word(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// edit plays what a job's author does to it.
func (w *world) edit(e *scenario.Event) {
	id := e.Hold + e.Release
	if e.Set != nil {
		id = e.Set.Job
	}
	j, ok := w.jobs[id]
	if !ok && e.Set != nil && e.Set.Classed {
		return // its author has deleted it
	}
	if !ok {
		w.refuse("job %s cannot be edited: it has not been submitted, or its author has deleted it", id)
		return
	}
	w.doing = "edit of " + string(id)
	if j.ended {
		return // too late to matter, as in a cluster
	}
	if why := j.unchangeable(e); why != "" {
		w.decline(id, why)
		return
	}
	switch {
	case e.Hold != "":
		j.workload.Held = true
	case e.Release != "":
		j.workload.Held = false
	default:
		w.set(j, e.Set)
	}
	w.step(batch.WorkloadObserved{Workload: j.workload})
}

// unchangeable is why an edit changes nothing of a job that runs: the admission policy
// of a cluster refuses it. The Job of an array runs from its release on.
func (j *job) unchangeable(e *scenario.Event) string {
	switch {
	case e.Hold != "" && j.runs() && j.workload.Array == nil:
		return "it can't be held while it runs: it was planned, and started, as it stands; cancel it to end it sooner"
	case e.Set != nil && e.Set.Walltime != nil && j.workload.Array != nil && !j.workload.Held:
		return "its walltime can't be edited: it is of an array, which runs from its release on; submit another"
	}
	return ""
}

func (w *world) set(j *job, e *scenario.Edit) {
	if j.workload.Allocation != nil && e.Queue != nil {
		w.refuse("job %s runs: %s", j.workload.ID, scenario.NotBuilt("edits of a running job's queue"))
		return
	}
	if e.Walltime != nil {
		j.workload.Walltime = *e.Walltime
	}
	if e.Priority != nil {
		j.workload.Priority = *e.Priority
	}
	if e.Classed {
		j.workload.Invalid = ""
	}
	if e.Queue != nil {
		j.workload.LocalQueue = *e.Queue
	}
}
