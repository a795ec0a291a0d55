package scenario

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// known are the ClusterQueues and resources that a file has at some time of its story.
// What is expected of others holds, or fails, whatever happens.
type known struct{ queues, resources map[string]bool }

// everKnown gathers them when all of the story has been read.
func (l *loader) everKnown() known {
	k := known{queues: map[string]bool{}, resources: map[string]bool{}}
	k.nodes(l.out.Nodes)
	k.objects(l.out.Objects)
	for i := range l.out.Events {
		k.nodes(l.out.Events[i].Nodes)
		k.objects(l.out.Events[i].Apply)
	}
	for i := range l.out.Jobs {
		for _, set := range l.out.Jobs[i].Workload.PodSets {
			k.amounts(set.Requests)
		}
	}
	switch t := l.out.Trace; {
	case t == nil:
	case t.Format == "csv":
		k.resources[string(batch.ResourceGPU)] = true
	default: // its machine may be made when it is opened
		k.resources[cmp.Or(t.Resource, string(batch.ResourceCPU))] = true
		k.resources[string(batch.ResourcePods)] = true
	}
	return k
}

func (k known) nodes(nodes []batch.Node) {
	for i := range nodes {
		k.amounts(nodes[i].Capacity)
	}
}

func (k known) amounts(amounts batch.Resources) {
	for name := range amounts { //order:any each its own entry
		k.resources[string(name)] = true
	}
}

func (k known) objects(objects []Object) {
	for _, o := range objects {
		switch e := o.Seen.(type) {
		case batch.QueueObserved:
			k.queues[string(e.Queue.Name)] = true
			k.quotas(e.Queue.Quotas)
		case batch.CohortObserved:
			k.quotas(e.Cohort.Quotas)
		}
	}
}

func (k known) quotas(quotas batch.Quotas) {
	for _, of := range quotas { //order:any each its own entries
		for name := range of { //order:any each its own entry
			k.resources[string(name)] = true
		}
	}
}

// queueNamed is a ClusterQueue of which something is expected.
func (l *loader) queueNamed(path, name string) batch.QueueName {
	switch {
	case name == "":
		l.wrong(path, "is missing: name a ClusterQueue")
	case !l.known.queues[name]:
		l.wrong(path, "there is no ClusterQueue %q, and no event applies it%s", name, suggestion(name, slices.Sorted(maps.Keys(l.known.queues))))
	}
	return batch.QueueName(name)
}

// amountsOf are amounts that are expected of a queue. Where objects were replaced, the
// file itself has been asked already.
func (l *loader) amountsOf(path string, in map[string]v1alpha1.Quantity) batch.Resources {
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if !l.known.resources[name] && len(l.options.Instead) == 0 {
			l.wrong(join(path, name), "no node, job or quota has %s%s", name, suggestion(name, slices.Sorted(maps.Keys(l.known.resources))))
		}
	}
	return l.resources(path, in)
}

// count is a number of things that is expected.
func (l *loader) count(path string, n *int) *int {
	if n != nil && *n < 0 {
		l.wrong(path, "is %d: there are 0 or more", *n)
	}
	return n
}
