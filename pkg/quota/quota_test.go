package quota_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
)

func ask(n batch.Amount) batch.Resources { return batch.Resources{batch.ResourceGPU: n} }

// What the tree says is what the rules say, for any tree and any use of it,
// whether it keeps to the quotas or not.
func TestATreeSaysWhatTheRulesSay(t *testing.T) {
	t.Parallel()
	forAnyTree(t, rapid.Int64Range(0, 9), func(t *rapid.T, w *twin, tree *quota.Tree) {
		usage := tree.Usage()
		for _, name := range w.names() {
			use := batch.Amount(rapid.Int64Range(0, 12).Draw(t, "use"))
			usage.Add(tree.Bill(name, "f", ask(use)))
			if w.bounded(member{queue: name}) {
				w.used[name] = big.NewInt(int64(use))
			}
		}
		lent := big.NewInt(0)
		for _, name := range w.names() {
			available := usage.Available(name, gpu())
			if available.Bounded != w.bounded(member{queue: name}) {
				t.Fatalf("%s is bounded: %t", name, available.Bounded)
			}
			for n := batch.Amount(1); n < 30; n++ {
				bill := tree.Bill(name, "f", ask(n))
				if got, want := usage.Fits(bill), w.fits(name, n); got != want {
					t.Fatalf("%s: %d fits: %t, by the rules %t", name, n, got, want)
				}
				if got := available.Allows(n); got != w.fits(name, n) {
					t.Fatalf("%s: %d is available: %t", name, n, got)
				}
				if _, refused := usage.Refusal(bill); refused == w.fits(name, n) {
					t.Fatalf("%s: %d is refused: %t", name, n, refused)
				}
			}
			for _, s := range usage.Queue(name) {
				lent.Add(lent, big.NewInt(int64(s.Lent)))
				if q, _ := w.own(member{queue: name}); s.Lent > 0 && s.Used >= q.Nominal {
					t.Fatalf("%s has lent %d of %d, of which it uses %d itself", name, s.Lent, q.Nominal, s.Used)
				}
			}
		}
		w.checkLent(t, lent)
	})
}

// checkLent compares what queues have lent with what is borrowed: all of it but
// what cohorts' own quotas cover, and what is used beyond all that there is.
func (w *twin) checkLent(t *rapid.T, lent *big.Int) {
	want := new(big.Int)
	for _, name := range w.names() {
		m := member{queue: name}
		if _, ok := w.above(m); ok {
			want.Add(want, most(new(big.Int).Sub(w.reaches(m), new(big.Int).Sub(w.has(m), w.keeps(m)))))
		}
	}
	if lent.Cmp(want) > 0 {
		t.Fatalf("%d lent and %d borrowed", lent, want)
	}
	for name := range w.cohorts { //order:any a sum
		q, _ := w.own(member{cohort: name})
		want.Sub(want, big.NewInt(int64(q.Nominal)))
	}
	within := true
	for name := range w.cohorts { //order:any a conjunction
		top := member{cohort: name}
		if _, ok := w.above(top); !ok {
			within = within && w.uses(top).Cmp(w.has(top)) <= 0
		}
	}
	if within && lent.Cmp(want) < 0 {
		t.Fatalf("%d lent, and %d borrowed beyond what cohorts cover", lent, want)
	}
}

// Sums do not wrap: with amounts near the largest there are, nothing fits that
// does not by the rules, and nothing is below zero.
// Of a cohort, the nominal quota is what all below it have, lent or not.
func TestNominalQuotasAddUp(t *testing.T) {
	t.Parallel()
	one := func(q batch.Quota) batch.Quotas { return batch.Quotas{"f": {batch.ResourceGPU: q}} }
	tree := quota.New(map[batch.QueueName]*batch.Queue{
		"a": {Name: "a", Cohort: "team", Quotas: one(batch.Quota{Nominal: 8, Lend: batch.LimitOf(2)})},
		"b": {Name: "b", Cohort: "team", Quotas: one(batch.Quota{Nominal: 4})},
		"c": {Name: "c", Cohort: "all"},
	}, map[batch.CohortName]*batch.Cohort{
		"all": {Name: "all", Quotas: one(batch.Quota{Nominal: 16})}, "team": {Name: "team", Parent: "all"},
	})
	usage := tree.Usage()
	of := func(all []batch.Standing) batch.Limit { return all[0].Nominal }
	for name, pair := range map[string][2]batch.Limit{
		"a": {of(usage.Queue("a")), batch.LimitOf(8)}, "c, which has none": {of(usage.Queue("c")), {}},
		"team": {of(usage.Cohort("team")), batch.LimitOf(12)}, "all": {of(usage.Cohort("all")), batch.LimitOf(28)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: nominal %+v, want %+v", name, pair[0], pair[1])
		}
	}
}

