package scenario

import (
	"slices"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// labelHostname is the label of a node that names it.
const labelHostname = "kubernetes.io/hostname"

// domain reads under one domain of which level all pods of a job must lie.
func (l *loader) domain(path string, j *v1alpha1.Job, w *batch.Workload) {
	if j.Topology == nil {
		return
	}
	if j.Topology.Required == "" {
		l.wrong(path, "says nothing: give required, the level under one domain of which all pods lie")
		return
	}
	l.plainName(path+".required", j.Topology.Required, "a level")
	for i := range w.PodSets {
		w.PodSets[i].Domain = j.Topology.Required
	}
}

// packing refuses a file in which the tree of a topology would decide more than
// this version can: a gang that may spread over several domains, of which it
// should take as few as possible.
func (l *loader) packing() {
	flavors, topologies := l.topologies()
	if len(flavors) > 0 && l.out.Trace != nil {
		l.wrong("spec.trace", "%s: its gangs should take as few domains of their flavor's topology as they can; leave topologyName out of the ResourceFlavor",
			NotBuilt("packing by topology"))
		return
	}
	for i := range l.out.Jobs {
		w := &l.out.Jobs[i].Workload
		pods, level := 0, ""
		for k := range w.PodSets {
			pods += w.PodSets[k].Count
			level = w.PodSets[k].Domain
		}
		if pods < 2 || len(flavors) == 0 {
			continue
		}
		switch {
		case level == "":
			l.wrong("spec.jobs", "%s: job %s has %d pods, and should take as few domains of its flavor's topology as it can; give it topology: {required: LEVEL}, or leave topologyName out of the ResourceFlavor",
				NotBuilt("packing by topology"), w.Name, pods)
			return
		case slices.ContainsFunc(topologies, func(t batch.Topology) bool { return hasBetween(t, level) }):
			l.wrong("spec.jobs", "%s: job %s requires one %s, and should take as few of the narrower domains in it as it can; only the narrowest level above the host can be required",
				NotBuilt("packing by topology"), w.Name, level)
			return
		}
	}
}

// topologies are the topologies of a file, and the flavors that have one, at any
// time of the story.
func (l *loader) topologies() (flavors []batch.FlavorName, topologies []batch.Topology) {
	objects := slices.Clone(l.out.Objects)
	for i := range l.out.Events {
		objects = append(objects, l.out.Events[i].Apply...)
	}
	for i := range objects {
		switch e := objects[i].Seen.(type) {
		case batch.FlavorObserved:
			if e.Flavor.Topology != "" {
				flavors = append(flavors, e.Flavor.Name)
			}
		case batch.TopologyObserved:
			topologies = append(topologies, e.Topology)
		}
	}
	return flavors, topologies
}

// hasBetween says whether there are levels of a topology between one and the
// nodes themselves.
func hasBetween(t batch.Topology, level string) bool {
	at := slices.IndexFunc(t.Levels, func(is batch.TopologyLevel) bool { return is.Name == level })
	return at >= 0 && slices.ContainsFunc(t.Levels[at+1:], func(is batch.TopologyLevel) bool { return is.Label != labelHostname })
}
