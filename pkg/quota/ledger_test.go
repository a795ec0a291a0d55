package quota_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
)

// entry is one bill and when it is paid.
type entry struct {
	queue batch.QueueName
	n     batch.Amount
	span  quota.Span
}

// book is a ledger's dumb twin: a list of entries, summed at each second.
type book struct {
	tree    *quota.Tree
	entries []entry
}

func (b *book) at(second quota.Time) *quota.Usage {
	usage := b.tree.Usage()
	for _, e := range b.entries {
		if e.span.From <= second && second < e.span.Till {
			usage.Add(b.tree.Bill(e.queue, "f", ask(e.n)))
		}
	}
	return usage
}

// horizon is when the last thing happens; after it all is as it was then.
const horizon = 20

func (b *book) fits(bill quota.Bill, span quota.Span) bool {
	for at := span.From; at < span.Till && at <= horizon; at++ {
		if !b.at(at).Fits(bill) {
			return false
		}
	}
	return true
}

func (b *book) earliest(bill quota.Bill, term quota.Term, in quota.Span) (quota.Time, bool) {
	for at := in.From; at < in.Till && at <= horizon; at++ {
		span := quota.Span{From: at, Till: term.Till}
		if term.Long != quota.Never {
			span.Till = min(span.Till, at+term.Long)
		}
		if b.fits(bill, span) {
			return at, true
		}
	}
	return 0, false
}

func drawSpan(t *rapid.T) quota.Span {
	s := quota.Span{From: quota.Time(rapid.IntRange(1, 12).Draw(t, "from")), Till: quota.Never}
	if rapid.Bool().Draw(t, "ends") {
		s.Till = s.From + quota.Time(rapid.IntRange(1, 7).Draw(t, "long"))
	}
	return s
}

// A ledger says at each second what the usage of that second says, through any
// sequence of bills held and given back, and its clones are their own.
func TestALedgerIsAUsageForEachSecond(t *testing.T) {
	t.Parallel()
	forAnyTree(t, rapid.Int64Range(0, 9), func(t *rapid.T, w *twin, tree *quota.Tree) {
		b := &book{tree: tree}
		var charges []quota.Charge
		for range rapid.IntRange(0, 6).Draw(t, "running") {
			e := entry{queue: rapid.SampledFrom(w.names()).Draw(t, "queue"), n: batch.Amount(rapid.IntRange(1, 6).Draw(t, "n")), span: drawSpan(t)}
			e.span.From = 1
			b.entries = append(b.entries, e)
			charges = append(charges, quota.Charge{Bill: tree.Bill(e.queue, "f", ask(e.n)), Till: e.span.Till})
		}
		ledger := quota.NewLedger(tree, 1, charges)
		running := len(b.entries)
		for range rapid.IntRange(0, 10).Draw(t, "steps") {
			before := ledger.Clone()
			was := &book{tree: tree, entries: append([]entry(nil), b.entries...)}
			if free := len(b.entries) - running; free > 0 && rapid.IntRange(0, 2).Draw(t, "back") == 0 {
				i := running + rapid.IntRange(0, free-1).Draw(t, "which")
				e := b.entries[i]
				ledger.Release(tree.Bill(e.queue, "f", ask(e.n)), e.span)
				b.entries = append(b.entries[:i:i], b.entries[i+1:]...)
			} else {
				e := entry{queue: rapid.SampledFrom(w.names()).Draw(t, "queue"), n: batch.Amount(rapid.IntRange(1, 4).Draw(t, "n")), span: drawSpan(t)}
				bill := tree.Bill(e.queue, "f", ask(e.n))
				if rapid.Bool().Draw(t, "whether it fits or not") {
					ledger.Charge(bill, e.span)
				} else if ledger.Fits(bill, e.span) {
					ledger.Hold(bill, e.span)
				} else {
					continue
				}
				b.entries = append(b.entries, e)
			}
			checkGains(t, was, b, quota.Gains(before, ledger))
			was.compare(t, before, w.names())
		}
		b.compare(t, ledger, w.names())
	})
}

// compare asks both the same.
func (b *book) compare(t *rapid.T, ledger *quota.Ledger, names []batch.QueueName) {
	for _, name := range names {
		bill := b.tree.Bill(name, "f", ask(batch.Amount(rapid.IntRange(1, 6).Draw(t, "ask"))))
		in := drawSpan(t)
		if got, want := ledger.Fits(bill, in), b.fits(bill, in); got != want {
			t.Fatalf("%s fits during %v: %t, second by second %t", name, in, got, want)
		}
		_, refused := ledger.Refusal(bill, in)
		if refused == b.fits(bill, in) {
			t.Fatalf("%s is refused during %v: %t", name, in, refused)
		}
		borrows := false
		for at := in.From; at < in.Till && at <= horizon; at++ {
			borrows = borrows || b.at(at).Borrows(bill)
		}
		if got := ledger.Borrows(bill, in); got != borrows {
			t.Fatalf("%s borrows during %v: %t, second by second %t", name, in, got, borrows)
		}
		term := quota.Term{Long: quota.Never, Till: quota.Never}
		if rapid.Bool().Draw(t, "limited") {
			term.Long = quota.Time(rapid.IntRange(1, 9).Draw(t, "long"))
		}
		if rapid.Bool().Draw(t, "paid from a time on") {
			term.Till = min(in.Till, quota.Time(rapid.IntRange(1, 15).Draw(t, "till")))
			in.Till = term.Till
		}
		at, ok := ledger.Earliest(bill, term, in)
		want, wanted := b.earliest(bill, term, in)
		if ok != wanted || (ok && at != want) {
			t.Fatalf("%s for %v in %v: %d %t, second by second %d %t", name, term, in, at, ok, want, wanted)
		}
	}
}

// checkGains holds gains to what they promise: whoever has room where he had
// none finds a gain there that may help him.
func checkGains(t *rapid.T, was, is *book, gains []quota.Gain) {
	for _, name := range []batch.QueueName{"q0", "q1", "q2", "q3", "q4"} {
		bill := is.tree.Bill(name, "f", ask(1))
		for at := quota.Time(1); at <= horizon; at++ {
			if bill.Free() || was.at(at).Fits(bill) || !is.at(at).Fits(bill) {
				continue
			}
			found := false
			for _, g := range gains {
				found = found || (g.From <= at && at < g.Till && is.tree.Helps(g, bill))
			}
			if !found {
				t.Fatalf("%s has room at %d, which no gain says: %v", name, at, gains)
			}
		}
	}
}