func TestAmountsSaturate(t *testing.T) {
	t.Parallel()
	forAnyTree(t, rapid.SampledFrom([]int64{0, 1, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64}), func(t *rapid.T, w *twin, tree *quota.Tree) {
		usage := tree.Usage()
		for _, name := range w.names() {
			use := rapid.SampledFrom([]int64{0, 1, math.MaxInt64 / 2, math.MaxInt64}).Draw(t, "use")
			usage.Add(tree.Bill(name, "f", ask(batch.Amount(use))))
			if w.bounded(member{queue: name}) {
				w.used[name] = big.NewInt(use)
			}
		}
		for _, name := range w.names() {
			for _, n := range []batch.Amount{1, 2, math.MaxInt64 / 2, math.MaxInt64} {
				if usage.Fits(tree.Bill(name, "f", ask(n))) && !w.fits(name, n) && w.countable() {
					t.Fatalf("%s: %d fits, and by the rules it does not", name, n)
				}
			}
			for _, s := range usage.Queue(name) {
				if s.Used < 0 || s.Borrowed < 0 || s.Lent < 0 {
					t.Fatalf("%s: an amount wraps: %+v", name, s)
				}
			}
		}
	})
}

// countable says whether what reaches each cohort can be counted.
func (w *twin) countable() bool {
	for name := range w.cohorts { //order:any a conjunction
		if !w.uses(member{cohort: name}).IsInt64() {
			return false
		}
	}
	return true
}

// What was added and removed again has left no trace.
func TestUsageComesBack(t *testing.T) {
	t.Parallel()
	forAnyTree(t, rapid.Int64Range(0, 9), func(t *rapid.T, w *twin, tree *quota.Tree) {
		usage := tree.Usage()
		var bills []quota.Bill
		for range rapid.IntRange(0, 10).Draw(t, "bills") {
			b := tree.Bill(rapid.SampledFrom(w.names()).Draw(t, "queue"), "f", ask(batch.Amount(rapid.Int64Range(1, 9).Draw(t, "n"))))
			usage.Add(b)
			bills = append(bills, b)
		}
		for _, b := range rapid.Permutation(bills).Draw(t, "out") {
			usage.Remove(b)
		}
		for _, name := range w.names() {
			if got, want := usage.Available(name, gpu()), tree.Usage().Available(name, gpu()); got != want {
				t.Fatalf("%s has %v, and had %v", name, got, want)
			}
		}
	})
}

func TestB82ACircleStopsItsOwnAndNobodyElse(t *testing.T) {
	t.Parallel()
	cohorts := map[batch.CohortName]*batch.Cohort{
		"a": {Name: "a", Parent: "c"}, "b": {Name: "b", Parent: "a"}, "c": {Name: "c", Parent: "b"},
		"below": {Name: "below", Parent: "b"}, "self": {Name: "self", Parent: "self"}, "other": {Name: "other", Parent: "missing"},
	}
	circles := quota.Circles(cohorts)
	for name, want := range map[batch.CohortName][]batch.CohortName{
		"a": {"a", "c", "b"}, "b": {"a", "c", "b"}, "c": {"a", "c", "b"}, "below": {"a", "c", "b"}, "self": {"self"}, "other": nil,
	} {
		if got := circles[name]; !slices.Equal(got, want) {
			t.Errorf("%s is in the circle %v, want %v", name, got, want)
		}
	}
	q := &batch.Queue{Name: "q", Cohort: "below", Quotas: batch.Quotas{"f": {batch.ResourceGPU: {Nominal: 2}}}}
	tree := quota.New(map[batch.QueueName]*batch.Queue{"q": q}, cohorts)
	if got := tree.Circle(q); len(got) != 3 {
		t.Errorf("the queue is in %v", got)
	}
	if got := tree.Usage().Available("q", gpu()); got != batch.LimitOf(2) {
		t.Errorf("it has %v", got)
	}
}

