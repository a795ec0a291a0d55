package planner

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// evictionRoundsMax bounds how often a plan is gone over because somebody was
// found a place that others must give up. One round finds almost all of them.
const evictionRoundsMax = 24

// roundsToVet are the rounds that it takes to see whether whoever was found a place
// would lose it at once, and to go on without: nobody is found one in the last of them.
const roundsToVet = 3

// retriesMax bounds how often in one plan those are looked at again who would have
// lost their places at once.
const retriesMax = 3

// preemptorsMax bounds for how many others are told to go in one plan. The next ones
// are found places by the plan a second later, so that no burst of them holds up what
// else there is to decide.
const preemptorsMax = 250

// preempt finds places for those that wait and may take the place of others. It
// returns the pass to be made with what was found, or nil if nothing was.
//
// They are taken in order, each on what the ones before it have left: beside
// what runs, what is kept or planned for higher-ranked work, and as if those
// that are taken back already were gone. So two never count one victim.
//
// What starts in this plan is in nobody's way who is ranked before it. If that
// leads to nothing, those that start only to be taken at once do not start: they
// lose nothing by it. And then all of it is looked at as the next plan would find
// it: what starts as running, to be taken together with what runs. What is not taken
// starts first in the pass that follows, so that it is beside it that all is found.
//
// Whoever would be taken at once from a place that was made for it takes none. Who is
// one too many in a plan (preemptorsMax) is looked at by the next.
func (p *pass) preempt() *pass {
	if !p.anyMayTake() {
		return nil
	}
	for _, of := range []prey{preyNamed, preyRuns, preyStarts, preyAll} {
		if of == preyNamed && len(p.named) == 0 || of >= preyStarts && len(p.begun) == 0 {
			continue
		}
		if of == preyAll && len(p.made) >= preemptorsMax {
			continue
		}
		h := p.newHunt(of)
		if h == nil || of != preyRuns && len(h.victims) == 0 {
			continue // and who is safe until when is known of what runs
		}
		h.goOver()
		if p.noteVacated(h); len(h.named) == 0 {
			continue
		}
		if of != preyNamed {
			return p.with(h)
		}
		if again := p.withoutNamed(h); again != nil {
			return again
		}
	}
	return nil
}

// withoutNamed is the pass to be made if some of those for whom others are to go
// would lose their places at once; nil: none would.
func (p *pass) withoutNamed(h *hunt) *pass {
	maps.DeleteFunc(h.stayOut, func(id batch.WorkloadID, _ *batch.Workload) bool { return p.named[id] == nil })
	switch {
	case len(h.stayOut) == 0:
		return nil
	case p.found == nil && p.before != nil:
		return p.asNext()
	default:
		return p.without(h.stayOut)
	}
}

// anew is a pass over the same snapshot with other decisions: what was found out
// about the nodes, and about those that wait, holds.
func (p *pass) anew() *pass {
	again := newPass(p.Snapshot, p.now)
	again.surveyed, again.judged, again.ground, again.usesPay = p.fleet, p.roll, p.ground, p.usesPay
	again.steady = false // what victims hold becomes free
	return again
}

// asNext is the same pass once more, as the next plan would make it: that has the
// planned starts for promises which the pass before has found. Whether somebody
// would lose its place at once must not depend on which of the two asks.
func (p *pass) asNext() *pass {
	again := p.anew()
	again.taken, again.named, again.made, again.ousted = p.taken, p.named, p.made, p.ousted
	again.barred, again.lifted, again.retried, again.firm, again.found = p.barred, p.lifted, p.retried, p.firm, p.before
	return again
}

// findings are the planned starts of a pass by who has them; nil of one for whom it
// has looked and found none.
func (p *pass) findings() map[batch.WorkloadID]*kept {
	found := map[batch.WorkloadID]*kept{}
	for _, c := range p.order[:p.reached] {
		switch {
		case c.started:
		case c.at != nil:
			found[c.workload().ID] = &kept{record: c.at, option: c.option, place: c.place}
		default:
			found[c.workload().ID] = nil
		}
	}
	return found
}

