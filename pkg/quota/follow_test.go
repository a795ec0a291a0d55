package quota_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
)

// What is held beside what runs, taken over by what has changed of what runs, is
// what one gets who holds all of it again; and where that finds no room for
// something, it is not taken over.
func TestALedgerFollowsWhatRuns(t *testing.T) {
	t.Parallel()
	followed := 0
	forAnyTree(t, rapid.Int64Range(0, 20), func(t *rapid.T, w *twin, tree *quota.Tree) {
		bill := func(e entry) quota.Bill { return tree.Bill(e.queue, "f", ask(e.n)) }
		draw := func(n int) (all []entry) {
			for range n {
				all = append(all, entry{
					queue: rapid.SampledFrom(w.names()).Draw(t, "queue"), n: batch.Amount(rapid.IntRange(1, 4).Draw(t, "n")), span: drawSpan(t),
				})
			}
			return all
		}
		lineOf := func(from quota.Time, running []entry) *quota.Ledger {
			var charges []quota.Charge
			for _, e := range running {
				charges = append(charges, quota.Charge{Bill: bill(e), Till: e.span.Till})
			}
			return quota.NewLedger(tree, from, charges)
		}
		running := draw(rapid.IntRange(0, 6).Draw(t, "running"))
		was := lineOf(1, running)
		full := was.Clone()
		from := quota.Time(rapid.IntRange(1, 4).Draw(t, "from"))
		var held []entry
		for _, e := range draw(rapid.IntRange(0, 6).Draw(t, "holds")) {
			if e.span.From = max(e.span.From, from); e.span.From < e.span.Till && full.Fits(bill(e), e.span) {
				full.Hold(bill(e), e.span)
				held = append(held, e)
			}
		}
		ended := rapid.IntRange(0, len(running)).Draw(t, "ended")
		running = append(running[ended:], draw(rapid.IntRange(0, 2).Draw(t, "started"))...)
		is := lineOf(from, running)
		again, fits := is.Clone(), true
		for _, e := range held {
			if fits = fits && again.Fits(bill(e), e.span); fits {
				again.Hold(bill(e), e.span)
			}
		}
		before := full.Clone()
		follows := full.Since(from)
		if !follows.Follow(was, is) {
			return
		}
		followed++
		if !fits {
			t.Fatal("it follows, though there is no room for all that is held")
		}
		b := &book{tree: tree, entries: held}
		for _, e := range running {
			e.span.From = from
			b.entries = append(b.entries, e)
		}
		for at := from; at <= horizon; at++ {
			span := quota.Span{From: at, Till: at + 1}
			for _, name := range w.names() {
				one := entry{queue: name, n: batch.Amount(rapid.IntRange(1, 6).Draw(t, "ask"))}
				if got, want := follows.Fits(bill(one), span), again.Fits(bill(one), span); got != want || want != b.fits(bill(one), span) {
					t.Fatalf("%d of %s at %d: %t, held again %t", one.n, name, at, got, want)
				}
			}
		}
		if len(quota.Gains(before, full)) > 0 || len(quota.Gains(again, follows)) > 0 || len(quota.Gains(follows, again)) > 0 {
			t.Fatal("not the same to the second")
		}
	})
	if followed == 0 {
		t.Error("no ledger has followed")
	}
}
