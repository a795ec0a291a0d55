package state

import (
	"cmp"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// A node that is not ready moves nothing for a while: most come back. After
// Policy.NodeTimeout, or when it is deleted with work on it, it is lost: what
// runs on it is taken back whole, and of what is left there
//
//   - the node's capacity stays taken, until the pods are gone: when the node
//     comes back, they may still be running;
//   - nobody's quota is once its run waits again, and nobody waits for its end:
//     that may never come.
//
//	ready ──► not ready ──(timeout)──► lost
//	  ▲           │                     │
//	  └───────────┴──────(ready)────────┘

// Elapse takes note of the time.
func (s *State) Elapse(now time.Time) {
	for _, n := range s.absent { //order:any each by itself
		if n.node != nil && n.node.NotReadySince.IsZero() {
			// Nobody said since when: since now.
			since := *n.node
			since.NotReadySince = now
			n.node = &since
			s.dirtyNodes[n.name] = n
		}
		if lost := n.gone || !now.Before(n.node.NotReadySince.Add(s.policy.NodeTimeoutOf())); lost != n.lost {
			s.setLost(n, lost)
		}
	}
}

// observePolicy takes in a policy. When absent nodes are lost depends on it.
func (s *State) observePolicy(policy batch.Policy) {
	s.policy = policy
	for name, n := range s.absent { //order:any each by itself
		if n.node != nil {
			s.dirtyNodes[name] = n
		}
	}
}

// noteAbsence remembers a node that is not ready or gone, as long as it is.
func (s *State) noteAbsence(n *node) {
	if n.gone || n.node != nil && !n.node.Ready {
		s.absent[n.name] = n
		return
	}
	delete(s.absent, n.name)
	if n.lost {
		s.setLost(n, false)
	}
}

// setLost changes whether a node is lost, and has all looked at anew that sits
// there.
func (s *State) setLost(n *node, lost bool) {
	n.lost, s.loose = lost, true // what sits there pays no more
	if n.node != nil {
		s.dirtyNodes[n.name] = n
	}
	for i := range n.charges {
		key := n.charges[i].key
		if r, ok := s.records[batch.WorkloadID(key)]; ok {
			s.touch(r)
		}
	}
}

// notReadySince is since when a node that is seen as not ready has been so
// without a break. The API dates the last change of the condition, and that may
// be from one way of not being ready to another.
func (n *node) notReadySince(seen *batch.Node) time.Time {
	switch {
	case seen.Ready:
		return time.Time{}
	case n.node == nil || n.node.Ready || n.node.NotReadySince.IsZero():
		return seen.NotReadySince
	case seen.NotReadySince.IsZero() || n.node.NotReadySince.Before(seen.NotReadySince):
		return n.node.NotReadySince
	}
	return seen.NotReadySince
}

// lost says whether a node is lost.
func (s *State) lost(name batch.NodeName) bool {
	n, ok := s.absent[name]
	return ok && n.lost
}

// lostUnder is the first by name of the nodes that are lost under a run: those
// on which it has a place that it still needs; empty: there is none.
func (s *State) lostUnder(r *record) (first batch.NodeName) {
	if len(s.absent) == 0 {
		return ""
	}
	for _, placement := range r.workload.Allocation.PodSets {
		for _, host := range placement.Hosts {
			if len(r.charges[host]) > 0 && s.lost(host) && (first == "" || cmp.Less(host, first)) {
				first = host
			}
		}
	}
	return first
}

// takesAny says whether a workload takes anything of a node that is not lost.
func (s *State) takesAny(r *record) bool {
	for name := range r.charges { //order:any one is enough
		if !s.lost(name) {
			return true
		}
	}
	return false
}

// leftBehind says whether nobody waits for a live pod: it is on a node that is
// lost, or of an earlier run.
func (s *State) leftBehind(r *record, p *pod) bool {
	return p.live() && (s.lost(p.Node) || r.outlived(p))
}

// outlived says whether a pod is of an earlier run than the one that its
// workload is in, or waits for.
func (r *record) outlived(p *pod) bool {
	return p.Run > 0 && r.workload != nil && p.Run <= r.workload.Restarts
}