// inherit binds a record to the planned start that the pass before has found. Newcomers
// are none any more.
func (p *pass) inherit(c *contender) {
	was, known := p.found[c.workload().ID]
	if !known {
		return
	}
	c.tried, c.inherits = true, true
	if c.promise, c.kept = 0, nil; was != nil {
		c.promise = was.place.From
		if was.record.queue.Name == c.queue.Name {
			c.kept = &kept{record: c, option: was.option, place: was.place}
		}
	}
}

// with is the pass to be made with what was found.
func (p *pass) with(h *hunt) *pass {
	again := p.anew()
	again.before, again.finds = p.findings(), true
	again.taken, again.named, again.ousted, again.barred = h.taken, h.named, h.stayOut, maps.Clone(p.barred)
	again.made = slices.Concat(p.made, h.made)
	maps.Copy(again.taken, p.taken)
	maps.Copy(again.named, p.named)
	maps.Copy(again.ousted, p.ousted)
	// Whom one that is barred would have lost its place to has one by now, or may
	// find none beside those that have: it is looked at again, a few times.
	again.retried, again.lifted = maps.Clone(p.retried), maps.Clone(p.lifted)
	maps.DeleteFunc(again.barred, func(id batch.WorkloadID, by []batch.WorkloadID) bool {
		switch {
		case again.named[by[0]] != nil:
		case again.named[id] != nil || h.prey != preyRuns:
			return false // it has been, or nobody goes for those that were named
		default:
			if again.retried[id]++; again.retried[id] > retriesMax {
				return false
			}
		}
		again.lifted[id] = lift{by: by, made: h.made}
		return true
	})
	again.firm = map[batch.WorkloadID]*kept{}
	for _, i := range h.held {
		c := p.order[i]
		id := c.workload().ID
		if c.best() != c || !c.starts(p) || again.ousted[id] != nil {
			continue
		}
		if h.prey == preyAll || p.firm[id] != nil || h.beside[c] || c.nomination != nil && p.named[id] == nil {
			again.firm[id] = &kept{record: c, option: c.option, place: c.place}
		}
	}
	return again
}

// without is the pass to be made when some of those for whom others were to go
// would not keep their place: nobody goes for them. Nor for those found after them whose
// right is by quotas: it may rest on what they would have paid; nor for those that were
// found a place on nodes that somebody was to leave for them. These are looked at again.
func (p *pass) without(some map[batch.WorkloadID]*batch.Workload) *pass {
	again := p.anew()
	again.before, again.retried = p.before, p.retried
	again.barred, again.taken, again.named, again.ousted = bars{}, maps.Clone(p.taken), maps.Clone(p.named), maps.Clone(p.ousted)
	maps.Copy(again.barred, p.barred)
	for id, by := range some { //order:any each by itself
		again.barred[id] = append(slices.Clip(again.barred[id]), by.ID)
	}
	gone := map[batch.WorkloadID]bool{}
	for _, m := range p.made {
		if some[m.id] != nil || len(gone) > 0 && (m.byQuota || p.onNodesLeftFor(gone, m.id)) {
			gone[m.id] = true
		} else {
			again.made = append(again.made, m)
		}
	}
	maps.DeleteFunc(again.named, func(id batch.WorkloadID, _ *batch.Nomination) bool { return gone[id] })
	maps.DeleteFunc(again.taken, func(_ batch.WorkloadID, e batch.Eviction) bool { return gone[e.For] })
	maps.DeleteFunc(again.ousted, func(_ batch.WorkloadID, by *batch.Workload) bool { return gone[by.ID] })
	// Beside who is left, those whose bar was lifted for those that are gone are known to get no place.
	again.lifted = maps.Clone(p.lifted)
	maps.DeleteFunc(again.lifted, func(id batch.WorkloadID, l lift) bool {
		if slices.ContainsFunc(l.made, func(m made) bool { return again.named[m.id] != nil }) {
			return false
		}
		if again.barred[id] == nil {
			again.barred[id] = l.by
		}
		return true
	})
	if len(again.named) > 0 {
		again.firm = p.firm
	}
	return again
}

