package quota_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
)

// twin is the cohort tree as one would write it down: big numbers, maps, and
// each question answered from the rules alone. It has one cell.
type twin struct {
	queues  map[batch.QueueName]*batch.Queue
	cohorts map[batch.CohortName]*batch.Cohort
	used    map[batch.QueueName]*big.Int
}

func gpu() quota.Cell { return quota.Cell{Flavor: "f", Resource: batch.ResourceGPU} }

func quotaOf(q batch.Quotas) (batch.Quota, bool) {
	is, ok := q[gpu().Flavor][gpu().Resource]
	return is, ok
}

// member is a queue or a cohort of the twin.
type member struct {
	queue  batch.QueueName
	cohort batch.CohortName
}

func (w *twin) own(m member) (q batch.Quota, listed bool) {
	if m.queue != "" {
		return quotaOf(w.queues[m.queue].Quotas)
	}
	return quotaOf(w.cohorts[m.cohort].Quotas)
}

// above is the cohort of a member; false: it has none.
func (w *twin) above(m member) (member, bool) {
	name := batch.CohortName("")
	if m.queue != "" {
		name = w.queues[m.queue].Cohort
	} else {
		name = w.cohorts[m.cohort].Parent
	}
	if w.cohorts[name] == nil || w.endless(name) || (m.queue == "" && w.endless(m.cohort)) {
		return member{}, false
	}
	return member{cohort: name}, true
}

// endless says whether the way up from a cohort has no end.
func (w *twin) endless(name batch.CohortName) bool {
	for range len(w.cohorts) + 1 {
		if w.cohorts[name] == nil {
			return false
		}
		name = w.cohorts[name].Parent
	}
	return true
}

func (w *twin) members(c member) (all []member) {
	for name := range w.cohorts { //order:any sums
		m := member{cohort: name}
		if up, ok := w.above(m); ok && up == c {
			all = append(all, m)
		}
	}
	for name := range w.queues { //order:any sums
		m := member{queue: name}
		if up, ok := w.above(m); ok && up == c {
			all = append(all, m)
		}
	}
	return all
}

// bounded says whether a queue or anything above it has a quota.
func (w *twin) bounded(m member) bool {
	for ok := true; ok; m, ok = w.above(m) {
		if _, listed := w.own(m); listed {
			return true
		}
	}
	return false
}

func (w *twin) has(m member) *big.Int {
	q, _ := w.own(m)
	sum := big.NewInt(int64(q.Nominal))
	if m.queue == "" {
		for _, c := range w.members(m) {
			sum.Add(sum, new(big.Int).Sub(w.has(c), w.keeps(c)))
		}
	}
	return sum
}

func (w *twin) keeps(m member) *big.Int {
	q, _ := w.own(m)
	if !q.Lend.Bounded {
		return new(big.Int)
	}
	return most(new(big.Int).Sub(w.has(m), big.NewInt(int64(q.Lend.Amount))))
}

func (w *twin) uses(m member) *big.Int {
	if m.queue != "" {
		return w.used[m.queue]
	}
	sum := new(big.Int)
	for _, c := range w.members(m) {
		sum.Add(sum, w.reaches(c))
	}
	return sum
}

func (w *twin) reaches(m member) *big.Int { return most(new(big.Int).Sub(w.uses(m), w.keeps(m))) }

func most(n *big.Int) *big.Int {
	if n.Sign() < 0 {
		return new(big.Int)
	}
	return n
}

// fits tries: with the request in, every level that passes more on than before
// must stay within its borrowing limit, and the top within what there is.
func (w *twin) fits(queue batch.QueueName, amount batch.Amount) bool {
	m := member{queue: queue}
	if !w.bounded(m) {
		return true
	}
	before := map[member]*big.Int{}
	for at, ok := m, true; ok; at, ok = w.above(at) {
		before[at] = w.reaches(at)
	}
	was := w.used[queue]
	w.used[queue] = new(big.Int).Add(was, big.NewInt(int64(amount)))
	defer func() { w.used[queue] = was }()
	for at := m; ; {
		up, ok := w.above(at)
		if !ok {
			return w.uses(at).Cmp(w.has(at)) <= 0
		}
		if w.reaches(at).Cmp(before[at]) == 0 {
			return true
		}
		q, _ := w.own(at)
		borrowed := new(big.Int).Sub(w.uses(at), w.has(at))
		if q.Borrow.Bounded && borrowed.Cmp(big.NewInt(int64(q.Borrow.Amount))) > 0 {
			return false
		}
		at = up
	}
}

// forAnyTree checks what holds of any tree of quotas; where nothing has any, there is none.
func forAnyTree(t *testing.T, amounts *rapid.Generator[int64], check func(t *rapid.T, w *twin, tree *quota.Tree)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		w := drawTree(t, amounts)
		if tree := quota.New(w.queues, w.cohorts); tree != nil {
			check(t, w, tree)
		}
	})
}

// drawTree draws cohorts, circles and missing ones among them, and queues.
func drawTree(t *rapid.T, amounts *rapid.Generator[int64]) *twin {
	w := &twin{queues: map[batch.QueueName]*batch.Queue{}, cohorts: map[batch.CohortName]*batch.Cohort{}, used: map[batch.QueueName]*big.Int{}}
	names := []batch.CohortName{"", "a", "b", "c", "d", "gone"}
	for _, name := range names[1:5] {
		if rapid.Bool().Draw(t, "there") {
			w.cohorts[name] = &batch.Cohort{
				Name: name, Parent: rapid.SampledFrom(names).Draw(t, "parent"), Quotas: drawQuotas(t, amounts),
			}
		}
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "queues") {
		name := batch.QueueName(fmt.Sprintf("q%d", i))
		w.queues[name] = &batch.Queue{Name: name, Cohort: rapid.SampledFrom(names).Draw(t, "cohort"), Quotas: drawQuotas(t, amounts)}
		w.used[name] = new(big.Int)
	}
	return w
}

func drawQuotas(t *rapid.T, amounts *rapid.Generator[int64]) batch.Quotas {
	if rapid.IntRange(0, 3).Draw(t, "listed") == 0 {
		return nil
	}
	limit := func(name string) batch.Limit {
		if rapid.Bool().Draw(t, name+"?") {
			return batch.Limit{}
		}
		return batch.LimitOf(batch.Amount(amounts.Draw(t, name)))
	}
	return batch.Quotas{gpu().Flavor: {gpu().Resource: {
		Nominal: batch.Amount(amounts.Draw(t, "nominal")), Borrow: limit("borrow"), Lend: limit("lend"),
	}}}
}

func (w *twin) names() (names []batch.QueueName) {
	for name := range w.queues { //order:any sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
