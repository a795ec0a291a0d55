package planner

import (
	"fmt"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
	"github.com/berth-dev/berth/pkg/topology"
)

// request is what is asked of a queue.
type request struct {
	shape string
	sets  []batch.PodSet
	queue *batch.Queue
	whole bool // whole nodes
}

// shape is what is known of all workloads that ask for the same at one door.
type shape struct {
	number  int // in the order in which shapes were met
	key     shapeKey
	masks   []*mask
	options []option
	never   batch.Verdict // NeverFits, or empty
	kind    *kind         // of a request for one set of pods
	pods    int
	root    int         // of the tree whose quotas it pays from
	whole   bool        // whole nodes
	absent  bool        // it fits only with nodes that are not available
	facts   batch.Facts // of absent
}

// kind is shared by shapes that differ in nothing but their number of pods.
type kind struct {
	key     shapeKey // empty: of one shape alone
	options []option
	one     *shape // a single pod of it; nil: there are several pod sets
}

// option is a flavor that could take a workload.
type option struct {
	flavor  batch.FlavorName
	sets    []timeline.Set
	bill    quota.Bill
	decides int            // the resource by which domains are compared
	domain  string         // of the flavor; empty: none is asked for
	wide    []timeline.Set // the sets on all domains of the flavor that could do; nil: none is asked for
}

// needKey tells apart what the timeline may be asked.
type needKey struct {
	shape       *shape
	long, least timeline.Long
	last        timeline.Time // by when it must have ended
}