// company is the tree of semantics 5 and 7: a team in a company, and a queue
// beside it.
func company() *quota.Tree {
	nominal := func(n batch.Amount) batch.Quotas { return batch.Quotas{"f": {batch.ResourceGPU: {Nominal: n}}} }
	return quota.New(map[batch.QueueName]*batch.Queue{
		"inner": {Cohort: "team", Quotas: nominal(4)}, "twin": {Cohort: "team", Quotas: nominal(2)},
		"outer": {Cohort: "company", Quotas: nominal(4)}, "alone": {Quotas: nominal(4)}, "free": {Cohort: "nobody"},
	}, map[batch.CohortName]*batch.Cohort{
		"company": {Quotas: nominal(4)}, "team": {Parent: "company"},
	})
}

func TestWhoMayReclaim(t *testing.T) {
	t.Parallel()
	tree := company()
	tests := []struct {
		name                  string
		use                   map[batch.QueueName]batch.Amount // with the preemptor in, its victims out
		asks, victim          batch.QueueName
		within, victimIsAbove bool
	}{
		{"its own", map[batch.QueueName]batch.Amount{"outer": 4, "inner": 7}, "outer", "inner", true, true},
		{"more than its own", map[batch.QueueName]batch.Amount{"outer": 5, "inner": 7}, "outer", "inner", false, true},
		{"the victim has its own only", map[batch.QueueName]batch.Amount{"outer": 4, "inner": 4}, "outer", "inner", true, false},
		{"more than its own, within its team's", map[batch.QueueName]batch.Amount{"inner": 5, "outer": 9}, "inner", "outer", true, true},
		{"more than its team's", map[batch.QueueName]batch.Amount{"inner": 7, "outer": 9}, "inner", "outer", false, true},
		{"within its team's does not count in the team", map[batch.QueueName]batch.Amount{"inner": 5, "twin": 1}, "inner", "twin", false, false},
		{"no cohort in common", map[batch.QueueName]batch.Amount{"inner": 1, "alone": 9}, "inner", "alone", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			usage := tree.Usage()
			for queue, n := range tt.use { //order:any sums
				usage.Add(tree.Bill(queue, "f", ask(n)))
			}
			bill := tree.Bill(tt.asks, "f", ask(1))
			if got := usage.WithinNominal(bill, tt.victim); got != tt.within {
				t.Errorf("within nominal: %t", got)
			}
			if got := usage.AboveNominal(tt.victim, bill); got != tt.victimIsAbove {
				t.Errorf("the victim is above nominal: %t", got)
			}
		})
	}
}

func TestARefusalSaysWhoseLimitIsInTheWay(t *testing.T) {
	t.Parallel()
	gpus := func(nominal batch.Amount, borrow, lend batch.Limit) batch.Quotas {
		return batch.Quotas{"f": {batch.ResourceGPU: {Nominal: nominal, Borrow: borrow, Lend: lend}}}
	}
	none := batch.Limit{}
	tree := quota.New(map[batch.QueueName]*batch.Queue{
		"left":  {Cohort: "all", Quotas: gpus(4, batch.LimitOf(2), none)},
		"right": {Cohort: "all", Quotas: gpus(8, none, batch.LimitOf(5))},
		"alone": {Quotas: gpus(3, none, none)},
	}, map[batch.CohortName]*batch.Cohort{"all": {}})
	usage := tree.Usage()
	usage.Add(tree.Bill("left", "f", ask(6)))
	usage.Add(tree.Bill("alone", "f", ask(5)))
	for _, tt := range []struct {
		queue batch.QueueName
		ask   batch.Amount
		want  quota.Refusal
	}{
		{"left", 1, quota.Refusal{Cell: gpu(), Asked: 1, Borrowing: true, Used: 6, Limit: 4, Most: 6}},
		{"right", 7, quota.Refusal{Cell: gpu(), Asked: 7, Free: 6, Limit: 8, Lent: 2, Cohort: "all", Most: 12}},
		{"alone", 1, quota.Refusal{Cell: gpu(), Asked: 1, Used: 5, Limit: 3, Most: 3}},
	} {
		got, refused := usage.Refusal(tree.Bill(tt.queue, "f", ask(tt.ask)))
		if !refused || got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.queue, got, tt.want)
		}
	}
	if _, exceeds := tree.Exceeds(tree.Bill("left", "f", ask(6))); exceeds {
		t.Error("left may have 6")
	}
	if r, exceeds := tree.Exceeds(tree.Bill("left", "f", ask(7))); !exceeds || r.Most != 6 || !r.Borrowing {
		t.Errorf("left may have 6 at most: %+v", r)
	}
}

