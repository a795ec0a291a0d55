package core_test

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
)

// books are the quotas of a snapshot as one would write them down: who uses how
// much of one resource of one flavor at one time, and every question answered
// from the rules alone, with numbers that do not wrap. Nothing of pkg/quota is
// in it.
type books struct {
	queues   map[batch.QueueName]*batch.Queue
	cohorts  map[batch.CohortName]*batch.Cohort
	flavor   batch.FlavorName
	resource batch.ResourceName
	used     map[batch.QueueName]*big.Int
}

// level is a queue or a cohort.
type level struct {
	queue  batch.QueueName
	cohort batch.CohortName
}

// lists is the quota of a level, if it has one.
func (b *books) lists(l level) (q batch.Quota, listed bool) {
	if l.queue != "" {
		q, listed = b.queues[l.queue].Quotas[b.flavor][b.resource]
	} else {
		q, listed = b.cohorts[l.cohort].Quotas[b.flavor][b.resource]
	}
	return q, listed
}

// above is the cohort of a level; false: there is none, or its way up is a circle.
func (b *books) above(l level) (level, bool) {
	name := batch.CohortName("")
	if l.queue != "" {
		name = b.queues[l.queue].Cohort
	} else {
		name = b.cohorts[l.cohort].Parent
	}
	if b.cohorts[name] == nil || b.endless(name) || l.queue == "" && b.endless(l.cohort) {
		return level{}, false
	}
	return level{cohort: name}, true
}

func (b *books) endless(name batch.CohortName) bool {
	for range len(b.cohorts) + 1 {
		if b.cohorts[name] == nil {
			return false
		}
		name = b.cohorts[name].Parent
	}
	return true
}

// below are the members of a cohort.
func (b *books) below(c level) (all []level) {
	for name := range b.cohorts { //order:any sums
		if up, ok := b.above(level{cohort: name}); ok && up == c {
			all = append(all, level{cohort: name})
		}
	}
	for name := range b.queues { //order:any sums
		if up, ok := b.above(level{queue: name}); ok && up == c {
			all = append(all, level{queue: name})
		}
	}
	return all
}

// has is what a level has: its own, and what its members lend.
func (b *books) has(l level) *big.Int {
	q, _ := b.lists(l)
	sum := big.NewInt(int64(q.Nominal))
	if l.queue == "" {
		for _, m := range b.below(l) {
			sum.Add(sum, new(big.Int).Sub(b.has(m), b.keeps(m)))
		}
	}
	return sum
}

// keeps is what a level has and lends to nobody.
func (b *books) keeps(l level) *big.Int {
	if q, _ := b.lists(l); q.Lend.Bounded {
		return atLeastZero(new(big.Int).Sub(b.has(l), big.NewInt(int64(q.Lend.Amount))))
	}
	return new(big.Int)
}

// uses is what a level uses, and reaches what of it is not from what it keeps.
func (b *books) uses(l level) *big.Int {
	if l.queue != "" {
		return new(big.Int).Set(b.usedBy(l.queue))
	}
	sum := new(big.Int)
	for _, m := range b.below(l) {
		sum.Add(sum, b.reaches(m))
	}
	return sum
}

func (b *books) reaches(l level) *big.Int {
	return atLeastZero(new(big.Int).Sub(b.uses(l), b.keeps(l)))
}

func (b *books) usedBy(queue batch.QueueName) *big.Int {
	if b.used[queue] == nil {
		b.used[queue] = new(big.Int)
	}
	return b.used[queue]
}

func atLeastZero(n *big.Int) *big.Int {
	if n.Sign() < 0 {
		return new(big.Int)
	}
	return n
}

func (b *books) bounded(l level) bool {
	for ok := true; ok; l, ok = b.above(l) {
		if _, listed := b.lists(l); listed {
			return true
		}
	}
	return false
}

// counts says whether what a queue uses counts: where neither it nor anything
// above it has a quota, it does not.
func (b *books) counts(queue batch.QueueName) bool {
	return b.queues[queue] != nil && b.bounded(level{queue: queue})
}

// admit adds what a queue takes more, and says at which level that is too much:
// one that passes on more than before is within what it may borrow, and the top
// one within what there is.
func (b *books) admit(queue batch.QueueName, amount batch.Amount) (where level, ok bool) {
	l := level{queue: queue}
	if !b.counts(queue) || amount == 0 {
		return l, true
	}
	before := map[level]*big.Int{}
	for at, more := l, true; more; at, more = b.above(at) {
		before[at] = b.reaches(at)
	}
	b.usedBy(queue).Add(b.usedBy(queue), big.NewInt(int64(amount)))
	for {
		up, more := b.above(l)
		if !more {
			return l, b.uses(l).Cmp(b.has(l)) <= 0
		}
		if b.reaches(l).Cmp(before[l]) == 0 {
			return l, true
		}
		borrowed := new(big.Int).Sub(b.uses(l), b.has(l))
		if q, _ := b.lists(l); q.Borrow.Bounded && borrowed.Cmp(big.NewInt(int64(q.Borrow.Amount))) > 0 {
			return l, false
		}
		l = up
	}
}

// take is what somebody takes of quotas, from when till when.
type take struct {
	who        batch.WorkloadID
	queue      batch.QueueName
	flavor     batch.FlavorName
	asks       batch.Resources
	from, till time.Time // till zero: for ever
}

func (t *take) at(now time.Time) bool {
	return !t.from.After(now) && (t.till.IsZero() || t.till.After(now))
}

