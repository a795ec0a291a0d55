package state

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// hasQuotas says whether anybody has a quota. Where nobody has, what is used of
// it is not worth working out.
func (s *State) hasQuotas() bool {
	for _, q := range s.queues.rows { //order:any any of them
		if len(q.Quotas) > 0 {
			return true
		}
	}
	for _, c := range s.cohorts.rows { //order:any any of them
		if len(c.Quotas) > 0 {
			return true
		}
	}
	return false
}

// Quotas returns who may have quotas and what is taken of them; frozen. Where
// nobody has a quota, nothing is.
func (s *State) Quotas() (map[batch.QueueName]*batch.Queue, map[batch.CohortName]*batch.Cohort, []batch.Use) {
	var uses []batch.Use
	if s.hasQuotas() {
		s.settle()
		uses = s.uses()
	}
	return s.queues.frozen(), s.cohorts.frozen(), uses
}

// uses is what is taken of all quotas, by workload. What a workload takes of
// its queue's quota is what it is charged for on the nodes: from its admission
// until its pods are gone. As long as that is the same, it is the same list.
func (s *State) uses() []batch.Use {
	switch {
	case s.paying == nil:
		s.paying = make(map[batch.WorkloadID]bool, len(s.charged))
		for id := range s.charged { //order:any a set
			s.paying[id] = true
		}
	case len(s.paying) == 0:
		return slices.Clip(s.usesList)
	}
	var fresh []batch.Use
	for id := range s.paying { //order:any sorted below
		if r := s.charged[id]; r != nil {
			fresh = append(fresh, s.quotaUses(r)...)
		}
	}
	slices.SortFunc(fresh, compareUses)
	all := make([]batch.Use, 0, len(s.usesList)+len(fresh))
	for _, u := range s.usesList {
		if s.paying[u.By] {
			continue
		}
		for len(fresh) > 0 && compareUses(fresh[0], u) < 0 {
			all, fresh = append(all, fresh[0]), fresh[1:]
		}
		all = append(all, u)
	}
	s.usesList = append(all, fresh...)
	clear(s.paying)
	return slices.Clip(s.usesList)
}

// forgetUses is for when nobody has a quota: nobody asks then, and what has changed
// would be noted for ever.
func (s *State) forgetUses() { s.paying, s.usesList = nil, nil }

func compareUses(a, b batch.Use) int {
	return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Flavor, b.Flavor),
		a.Until.Compare(b.Until), compareBool(a.Exact, b.Exact), compareBool(a.Left, b.Left))
}

// quotaUses sums the charges of a record, those that end together in one. They
// are worked out once for each change. For what is left on a node that is lost
// nobody pays: it is of no use to him. A run that is taken back since its node is
// lost pays until it waits again, so that nobody comes before it meanwhile.
func (s *State) quotaUses(r *record) []batch.Use {
	if r.used {
		return r.uses
	}
	r.used = true
	runs := r.workload != nil && r.workload.Allocation != nil
	if runs {
		a := r.workload.Allocation
		for _, name := range slices.Sorted(maps.Keys(r.charges)) {
			for _, c := range r.charges[name] {
				if !c.Left && (!s.lost(name) || !r.ended()) {
					r.addUse(batch.Use{Queue: a.Queue, Flavor: a.Flavor, Charge: c})
				}
			}
		}
	}
	for _, p := range r.livePods() {
		if left := r.outlived(p); p.Queue != "" && (left || !runs) && !s.lost(p.Node) {
			r.addUse(batch.Use{Queue: p.Queue, Flavor: p.Flavor, Charge: r.chargeOf(p)})
		}
	}
	return r.uses
}

func (r *record) addUse(u batch.Use) {
	for i := range r.uses {
		known := &r.uses[i]
		if known.Queue == u.Queue && known.Flavor == u.Flavor && known.Exact == u.Exact && known.Left == u.Left && known.Until.Equal(u.Until) {
			known.Requests = known.Requests.Plus(u.Requests)
			return
		}
	}
	r.uses = append(r.uses, u)
}