// claim is what a waiting workload claims; its records come with its queues.
func (p *pass) claim(w *batch.Waiting) claim {
	k := claim{waiting: w, via: batch.ViaOrder}
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

// contend makes c the record of a claim in a queue: it works out what the workload
// needs there, or that it can never have it.
func (p *pass) contend(c *contender, k *claim, q *batch.Queue) batch.Verdict {
	*c = contender{claim: k, queue: q}
	if v := p.limits(c); v.Reason != "" {
		return v
	}
	s := p.shape(k.waiting, q)
	if s.never.Reason != "" {
		never := s.never
		never.Facts.Queue = q.Name
		return never
	}
	c.options, c.key.shape, c.key.long = s.options, s, c.long
	return batch.Verdict{}
}

func (p *pass) shape(w *batch.Waiting, q *batch.Queue) *shape {
	key := shapeKey{shape: w.Shape, door: p.fleet.door(q), payer: p.fleet.payer(q), whole: wantsWhole(w.Workload, q)}
	s, ok := again(p.fleet.shapes, p.fleet.before.shapes, key)
	if !ok {
		s = p.newShape(request{shape: w.Shape, sets: w.Workload.PodSets, queue: q, whole: key.whole})
		s.pods, s.whole = podsOf(w.Workload.PodSets), key.whole
		s.kind = p.kindOf(s, request{sets: w.Workload.PodSets, queue: q, whole: key.whole})
		s.number, s.key, s.root = p.fleet.met, key, p.tree.Root(q.Name)
		p.fleet.met++
		p.fleet.own()
		p.fleet.shapes[key] = s
	} else {
		p.fleet.retain(s)
	}
	return s
}

// retain keeps what is known of a shape, which is of use again.
func (f *fleet) retain(s *shape) {
	if s.number >= len(f.retained) || f.retained[s.number] {
		return
	}
	f.retained[s.number] = true
	f.shapes[s.key] = s
	if s.kind.key != (shapeKey{}) {
		f.kinds[s.kind.key] = s.kind
	}
	for _, m := range s.masks {
		f.masks[m.key] = m
	}
}

// kindOf finds the kind of a shape. Which flavors could do is part of it: a
// larger gang may not fit everywhere. So is whose quota is asked.
func (p *pass) kindOf(s *shape, r request) *kind {
	if len(r.sets) != 1 {
		return &kind{options: s.options}
	}
	one := r.sets[0]
	one.Count, one.MinCount = 1, 0
	key := shapeKey{shape: batch.Shape([]batch.PodSet{one}), whole: r.whole, payer: p.fleet.payer(r.queue)}
	for _, o := range s.options {
		key.door += fmt.Sprintf("%q%q ", o.flavor, o.domain)
	}
	k, ok := again(p.fleet.kinds, p.fleet.before.kinds, key)
	if !ok {
		k = &kind{key: key, options: s.options, one: &shape{options: slices.Clone(s.options), pods: 1}}
		for i := range k.one.options {
			o := &k.one.options[i]
			o.bill = p.billOf(r.queue, o.flavor, r.sets, func(int) int { return 1 })
		}
		p.fleet.own()
		p.fleet.kinds[key] = k
	}
	return k
}

// newShape judges a request on the empty nodes of each flavor: as they are,
// and with those that are only unavailable.
func (p *pass) newShape(r request) *shape {
	sets, q := r.sets, r.queue
	pods := podsOf(sets)
	if pods == 0 {
		return &shape{} // paused, which is for its own state to say
	}
	if q.MaxPods > 0 && pods > q.MaxPods {
		return &shape{never: bound(sets, q, "size.maxPods", pods, q.MaxPods)}
	}
	s := &shape{}
	var best attempts
	for _, a := range p.tryFlavors(r) {
		s.masks = append(s.masks, a.masks...)
		bill := p.billOf(q, a.flavor, sets, func(set int) int { return sets[set].Least() })
		switch {
		case a.fitsAll && !within(a.nodes, q):
			best.outside = first(best.outside, a)
		case a.fitsAll && p.beyondQuota(q, bill, &best):
		case a.fits:
			s.options = append(s.options, option{flavor: a.flavor, sets: a.usable, bill: bill, domain: a.domain.Name(), decides: p.decides(a.usable)})
		case a.fitsAll:
			best.absent = first(best.absent, a)
		default:
			best.closest = p.closer(best.closest, a)
		}
	}
	widen(s.options)
	switch {
	case len(s.options) > 0:
	case best.absent != nil:
		s.absent, s.facts = true, best.absent.facts
	case best.outside != nil:
		s.never = outOfBounds(sets, q, best.outside.nodes)
	case best.beyond != nil:
		s.never = beyond(sets, best.beyond)
	default:
		s.never = p.neverFits(sets, q, best.closest)
	}
	return s
}

// attempts are the first of each kind that failed.
type attempts struct {
	absent, outside, closest *attempt
	beyond                   *quota.Refusal
}

// tryFlavors tries all flavors of a queue that exist, in order.
func (p *pass) tryFlavors(r request) []*attempt {
	if len(r.queue.Flavors) == 0 {
		return p.tryIn(r, nil)
	}
	var all []*attempt
	for _, name := range r.queue.Flavors {
		if flavor, ok := p.Flavors[name]; ok {
			all = append(all, p.tryIn(r, flavor)...)
		}
	}
	return all
}

// tryOnce tries, unless that is known from another queue.
func (p *pass) tryOnce(r request, flavor *batch.Flavor, domain *topology.Domain) *attempt {
	key := shapeKey{shape: r.shape, whole: r.whole}
	if flavor != nil {
		key.door = string(flavor.Name)
	}
	if domain != nil {
		key.door += " " + domain.Name()
	}
	a, ok := again(p.fleet.tries, p.fleet.before.tries, key)
	if !ok {
		a = p.try(r, flavor, domain)
		p.fleet.own()
		p.fleet.tries[key] = a
	}
	return a
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
	domain        *topology.Domain // nil: all nodes of the flavor
	astray        string           // why there is no domain to try; empty: there is one, or none is asked for
	masks         []*mask          // of its sets
	usable, all   []timeline.Set
	away          bool // some of all are not usable
	fits, fitsAll bool
	nodes         int // the fewest that it takes
	facts         batch.Facts
}

// try tries a request on the empty nodes of a flavor. The nodes that count
// against the size of a queue are the fewest that it needs when all of them,
// also those that are away just now, are empty: a bound of what is asked for,
// which does not come and go with the nodes.
func (p *pass) try(r request, flavor *batch.Flavor, domain *topology.Domain) *attempt {
	a := &attempt{domain: domain}
	if flavor != nil {
		a.flavor = flavor.Name
	}
	for i := range r.sets {
		m := p.mask(&r.sets[i], flavor)
		a.masks = append(a.masks, m)
		set := timeline.Set{
			Pods: r.sets[i].Least(), PerNode: r.sets[i].PerNodeMax,
			Each: p.fleet.catalog.Vector(r.sets[i].Requests), Nodes: domain.Only(m.usable),
		}
		p.fleet.setWhole(&set, r.whole)
		a.usable = append(a.usable, set)
		set.Nodes = domain.Only(m.all)
		a.all = append(a.all, set)
		a.away = a.away || len(set.Nodes) > len(a.usable[i].Nodes)
		if p.fleet.catalog.Unknown(r.sets[i].Requests) != "" {
			return a
		}
	}
	all, usable := timeline.Need{Sets: a.all, Long: timeline.Forever}, timeline.Need{Sets: a.usable, Long: timeline.Forever}
	place, ok := p.fleet.vacant().At(all, p.from)
	if !ok && a.away {
		place, ok = p.fleet.vacant().At(usable, p.from) // several pod sets may by chance do better on fewer nodes
	}
	if !ok {
		return a
	}
	a.fits, a.fitsAll, a.nodes = true, true, nodesOf(place)
	if !a.away {
		return a
	}
	if _, a.fits = p.fleet.vacant().At(usable, p.from); !a.fits {
		a.facts = batch.Facts{Flavor: a.flavor, Asked: asks(r.sets)}
		p.countAway(a)
	}
	return a
}

// countAway counts the nodes that would do and are away, and names the first few.
func (p *pass) countAway(a *attempt) {
	seen := map[int32]bool{}
	var notReady, tainted []string
	for i := range a.all {
		for _, node := range a.all[i].Nodes {
			if _, usable := slices.BinarySearch(a.usable[i].Nodes, node); usable || seen[node] {
				continue
			}
			seen[node] = true
			if n := p.Nodes[node].Node; n.Ready {
				tainted = append(tainted, string(n.Name))
			} else {
				notReady = append(notReady, string(n.Name))
			}
		}
	}
	a.facts.NotReady, a.facts.NotReadyNames = len(notReady), firstNames(notReady)
	a.facts.Tainted, a.facts.TaintedNames = len(tainted), firstNames(tainted)
}

func nodesOf(place timeline.Place) int {
	seen := map[int]bool{}
	for _, seat := range place.Seats {
		seen[seat.Node] = true
	}
	return len(seen)
}
