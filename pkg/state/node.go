package state

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// node is what is known of a node: perhaps only that something sits on it.
type node struct {
	name    batch.NodeName
	node    *batch.Node // nil: not seen, or gone
	charges []sitting   // by key
	view    *batch.NodeView
	gone    bool // it was deleted; else a node that was not seen proves nothing
	lost    bool // see State.Elapse
}

// sitting is what a workload or an unmanaged pod takes of a node: at least
// something.
type sitting struct {
	key     string
	charges []batch.Charge
}

// find is where a key is, or would be, among what sits on a node.
func (n *node) find(key string) (i int, known bool) {
	return slices.BinarySearchFunc(n.charges, key, func(s sitting, key string) int { return cmp.Compare(s.key, key) })
}

// pod is a pod that holds something, or did.
type pod struct {
	batch.Pod
	// ghost: the object is gone, its processes may run until GoneBy.
	ghost bool
}

// live says whether the pod takes something of its node.
func (p *pod) live() bool { return p.Node != "" && !p.Terminal() }

// charge is what the pod takes of its node when it counts by itself.
func (p *pod) charge(until time.Time) batch.Charge {
	c := batch.Charge{By: p.Workload, Name: p.Name, Requests: p.Requests, Until: until}
	if !p.GoneBy.IsZero() {
		c.Until, c.Exact = p.GoneBy, p.ghost
	}
	return c
}

func (s *State) node(name batch.NodeName) *node {
	n, ok := s.nodes[name]
	if !ok {
		n = &node{name: name}
		s.nodes[name] = n
	}
	return n
}

func (s *State) observeNode(seen batch.Node) {
	n := s.node(seen.Name)
	seen.NotReadySince = n.notReadySince(&seen)
	if n.node != nil && n.node.Same(&seen) {
		return // what is known of the nodes holds, as long as they are the same
	}
	s.nodesChanged = s.nodesChanged || n.node == nil
	if !sized(n.node, &seen) {
		s.capacity = nil
	}
	n.node, n.gone = &seen, false
	s.loose = true
	s.dirtyNodes[seen.Name] = n
	s.noteAbsence(n)
}

func (s *State) dropNode(name batch.NodeName) {
	s.settle() // whether work is on it counts
	n, ok := s.nodes[name]
	if !ok {
		return
	}
	n.node, n.view, n.gone = nil, nil, true
	s.loose = true
	s.nodesChanged, s.capacity = true, nil
	s.noteAbsence(n)
	s.forgetNode(n)
}

// forgetNode drops a node that is gone and on which nothing sits.
func (s *State) forgetNode(n *node) {
	if n.node == nil && len(n.charges) == 0 {
		delete(s.nodes, n.name)
		delete(s.absent, n.name)
		delete(s.dirtyNodes, n.name)
	}
}

// setCharges replaces what a workload or an unmanaged pod takes of a node.
func (s *State) setCharges(name batch.NodeName, key string, charges []batch.Charge) {
	n := s.node(name)
	i, known := n.find(key)
	if known {
		s.loose = s.loose || !covers(charges, n.charges[i].charges)
	}
	switch {
	case known && len(charges) == 0:
		n.charges = slices.Delete(n.charges, i, i+1)
	case known:
		n.charges[i].charges = charges
	case len(charges) > 0:
		n.charges = slices.Insert(n.charges, i, sitting{key: key, charges: charges})
	}
	s.dirtyNodes[name] = n
	s.forgetNode(n)
}

// covers says whether charges take all that others do, as long as these.
func covers(charges, others []batch.Charge) bool {
	if len(charges) < len(others) {
		return false
	}
	for i := range others {
		is, was := &charges[i], &others[i]
		if !is.Requests.Covers(was.Requests) || (!is.Until.IsZero() && (was.Until.IsZero() || is.Until.Before(was.Until))) {
			return false
		}
	}
	return true
}

func (s *State) observePod(seen batch.Pod) {
	p, ok := s.pods[seen.UID]
	if ok && p.Workload != seen.Workload {
		s.removePod(p)
		ok = false
	}
	if ok && p.Workload == "" && p.Node != seen.Node && p.Node != "" {
		s.setCharges(p.Node, podKey(p.UID), nil)
	}
	if !ok {
		p = &pod{}
		s.pods[seen.UID] = p
	}
	p.Pod, p.ghost = seen, false
	delete(s.ghosts, seen.UID)
	if seen.Workload == "" {
		s.chargeUnmanaged(p)
		return
	}
	r := s.record(seen.Workload)
	s.uncountStray(r)
	r.pods[seen.UID] = p
	s.touch(r)
}

func (s *State) dropPod(e batch.PodGone) {
	p, ok := s.pods[e.UID]
	if !ok {
		return
	}
	if e.By.IsZero() || !p.live() {
		s.removePod(p)
		return
	}
	p.GoneBy, p.ghost = e.By, true
	s.ghosts[p.UID] = p
	if p.Workload == "" {
		s.chargeUnmanaged(p)
		return
	}
	s.touch(s.record(p.Workload))
}

// dropGhosts forgets pods whose processes are gone by now.
func (s *State) dropGhosts(now time.Time) {
	for _, p := range s.ghosts { //order:any each is dropped by itself
		if !p.GoneBy.After(now) {
			s.removePod(p)
		}
	}
}

func (s *State) removePod(p *pod) {
	delete(s.pods, p.UID)
	delete(s.ghosts, p.UID)
	if p.Workload == "" {
		if p.Node != "" {
			s.setCharges(p.Node, podKey(p.UID), nil)
		}
		return
	}
	r := s.record(p.Workload)
	delete(r.pods, p.UID)
	s.touch(r)
	s.forget(r)
}

func (s *State) chargeUnmanaged(p *pod) {
	if p.Node == "" {
		return
	}
	var charges []batch.Charge
	if p.live() {
		charges = []batch.Charge{p.charge(time.Time{})}
	}
	s.setCharges(p.Node, podKey(p.UID), charges)
}

func podKey(uid batch.PodUID) string { return "pod " + string(uid) }

// refreshViews makes the views of nodes that have changed.
func (s *State) refreshViews() []*batch.NodeView {
	if len(s.dirtyNodes) == 0 && !s.nodesChanged {
		return s.views
	}
	for _, n := range s.dirtyNodes { //order:any each makes its own view
		if n.node == nil {
			continue
		}
		view := &batch.NodeView{Node: n.node, Lost: n.lost}
		if !n.node.Ready && !n.lost {
			view.LostAt = n.node.NotReadySince.Add(s.policy.NodeTimeoutOf())
		}
		if len(n.charges) > 0 {
			view.Charges = make([]batch.Charge, 0, len(n.charges)) // mostly one each
		}
		for i := range n.charges {
			view.Charges = append(view.Charges, n.charges[i].charges...)
		}
		n.view = view
	}
	if s.nodesChanged {
		s.views = make([]*batch.NodeView, 0, len(s.nodes))
		for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
			if n := s.nodes[name]; n.node != nil {
				s.views = append(s.views, n.view)
			}
		}
	} else {
		s.views = slices.Clone(s.views)
		for name, n := range s.dirtyNodes { //order:any each replaces its own view
			if n.node == nil {
				continue
			}
			i, _ := slices.BinarySearchFunc(s.views, name, func(v *batch.NodeView, name batch.NodeName) int {
				return compareNames(v.Node.Name, name)
			})
			s.views[i] = n.view
		}
	}
	clear(s.dirtyNodes)
	s.nodesChanged = false
	return s.views
}
