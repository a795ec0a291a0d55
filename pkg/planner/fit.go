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

// shape is what is known of all workloads that ask for the same at one door.
type shape struct {
	options []option
	never   batch.Verdict // NeverFits, or empty
	kind    *kind         // of a request for one set of pods
	pods    int
	absent  bool        // it fits only with nodes that are not available
	facts   batch.Facts // of absent
}

// kind is shared by shapes that differ in nothing but their number of pods.
type kind struct{ options []option }

// option is a flavor that could take a workload.
type option struct {
	flavor batch.FlavorName
	sets   []timeline.Set
}

// needKey tells apart what the timeline may be asked.
type needKey struct {
	shape       *shape
	long, least timeline.Long
	last        timeline.Time // by when it must have ended
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
	f.line.Charge(node, f.catalog.Vector(c.Requests), timeline.Span{From: p.from, Till: till})
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

// claim is what a waiting workload claims; its records come with its queues.
func (p *pass) claim(w *batch.Waiting) *claim {
	k := &claim{waiting: w, via: batch.ViaOrder}
	last := w.Workload.LastVerdict
	k.arrived = last == nil || !last.Reason.TakesPart()
	switch promise := w.Workload.Promise; {
	case !promise.IsZero():
		k.promise = secondOf(promise)
	case w.Held != nil:
		k.promise = secondOf(w.Held.Start) // too far ahead to be promised, but kept
	}
	return k
}

// contender works out what a workload needs in a queue, or that it can never
// have it.
func (p *pass) contender(k *claim, q *batch.Queue) (*contender, batch.Verdict) {
	c := &contender{claim: k, queue: q}
	if v := p.limits(c); v.Reason != "" {
		return nil, v
	}
	s := p.shape(k.waiting, q)
	if s.never.Reason != "" {
		never := s.never
		never.Facts.Queue = q.Name
		return nil, never
	}
	c.options, c.key.shape, c.key.long = s.options, s, c.long
	if kept := p.recall(c); kept != nil {
		k.kept = kept
	}
	return c, batch.Verdict{}
}

func (p *pass) shape(w *batch.Waiting, q *batch.Queue) *shape {
	key := shapeKey{shape: w.Shape, door: p.fleet.door(q)}
	s, ok := p.fleet.shapes[key]
	if !ok {
		s = p.newShape(w.Workload.PodSets, q)
		s.pods = podsOf(w.Workload.PodSets)
		s.kind = p.fleet.kindOf(s, w.Workload.PodSets)
		p.fleet.shapes[key] = s
	}
	return s
}

// kindOf finds the kind of a shape. Which flavors could do is part of it: a
// larger gang may not fit everywhere.
func (f *fleet) kindOf(s *shape, sets []batch.PodSet) *kind {
	if len(sets) != 1 {
		return &kind{options: s.options}
	}
	one := sets[0]
	one.Count, one.MinCount = 1, 0
	key := shapeKey{shape: batch.Shape([]batch.PodSet{one})}
	for _, o := range s.options {
		key.door += fmt.Sprintf("%q ", o.flavor)
	}
	k, ok := f.kinds[key]
	if !ok {
		k = &kind{options: s.options}
		f.kinds[key] = k
	}
	return k
}

// newShape judges a request on the empty nodes of each flavor: as they are,
// and with those that are only unavailable.
func (p *pass) newShape(sets []batch.PodSet, q *batch.Queue) *shape {
	pods := podsOf(sets)
	if pods == 0 {
		return &shape{} // paused, which is for its own state to say
	}
	if q.MaxPods > 0 && pods > q.MaxPods {
		return &shape{never: bound(sets, q, "size.maxPods", pods, q.MaxPods)}
	}
	s := &shape{}
	var best attempts
	for _, a := range p.tryFlavors(sets, q) {
		switch {
		case a.fitsAll && !within(a.nodes, q):
			best.outside = first(best.outside, a)
		case a.fits:
			s.options = append(s.options, option{flavor: a.flavor, sets: a.usable})
		case a.fitsAll:
			best.absent = first(best.absent, a)
		default:
			best.closest = first(best.closest, a)
		}
	}
	switch {
	case len(s.options) > 0:
	case best.absent != nil:
		s.absent, s.facts = true, best.absent.facts
	case best.outside != nil:
		s.never = outOfBounds(sets, q, best.outside.nodes)
	default:
		s.never = p.neverFits(sets, q, best.closest)
	}
	return s
}

// attempts are the first of each kind that failed.
type attempts struct{ absent, outside, closest *attempt }

// tryFlavors tries all flavors of a queue that exist, in order.
func (p *pass) tryFlavors(sets []batch.PodSet, q *batch.Queue) []*attempt {
	if len(q.Flavors) == 0 {
		return []*attempt{p.try(sets, q, nil)}
	}
	var all []*attempt
	for _, name := range q.Flavors {
		if flavor, ok := p.Flavors[name]; ok {
			all = append(all, p.try(sets, q, flavor))
		}
	}
	return all
}

func outOfBounds(sets []batch.PodSet, q *batch.Queue, nodes int) batch.Verdict {
	if nodes < q.MinNodes {
		return bound(sets, q, "size.minNodes", nodes, q.MinNodes)
	}
	return bound(sets, q, "size.maxNodes", nodes, q.MaxNodes)
}

func first(a, b *attempt) *attempt {
	if a != nil {
		return a
	}
	return b
}

// within says whether a number of nodes is within the queue's size.
func within(nodes int, q *batch.Queue) bool {
	return nodes >= q.MinNodes && (q.MaxNodes == 0 || nodes <= q.MaxNodes)
}

// attempt is how a request fares on the empty nodes of a flavor.
type attempt struct {
	flavor        batch.FlavorName
	usable, all   []timeline.Set
	fits, fitsAll bool
	nodes         int // that it takes
	facts         batch.Facts
}

func (p *pass) try(sets []batch.PodSet, q *batch.Queue, flavor *batch.Flavor) *attempt {
	a := &attempt{}
	if flavor != nil {
		a.flavor = flavor.Name
	}
	for i := range sets {
		m := p.mask(&sets[i], flavor)
		set := timeline.Set{
			Pods: sets[i].Least(), PerNode: sets[i].PerNodeMax,
			Each: p.fleet.catalog.Vector(sets[i].Requests), Nodes: m.usable,
		}
		a.usable = append(a.usable, set)
		set.Nodes = m.all
		a.all = append(a.all, set)
		if p.fleet.catalog.Unknown(sets[i].Requests) != "" {
			return a
		}
	}
	if place, ok := p.fleet.empty.At(timeline.Need{Sets: a.usable, Long: timeline.Forever}, p.from); ok {
		a.fits, a.fitsAll, a.nodes = true, true, nodesOf(place)
		return a
	}
	place, ok := p.fleet.empty.At(timeline.Need{Sets: a.all, Long: timeline.Forever}, p.from)
	if !ok {
		return a
	}
	a.fitsAll, a.nodes = true, nodesOf(place)
	a.facts = batch.Facts{Queue: q.Name, Flavor: a.flavor, Asked: asks(sets)}
	seen := map[int32]bool{}
	for i := range a.all {
		for _, node := range a.all[i].Nodes {
			if _, usable := slices.BinarySearch(a.usable[i].Nodes, node); usable || seen[node] {
				continue
			}
			seen[node] = true
			if p.Nodes[node].Node.Ready {
				a.facts.Tainted++
			} else {
				a.facts.NotReady++
			}
		}
	}
	return a
}

func nodesOf(place timeline.Place) int {
	seen := map[int]bool{}
	for _, seat := range place.Seats {
		seen[seat.Node] = true
	}
	return len(seen)
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

func bound(sets []batch.PodSet, q *batch.Queue, name string, need, limit int) batch.Verdict {
	return verdictOf(batch.ReasonNeverFits, batch.Facts{
		Queue: q.Name, Asked: asks(sets), Bound: name, Need: batch.Amount(need), Limit: batch.Amount(limit),
	})
}

// neverFits says what is missing, in the flavor that is listed first.
func (p *pass) neverFits(sets []batch.PodSet, q *batch.Queue, a *attempt) batch.Verdict {
	facts := batch.Facts{Queue: q.Name, Asked: asks(sets)}
	if a == nil {
		facts.Bound = "flavors"
		return verdictOf(batch.ReasonNeverFits, facts)
	}
	facts.Flavor = a.flavor
	for i := range sets {
		if unknown := p.fleet.catalog.Unknown(sets[i].Requests); unknown != "" {
			facts.Bound, facts.Resource, facts.Need = "resource", unknown, sets[i].Requests[unknown]
			return verdictOf(batch.ReasonNeverFits, facts)
		}
		if len(a.all[i].Nodes) == 0 {
			facts.Bound = "selector"
			return verdictOf(batch.ReasonNeverFits, facts)
		}
		if r, limit, ok := p.tooLarge(&a.all[i]); ok {
			facts.Bound, facts.Resource, facts.Need, facts.Limit = "pod", p.fleet.catalog.Name(r), a.all[i].Each[r], limit
			return verdictOf(batch.ReasonNeverFits, facts)
		}
		pods, _ := p.fleet.empty.Room(&a.all[i], timeline.Forever, p.from)
		if least := sets[i].Least(); pods < least {
			facts.Bound, facts.Need, facts.Limit = "gang", batch.Amount(least), batch.Amount(pods)
			facts.FreeNodes = len(a.all[i].Nodes)
			facts.Resource = p.fleet.catalog.Name(p.shortest(&a.all[i]))
			return verdictOf(batch.ReasonNeverFits, facts)
		}
	}
	facts.Bound = "together"
	return verdictOf(batch.ReasonNeverFits, facts)
}

// tooLarge finds the resource of which one pod asks more than any node has.
func (p *pass) tooLarge(set *timeline.Set) (resource int, limit batch.Amount, ok bool) {
	for r, need := range set.Each {
		limit = 0
		for _, node := range set.Nodes {
			limit = max(limit, p.fleet.capacity[node][r])
		}
		if need > limit {
			return r, limit, true
		}
	}
	return 0, 0, false
}

// shortest is the resource that runs out first when pods of a set fill the
// empty nodes.
func (p *pass) shortest(set *timeline.Set) (resource int) {
	least := batch.Amount(-1)
	for r, need := range set.Each {
		if need <= 0 {
			continue
		}
		room := batch.Amount(0)
		for _, node := range set.Nodes {
			room += p.fleet.capacity[node][r] / need
		}
		if least < 0 || room < least {
			resource, least = r, room
		}
	}
	return resource
}

func asks(sets []batch.PodSet) []batch.Ask {
	out := make([]batch.Ask, len(sets))
	for i := range sets {
		out[i] = batch.Ask{Pods: sets[i].Count, Least: sets[i].Least(), Requests: sets[i].Requests}
	}
	return out
}