// runningTakes is what is taken when the plan has been carried out by what runs.
func runningTakes(w *world, plan batch.Plan) (all []take) {
	snapshot := w.core.Snapshot()
	for i := range snapshot.Uses {
		u := snapshot.Uses[i]
		if requeued(plan, u.By) && !u.Left || u.Over(w.now) {
			continue
		}
		for _, d := range plan.Evict {
			if d.ID == u.By {
				u.Until = d.Eviction.Until
			}
		}
		all = append(all, take{who: u.By, queue: u.Queue, flavor: u.Flavor, asks: u.Requests, from: w.now, till: u.End(w.now)})
	}
	return all
}

// grantedTakes is what a plan grants, in the order in which it does: places that
// are kept, starts, planned starts.
func grantedTakes(w *world, plan batch.Plan) (all []take) {
	snapshot := w.core.Snapshot()
	grant := func(id batch.WorkloadID, a *batch.Allocation, from, till time.Time) {
		all = append(all, take{who: id, queue: a.Queue, flavor: a.Flavor, asks: w.asksOf(id, *a), from: from, till: till})
	}
	starts := map[batch.WorkloadID]bool{}
	for _, d := range plan.Start {
		starts[d.ID] = true
	}
	kept := map[batch.WorkloadID]*batch.Nomination{}
	planned, waits := map[batch.WorkloadID]time.Time{}, map[batch.WorkloadID]*batch.Workload{}
	for _, is := range snapshot.Waiting {
		kept[is.Workload.ID], planned[is.Workload.ID] = is.Workload.Nomination, is.Workload.Promise
		waits[is.Workload.ID] = is.Workload
	}
	for _, d := range plan.Nominate {
		kept[d.ID] = d.Nomination
	}
	for _, d := range plan.Wait {
		planned[d.ID] = d.Verdict.PlannedStart
	}
	for id, n := range kept { //order:any sorted below
		if n == nil || starts[id] || planned[id].IsZero() {
			continue
		}
		a := n.Allocation
		till := a.Deadline
		if !till.IsZero() {
			till = planned[id].Add(a.Deadline.Sub(a.Start))
		}
		// Who has a last end, or took a shorter limit, and comes later than was thought has less time.
		if w := waits[id]; w != nil && !w.EndBefore.IsZero() && (till.IsZero() || till.After(w.EndBefore)) {
			till = w.EndBefore
		} else if w != nil && a.Deadline.Sub(a.Start) < time.Duration(w.Walltime) && till.After(a.Deadline) {
			till = a.Deadline
		}
		grant(id, &a, planned[id], till)
	}
	slices.SortFunc(all, func(a, b take) int { return a.from.Compare(b.from) })
	for _, d := range plan.Start {
		grant(d.ID, &d.Allocation, d.Allocation.Start, d.Allocation.Deadline)
	}
	for _, d := range plan.Holds {
		grant(d.ID, d.Allocation, d.Allocation.Start, d.Allocation.Deadline)
	}
	return all
}

// checkQuotas holds all that a plan grants to the quotas at every level of the
// tree, at every time at which something begins: the sums are made anew for each
// of them, from what runs. Use that was there before may be beyond its quota, as
// an admin may have lowered it; then nothing more is granted.
func checkQuotas(w *world, plan batch.Plan) {
	snapshot := w.core.Snapshot()
	taken := runningTakes(w, plan)
	for _, g := range grantedTakes(w, plan) {
		times := []time.Time{g.from}
		for i := range taken {
			if begins := taken[i].from; begins.After(g.from) && g.at(begins) {
				times = append(times, begins)
			}
		}
		for _, resource := range g.asks.Names() {
			for _, now := range times {
				b := books{queues: snapshot.Queues, cohorts: snapshot.Cohorts, flavor: g.flavor, resource: resource, used: map[batch.QueueName]*big.Int{}}
				for i := range taken {
					if t := &taken[i]; t.flavor == g.flavor && t.at(now) && b.counts(t.queue) {
						b.usedBy(t.queue).Add(b.usedBy(t.queue), big.NewInt(int64(t.asks[resource])))
					}
				}
				if where, ok := b.admit(g.queue, g.asks[resource]); !ok {
					w.t.Fatalf("%d: with %d of %s in flavor %q for %s in %s, from minute %d on, %+v is above its quota: uses %d, has %d\n%s\n%+v",
						minuteOf(w.now), g.asks[resource], resource, g.flavor, g.who, g.queue, minuteOf(now), where, b.uses(where), b.has(where), brief(plan), taken)
				}
			}
		}
		taken = append(taken, g)
	}
}

// Usage is within quota at every level of the tree for everything that is newly
// granted, now and at every later time: whatever runs, whatever admins do to
// queues and cohorts, and whatever becomes of nodes.
func TestWhatIsGrantedIsWithinQuotaAtEveryLevel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawWorld(t, func(w *world) func(batch.Plan) {
			drawQuotas(t, w)
			return func(plan batch.Plan) { checkQuotas(w, plan) }
		})
	})
}

// Numbers near the largest that there is add up as numbers do, and no limit is
// no number.
func TestSumsOfQuotasDoNotWrap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	const most = batch.Amount(1<<63 - 1)
	w.step(batch.CohortObserved{Cohort: batch.Cohort{Name: "all", Quotas: gpus(most)}})
	w.paying("rich", "all", gpus(most))
	w.paying("main", "all", gpusWith(batch.Quota{Borrow: batch.LimitOf(3)}))
	w.paying("free", "all", gpus(0))
	w.look = func(plan batch.Plan) { checkQuotas(w, plan) }
	w.submit(job{name: "rich", queue: "rich", gpu: 4, walltime: 60}, job{name: "loan", gpu: 3, walltime: 60},
		job{name: "more", gpu: 1, walltime: 60}, job{name: "free", queue: "free", gpu: 8, walltime: 60})
	w.until(1)
	w.want("rich=0", "loan=0", "more~60", "free=0")
}
