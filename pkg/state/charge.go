package state

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// recharge works out anew what a workload takes of each node.
func (s *State) recharge(r *record) {
	if len(r.charges) == 0 && len(r.pods) == 0 && !r.holdsPlaces() {
		return // as of most that wait
	}
	fresh := r.takes()
	for name := range r.charges { //order:any each node by itself
		if _, ok := fresh[name]; !ok {
			s.setCharges(name, string(r.id), nil)
		}
	}
	for name, charges := range fresh { //order:any each node by itself
		if !slices.EqualFunc(charges, r.charges[name], func(a, b batch.Charge) bool { return a.Same(&b) }) {
			s.setCharges(name, string(r.id), charges)
		}
	}
	r.charges = fresh
	r.uses, r.used = nil, false
	if s.paying != nil {
		s.paying[r.id] = true
	}
	if len(fresh) > 0 {
		s.charged[r.id] = r
	} else {
		delete(s.charged, r.id)
	}
}

// takes is what the workload takes of each node.
//
// While it holds its allocation, each place that is not free early takes what
// its pod set asks for, or what the pod there asks for if that is more. All
// other live pods count by themselves: those on no place of the allocation, and
// all pods of a workload that is gone, has ended, or was taken back and makes
// no pods any more.
func (r *record) takes() map[batch.NodeName][]batch.Charge {
	charges := map[batch.NodeName][]batch.Charge{}
	live := r.livePods()
	if r.holdsPlaces() {
		live = r.chargePlaces(charges, live)
	}
	for _, p := range live {
		charges[p.Node] = append(charges[p.Node], r.chargeOf(p))
	}
	return charges
}

// chargeOf is what a pod takes that counts by itself.
func (r *record) chargeOf(p *pod) batch.Charge {
	if r.outlived(p) {
		c := p.charge(batch.AnyMoment())
		c.Left = true
		return c
	}
	return p.charge(r.podsEnd())
}

// holdsPlaces says whether empty places of the allocation are kept.
//
// What a plan is bound to decide counts as decided: an owner that has ended, a
// start that was refused. Else the plan that says so would leave the next one
// something to find.
func (r *record) holdsPlaces() bool {
	if r.workload == nil || r.workload.Allocation == nil || r.ended() {
		return false
	}
	return !r.evicting() || r.makesPods()
}

func (r *record) ended() bool {
	return r.workload.Finished != nil || (r.owner != nil && r.owner.End != nil)
}

func (r *record) evicting() bool {
	return r.workload.Eviction != nil || r.refused != "" || r.suspended()
}

// suspended says whether somebody else suspended the owner while it ran, or
// lets it ask for no pods.
func (r *record) suspended() bool {
	return r.trusted && r.owner != nil && r.owner.Started && (r.owner.Suspended || r.owner.Paused)
}

// makesPods says whether new pods of an evicted run may still appear.
func (r *record) makesPods() bool {
	return r.owner == nil || (!r.owner.Suspended && r.released())
}

// released says whether the owner was released for this run, or made pods.
func (r *record) released() bool {
	return (r.owner != nil && r.owner.Started) || len(r.livePods()) > 0
}

// podsEnd is when a pod that counts by itself, and is not being deleted, is
// expected to be gone: with its run, or any moment if that is over.
func (r *record) podsEnd() time.Time {
	w := r.workload
	if w == nil || w.Allocation == nil || r.ended() || r.evicting() {
		return r.graceEnd()
	}
	return w.Allocation.Deadline
}

// graceEnd is when the pods of a run that is being taken back should be gone,
// as far as its notice says.
func (r *record) graceEnd() time.Time {
	if r.workload == nil || r.workload.Eviction == nil || r.ended() {
		return batch.AnyMoment()
	}
	own := time.Duration(0)
	if r.owner != nil {
		own = r.owner.Termination
	}
	return later(batch.AnyMoment(), r.workload.Eviction.GoneBy(own))
}

