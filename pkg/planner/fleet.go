package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// fleet is the nodes as the timeline needs them.
type fleet struct {
	catalog  batch.Catalog
	capacity []batch.Vector
	index    map[batch.NodeName]int
	empty    *timeline.Timeline
	line     *timeline.Timeline // with what runs

	whole   int                       // index of resourceWhole; below zero: nobody asks for it
	keeping map[batch.WorkloadID]bool // run on whole nodes

	// firstEnd is when the first of what runs should end; zero: none should.
	firstEnd time.Time

	masks  map[maskKey]*mask
	shapes map[shapeKey]*shape
	kinds  map[shapeKey]*kind
	doors  map[batch.QueueName]string
}

type maskKey struct {
	constraint string
	flavor     batch.FlavorName
}

// mask is which nodes would do for a pod, by their index.
type mask struct {
	usable []int32
	// all adds those that only their state keeps out: not ready, cordoned.
	all []int32
}

type shapeKey struct {
	shape string
	door  string
	whole bool
}

// door is the same text for queues that let the same work onto the same nodes.
func (f *fleet) door(q *batch.Queue) string {
	if text, ok := f.doors[q.Name]; ok {
		return text
	}
	text := fmt.Sprintf("%q %d %d %d", q.Flavors, q.MinNodes, q.MaxNodes, q.MaxPods)
	f.doors[q.Name] = text
	return text
}

// newFleet puts all nodes, and what sits on them, on a timeline.
func newFleet(p *pass) *fleet {
	var names []batch.ResourceName
	for _, view := range p.Nodes {
		for name := range view.Node.Capacity { //order:any the catalog sorts
			names = append(names, name)
		}
		if len(names) > 1<<12 {
			slices.Sort(names)
			names = slices.Compact(names)
		}
	}
	if p.someWhole() {
		names = append(names, resourceWhole)
	}
	f := &fleet{
		catalog: batch.NewCatalog(names),
		index:   make(map[batch.NodeName]int, len(p.Nodes)),
		masks:   map[maskKey]*mask{},
		shapes:  map[shapeKey]*shape{},
		kinds:   map[shapeKey]*kind{},
		doors:   map[batch.QueueName]string{},
	}
	for i, view := range p.Nodes {
		f.capacity = append(f.capacity, f.catalog.Vector(view.Node.Capacity))
		f.index[view.Node.Name] = i
	}
	f.planWhole(p)
	f.empty = timeline.New(f.capacity, p.from)
	f.line = timeline.New(f.capacity, p.from)
	for i, view := range p.Nodes {
		for k := range view.Charges {
			f.charge(p, i, &view.Charges[k])
		}
	}
	return f
}

func (f *fleet) charge(p *pass, node int, c *batch.Charge) {
	if c.Over(p.now) || p.leaving[c.By] {
		return
	}
	end := c.End(p.now)
	if p.evicting[c.By] {
		soon := batch.Charge{Until: batch.AnyMoment()}
		end = soon.End(p.now)
	}
	till := timeline.Never
	if !end.IsZero() {
		till = secondOf(end)
		if at := timeOf(till); f.firstEnd.IsZero() || at.Before(f.firstEnd) {
			f.firstEnd = at
		}
	}
	takes := f.catalog.Vector(c.Requests)
	f.chargeWhole(takes, c.By)
	f.line.Charge(node, takes, timeline.Span{From: p.from, Till: till})
}

// ceil is the first whole second that is not before a time.
func ceil(t time.Time) time.Time { return timeOf(secondOf(t)) }

// secondOf rounds up: what ends within a second is not free before its end.
func secondOf(t time.Time) timeline.Time {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return timeline.Time(s)
}

// mask finds the nodes that would do for a pod set in a flavor.
func (p *pass) mask(set *batch.PodSet, flavor *batch.Flavor) *mask {
	key := maskKey{constraint: set.Constraint()}
	if flavor != nil {
		key.flavor = flavor.Name
	}
	if m, ok := p.fleet.masks[key]; ok {
		return m
	}
	m := &mask{}
	tolerations := set.Tolerations
	if flavor != nil {
		tolerations = append(slices.Clone(tolerations), flavor.Tolerations...)
	}
	for i, view := range p.Nodes {
		if !set.Selector.Matches(view.Node) || (flavor != nil && !flavor.Selector.Matches(view.Node.Labels)) {
			continue
		}
		if !batch.Tolerates(tolerations, lasting(view.Node.Taints)) {
			continue
		}
		m.all = append(m.all, int32(i))
		if view.Node.Ready && batch.Tolerates(tolerations, view.Node.Taints) {
			m.usable = append(m.usable, int32(i))
		}
	}
	p.fleet.masks[key] = m
	return m
}

// lasting are the taints that say what a node is for. Kubernetes' own ones say
// how it is: cordoned, not ready, short of memory; that passes.
func lasting(taints []batch.Taint) []batch.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t batch.Taint) bool {
		return strings.HasPrefix(t.Key, "node.kubernetes.io/")
	})
}
