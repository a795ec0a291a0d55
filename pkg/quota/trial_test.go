package quota_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
)

// What is done in a trial is there until it is undone, and leaves no trace then, neither on
// the ledger nor on its clones; a clone made in a trial keeps what was done, and may be
// tried in its turn.
func TestWhatIsDoneInATrialIsUndone(t *testing.T) {
	t.Parallel()
	forAnyTree(t, rapid.Int64Range(0, 9), func(t *rapid.T, w *twin, tree *quota.Tree) {
		write := func(l *quota.Ledger, b *book) {
			e := entry{queue: rapid.SampledFrom(w.names()).Draw(t, "queue"), n: batch.Amount(rapid.IntRange(1, 4).Draw(t, "n")), span: drawSpan(t)}
			l.Charge(tree.Bill(e.queue, "f", ask(e.n)), e.span)
			b.entries = append(b.entries, e)
		}
		ledger, is := quota.NewLedger(tree, 1, nil), &book{tree: tree}
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			for range rapid.IntRange(0, 2).Draw(t, "writes") {
				write(ledger, is)
			}
			base, was := ledger.Clone(), append([]entry(nil), is.entries...)
			ledger.Try()
			var inside *quota.Ledger
			var then *book
			for range rapid.IntRange(0, 4).Draw(t, "writes on trial") {
				if write(ledger, is); rapid.IntRange(0, 3).Draw(t, "clones") == 0 {
					inside, then = ledger.Clone(), &book{tree: tree, entries: append([]entry(nil), is.entries...)}
				}
			}
			is.compare(t, ledger, w.names())
			ledger.Undo()
			is = &book{tree: tree, entries: was}
			is.compare(t, ledger, w.names())
			is.compare(t, base, w.names())
			if inside != nil {
				then.compare(t, inside, w.names())
				ledger, is = inside, then
			}
		}
	})
}