// livePods are the pods that take something of a node, by UID.
func (r *record) livePods() []*pod {
	if len(r.pods) == 0 {
		return nil
	}
	var live []*pod
	for _, p := range r.pods { //order:any sorted below
		if p.live() {
			live = append(live, p)
		}
	}
	slices.SortFunc(live, byUID)
	return live
}

func byUID(a, b *pod) int { return cmp.Compare(a.UID, b.UID) }

// seated are pods of one pod set, by host.
type seated map[batch.NodeName][]*pod

// chargePlaces charges the places of the allocation and returns the pods that
// have none.
func (r *record) chargePlaces(charges map[batch.NodeName][]batch.Charge, live []*pod) (rest []*pod) {
	w := r.workload
	sets, rest := r.seatPods(live)
	sums := map[batch.NodeName]batch.Resources{}
	until := map[batch.NodeName]time.Time{}
	for i, placement := range w.Allocation.PodSets {
		each := requestsOf(w, i, placement.PodSet)
		counts := map[batch.NodeName]int{}
		for host, pods := range sets[i] { //order:any each host by itself
			counts[host] = len(pods)
		}
		needed, done := r.neededOf(i)
		for _, rank := range batch.SeatsOf(placement, counts, done, needed).Charged {
			host := placement.Hosts[rank]
			requests := each
			if pods := sets[i][host]; len(pods) > 0 {
				requests = each.Max(pods[0].Requests)
				until[host] = later(until[host], pods[0].GoneBy)
				sets[i][host] = pods[1:]
			}
			sums[host] = sums[host].Plus(requests)
		}
	}
	for host, requests := range sums { //order:any each host by itself
		c := batch.Charge{By: r.id, Name: w.Namespace + "/" + w.Name, Requests: requests, Until: w.Allocation.Deadline}
		if r.evicting() {
			c.Until = later(r.graceEnd(), until[host])
		}
		charges[host] = append(charges[host], c)
	}
	return rest
}

// seatPods gives the live pods to the places on their nodes: to the pod set
// that asks for the same, else to any with a place left there. Pods whose
// object is gone take none, and pods of an earlier run neither: their place is
// open for the next pod.
func (r *record) seatPods(live []*pod) (sets []seated, rest []*pod) {
	w := r.workload
	places := make([]map[batch.NodeName]int, len(w.Allocation.PodSets))
	sets = make([]seated, len(places))
	for i, placement := range w.Allocation.PodSets {
		places[i], sets[i] = map[batch.NodeName]int{}, seated{}
		for _, host := range placement.Hosts {
			places[i][host]++
		}
	}
	seat := func(p *pod, alike bool) bool {
		for i, placement := range w.Allocation.PodSets {
			if places[i][p.Node] == 0 || (alike && !requestsOf(w, i, placement.PodSet).Equal(p.Requests)) {
				continue
			}
			places[i][p.Node]--
			sets[i][p.Node] = append(sets[i][p.Node], p)
			return true
		}
		return false
	}
	var others []*pod
	for _, p := range live {
		switch {
		case p.ghost, r.outlived(p):
			rest = append(rest, p)
		case !seat(p, true):
			others = append(others, p)
		}
	}
	for _, p := range others {
		if !seat(p, false) {
			rest = append(rest, p)
		}
	}
	slices.SortFunc(rest, byUID)
	return sets, rest
}

// neededOf is how many pods of a set must run, below zero: all; and the ranks
// that are done.
func (r *record) neededOf(set int) (needed int, done []int) {
	needed = -1
	if r.owner == nil {
		return needed, nil
	}
	if set < len(r.owner.Needed) {
		needed = r.owner.Needed[set]
	}
	if set < len(r.owner.Done) {
		done = r.owner.Done[set]
	}
	return needed, done
}

// requestsOf is what one pod of a placement asks for. The spec may have been
// edited since the start; a pod set that is not there any more asks for nothing
// beyond its pods.
func requestsOf(w *batch.Workload, i int, name string) batch.Resources {
	if i < len(w.PodSets) && w.PodSets[i].Name == name {
		return w.PodSets[i].Requests
	}
	for _, s := range w.PodSets {
		if s.Name == name {
			return s.Requests
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