// onNodesLeftFor says whether one that was found a place has it on a node that a victim
// of some others was to leave.
func (p *pass) onNodesLeftFor(some map[batch.WorkloadID]bool, id batch.WorkloadID) bool {
	left := map[batch.NodeName]bool{}
	for victim, e := range p.taken { //order:any a set
		if s := p.startedOf(victim); s != nil && some[e.For] {
			for _, placement := range s.Workload.Allocation.PodSets {
				for _, host := range placement.Hosts {
					left[host] = true
				}
			}
		}
	}
	n := p.named[id]
	return n != nil && slices.ContainsFunc(n.Allocation.PodSets, func(placement batch.Placement) bool {
		return slices.ContainsFunc(placement.Hosts, func(host batch.NodeName) bool { return left[host] })
	})
}

// made is one for whom others are to go; byQuota says that quotas have given it
// the right, with what those before it pay or no more pay.
type made struct {
	id      batch.WorkloadID
	byQuota bool
}

// justReleased says whether a workload waited for a start that is of this very
// second. Until the next it takes nobody's place: this plan may yet go over
// everything again, and find that the other does not start now.
func (p *pass) justReleased(w *batch.Workload) bool {
	for _, d := range w.After {
		if d.Kind != batch.After {
			continue
		}
		for _, f := range p.Fates[batch.DependencyName{Namespace: w.Namespace, Name: d.Name}] {
			if p.begun[f.ID] || p.startsNow(f.ID) {
				p.wake(p.now.Add(time.Second))
				return true
			}
		}
	}
	return false
}

// startsNow says whether a run was started in this second.
func (p *pass) startsNow(id batch.WorkloadID) bool {
	s := p.startedOf(id)
	return s != nil && !s.Workload.Allocation.Start.Before(p.now)
}

// startedOf is what holds an allocation under an ID; nil: nothing does.
func (p *pass) startedOf(id batch.WorkloadID) *batch.Started {
	at, found := slices.BinarySearchFunc(p.Started, id, func(s *batch.Started, id batch.WorkloadID) int {
		return cmp.Compare(s.Workload.ID, id)
	})
	if !found {
		return nil
	}
	return p.Started[at]
}

// bars are those that take nobody's place, and who would have taken theirs.
type bars map[batch.WorkloadID][]batch.WorkloadID

// lift is a bar that was lifted, since places were made for others: it stands again
// when these are gone.
type lift struct {
	by   []batch.WorkloadID
	made []made
}

// anyMayTake says whether any of those that wait are of a queue whose work may take
// the place of others. Mostly none are, and what runs need not be looked at.
func (p *pass) anyMayTake() bool {
	takes, some := p.whoMayTake()
	if !some {
		return false
	}
	var last *batch.Queue
	for i, c := range p.order {
		var q *batch.Queue
		if i < len(p.classes) {
			q = p.classes[i].queue // of which there is no need to look at the record
		}
		if q == nil {
			q = c.queue
		}
		if q != last && takes(q) {
			return true
		}
		last = q
	}
	return false
}

// whoMayTake says of a queue whether its work may take the place of others at all;
// some: there are any that give way.
func (p *pass) whoMayTake() (takes func(*batch.Queue) bool, some bool) {
	lowest := int32(math.MaxInt32)
	for _, q := range p.Queues { //order:any the least
		if q.Preemption.LetsGo() {
			lowest, some = min(lowest, q.Tier), true
		}
	}
	return func(q *batch.Queue) bool {
		return some && (q.Preemption.TakesMore() || q.Tier > lowest && !p.Policy.NoTierPreemption)
	}, some
}

func plus(long, more timeline.Long) timeline.Long {
	if long > timeline.Forever-more {
		return timeline.Forever
	}
	return long + more
}
