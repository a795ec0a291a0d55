package planner

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// firstFrom finds the first index whatever the guess, and asks of none twice: layers
// that are asked have to follow all deals.
func TestFirstFromFindsTheFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		low := rapid.IntRange(0, n).Draw(t, "low")
		first := rapid.IntRange(low, n).Draw(t, "first")
		guess := rapid.IntRange(0, n).Draw(t, "guess")
		asked := map[int]bool{}
		got := firstFrom(guess, low, n, func(i int) bool {
			if i < low || i >= n || asked[i] {
				t.Fatalf("asked of %d of %d to %d, before: %v", i, low, n, asked)
			}
			asked[i] = true
			return i >= first
		})
		if got != first {
			t.Fatalf("guess %d: first is %d of %d, got %d", guess, first, n, got)
		}
		if guess == first && len(asked) > 2 {
			t.Fatalf("guessed right, and asked of %v", asked)
		}
		if many := 2*bits.Len(uint(n)) + 1; len(asked) > many {
			t.Fatalf("asked %d times, %d should do: %v", len(asked), many, asked)
		}
	})
}
