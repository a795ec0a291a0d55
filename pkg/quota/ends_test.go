package quota_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/quota"
)

// What a bill waits for is the last of those charges that it meets.
func TestTheLastEndIsThatOfAChargeOnTheSameQuota(t *testing.T) {
	t.Parallel()
	forAnyTree(t, rapid.Int64Range(0, 9), func(t *rapid.T, w *twin, tree *quota.Tree) {
		bill := func() quota.Bill { return tree.Bill(rapid.SampledFrom(w.names()).Draw(t, "queue"), "f", ask(1)) }
		var charges []quota.Charge
		for range rapid.IntRange(0, 6).Draw(t, "charges") {
			charges = append(charges, quota.Charge{Bill: bill(), Till: quota.Time(rapid.IntRange(1, 9).Draw(t, "till"))})
		}
		asked := bill()
		want := quota.Time(0)
		for _, c := range charges {
			if tree.Meets(c.Bill, asked) {
				want = max(want, c.Till)
			}
		}
		if got := tree.Ends(charges).Last(asked); got != want {
			t.Fatalf("the last ends at %d, want %d: %+v, %+v", got, want, asked, charges)
		}
	})
}
