package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
	"github.com/berth-dev/berth/pkg/topology"
)

// fleet is the nodes as the timeline needs them.
type fleet struct {
	known
	tree  *quota.Tree
	empty *timeline.Timeline // a clone of known.bare to ask, once it is needed
	line  *timeline.Timeline // with what runs
	doors map[batch.QueueName]string

	keeping map[batch.WorkloadID]bool // run on whole nodes

	// ends are when the first of what runs on each node should end; Never:
	// nothing should. firstEnd is the first of all; zero: none.
	ends     []timeline.Time
	firstEnd time.Time

	// uncertain are nodes on which the plan itself changes something.
	uncertain *timeline.Nodes
	shared    bool // the maps of known are those of the plan before
	before    known
	retained  []bool // which shapes of before are, by their number
}

// known is what is known of nodes as long as they are the same.
type known struct {
	catalog  batch.Catalog
	capacity []batch.Vector
	index    map[batch.NodeName]int
	bare     *timeline.Timeline // with nothing on it
	whole    int                // index of resourceWhole; below zero: nobody asks for it

	age    int // plans since what nobody asks for was forgotten
	met    int // shapes
	masks  map[maskKey]*mask
	shapes map[shapeKey]*shape
	kinds  map[shapeKey]*kind
	tries  map[shapeKey]*attempt // door: the flavor, and the domain

	domains map[domainKey][]topology.Domain
}

type maskKey struct {
	constraint string
	flavor     batch.FlavorName
}

// mask is which nodes would do for a pod, by their index.
type mask struct {
	key    maskKey
	usable []int32
	// all adds those that only their state keeps out: not ready, cordoned.
	all []int32
}

type shapeKey struct {
	shape string
	door  string
	payer batch.QueueName // whose quota is asked; empty: nobody's
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

// payer is the queue whose quota its work takes; empty: the nodes alone bound
// it. What is known of its work is not shared with other queues.
func (f *fleet) payer(q *batch.Queue) batch.QueueName {
	if f.tree.Has(q.Name) {
		return q.Name
	}
	return ""
}

// again finds what is known, or was: what nobody asks for any more is
// forgotten.
func again[K comparable, V any](now, before map[K]V, key K) (V, bool) {
	v, ok := now[key]
	if !ok {
		if v, ok = before[key]; ok {
			now[key] = v
		}
	}
	return v, ok
}

// newFleet puts all nodes, and what sits on them, on a timeline. Nodes on which
// nothing has changed since the plan before are taken from there.
func newFleet(p *pass) *fleet {
	if p.surveyed != nil {
		return p.surveyed.anew(p)
	}
	f := &fleet{tree: p.tree, doors: map[batch.QueueName]string{}, uncertain: timeline.NewNodes(len(p.Nodes))}
	if p.carried != nil {
		f.known, f.before = p.carried.known, p.carried.known
		f.line = p.carried.line.Since(p.from)
		f.ends = slices.Clone(p.carried.ends)
	} else {
		f.survey(p)
		f.line = f.bare.Clone()
		f.ends = make([]timeline.Time, len(p.Nodes))
	}
	f.sweep(p)
	f.doubt(p)
	if p.carried != nil {
		f.catchUp(p)
	} else {
		f.chargeAll(p, func(int) bool { return true })
	}
	return f
}

// anew is the fleet of a pass that goes over everything again: only what that
// takes back is another.
func (f *fleet) anew(p *pass) *fleet {
	again := &fleet{
		known: f.known, before: f.before, retained: f.retained, shared: f.shared, keeping: f.keeping,
		tree: p.tree, doors: f.doors, uncertain: timeline.NewNodes(len(p.Nodes)),
		line: p.ground.nodes.Clone(), ends: slices.Clone(f.ends),
	}
	again.doubt(p)
	again.chargeAll(p, func(i int) bool { return again.uncertain.Has(i) || f.uncertain.Has(i) })
	return again
}

// chargeAll puts what sits there on those nodes of which it is not known.
func (f *fleet) chargeAll(p *pass, unknown func(node int) bool) {
	for i := range p.Nodes {
		if unknown(i) {
			f.charge(p, i)
		}
	}
	f.findFirstEnd(p)
}

// findFirstEnd finds when the first of what runs should end.
func (f *fleet) findFirstEnd(p *pass) {
	first := timeline.Never
	for i, view := range p.Nodes {
		if !view.Lost {
			first = min(first, f.ends[i]) // of a lost one no end is of use
		}
	}
	if first != timeline.Never {
		f.firstEnd = timeOf(first)
	}
}

// sweepEach is how many plans go by until what nobody asks for any more is
// forgotten: to keep it costs little, to look through all costs a plan more.
const sweepEach = 64

// sweep begins to forget what is known of requests that nobody makes any more,
// if it is time for it.
func (f *fleet) sweep(p *pass) {
	if p.carried != nil && f.age < sweepEach {
		f.age++
		f.shared, f.before = true, known{}
		return
	}
	f.age = 0
	f.masks, f.shapes, f.kinds, f.tries = map[maskKey]*mask{}, map[shapeKey]*shape{}, map[shapeKey]*kind{}, map[shapeKey]*attempt{}
	f.domains = map[domainKey][]topology.Domain{}
	f.retained = make([]bool, f.met)
}

// sweeps says whether this plan forgets, so that whoever waits has to name what
// is of use still.
func (f *fleet) sweeps() bool { return len(f.retained) > 0 }

// own makes the maps of requests this plan's own, before it writes to them.
func (f *fleet) own() {
	if f.shared {
		f.masks, f.shapes, f.kinds, f.tries = maps.Clone(f.masks), maps.Clone(f.shapes), maps.Clone(f.kinds), maps.Clone(f.tries)
		f.domains = maps.Clone(f.domains)
		f.shared = false
	}
}

// survey finds out what nodes there are.
func (f *fleet) survey(p *pass) {
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
	f.catalog = batch.NewCatalog(names)
	f.index = make(map[batch.NodeName]int, len(p.Nodes))
	for i, view := range p.Nodes {
		f.capacity = append(f.capacity, f.catalog.Vector(view.Node.Capacity))
		f.index[view.Node.Name] = i
	}
	f.planWhole(p)
	f.bare = timeline.New(f.capacity, p.from)
	f.bare.Freeze()
}

// doubt marks the nodes of what this plan takes back.
func (f *fleet) doubt(p *pass) {
	if len(p.evicting)+len(p.leaving)+len(p.relimited) == 0 {
		return
	}
	for i, view := range p.Nodes {
		for k := range view.Charges {
			by := view.Charges[k].By
			_, evicted := p.evicting[by]
			_, relimited := p.relimited[by]
			if evicted || relimited || p.leaving[by] {
				f.uncertain.Add(i)
			}
		}
	}
}

// vacant is the nodes with nothing on them.
func (f *fleet) vacant() *timeline.Timeline {
	if f.empty == nil {
		f.empty = f.bare.Clone()
	}
	return f.empty
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
	if m, ok := again(p.fleet.masks, p.fleet.before.masks, key); ok {
		return m
	}
	m := &mask{key: key}
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
	p.fleet.own()
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