// What is lent comes out of the cohorts' own quota first, then out of what
// members leave idle, by name.
func TestLentIsWhatOthersUse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		inner, twin, outer batch.Amount
		lent               map[batch.QueueName]batch.Amount
	}{
		{4, 0, 0, map[batch.QueueName]batch.Amount{}},
		{6, 0, 0, map[batch.QueueName]batch.Amount{"twin": 2}},
		{10, 0, 0, map[batch.QueueName]batch.Amount{"twin": 2}}, // and 4 of the company
		{12, 0, 1, map[batch.QueueName]batch.Amount{"twin": 2, "outer": 2}},
		{0, 0, 8, map[batch.QueueName]batch.Amount{}}, // 4 of the company
		{0, 0, 13, map[batch.QueueName]batch.Amount{"inner": 4, "twin": 1}},
		{0, 2, 14, map[batch.QueueName]batch.Amount{"inner": 4}}, // more than there is
	} {
		usage := company().Usage()
		for queue, n := range map[batch.QueueName]batch.Amount{"inner": tt.inner, "twin": tt.twin, "outer": tt.outer} { //order:any sums
			usage.Add(company().Bill(queue, "f", ask(n)))
		}
		for _, queue := range []batch.QueueName{"inner", "twin", "outer"} {
			if got := usage.Queue(queue)[0].Lent; got != tt.lent[queue] {
				t.Errorf("%+v: %s has lent %d", tt, queue, got)
			}
		}
	}
}

// Trees differ where what they say may differ: the planner keeps what it knows
// as long as the tree is equal.
func TestTreesThatDifferAreNotEqual(t *testing.T) {
	t.Parallel()
	queues := func(nominal batch.Amount, cohort batch.CohortName) map[batch.QueueName]*batch.Queue {
		return map[batch.QueueName]*batch.Queue{"q": {Cohort: cohort, Quotas: batch.Quotas{"f": {batch.ResourceGPU: {Nominal: nominal}}}}}
	}
	cohorts := func(parents ...batch.CohortName) map[batch.CohortName]*batch.Cohort {
		return map[batch.CohortName]*batch.Cohort{"a": {Parent: parents[0]}, "b": {Parent: parents[1]}}
	}
	trees := map[string]*quota.Tree{
		"none":            nil,
		"alone":           quota.New(queues(1, ""), cohorts("", "")),
		"more":            quota.New(queues(2, ""), cohorts("", "")),
		"in a":            quota.New(queues(1, "a"), cohorts("", "")),
		"a is below b":    quota.New(queues(1, "a"), cohorts("b", "")),
		"beside a circle": quota.New(queues(1, ""), cohorts("b", "a")),
	}
	for one, a := range trees { //order:any each pair by itself
		for other, b := range trees { //order:any each pair by itself
			if a.Equal(b) != (one == other) {
				t.Errorf("%s and %s are equal: %t", one, other, a.Equal(b))
			}
		}
	}
	if !trees["in a"].Equal(quota.New(queues(1, "a"), cohorts("", ""))) {
		t.Error("a tree made twice is not equal")
	}
}
