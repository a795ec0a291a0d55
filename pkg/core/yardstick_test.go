package core_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/berth-dev/berth/pkg/options"
)

// BenchmarkYardstick is work that never changes, of the kind that a plan is made of: small
// pieces of memory, found by name and put in order. Machines differ, and so does one from
// hour to hour: measure it in the same run, and compare figures of two days by it.
func BenchmarkYardstick(b *testing.B) {
	defer options.CollectRarely()()
	type piece struct {
		name string
		at   []int64
		next *piece
	}
	names := make([]string, 20_000)
	for i := range names {
		names[i] = fmt.Sprintf("ns/piece-%d", i*7919%len(names))
	}
	spent := processTime()
	for b.Loop() {
		known := make(map[string]*piece, len(names))
		all := make([]*piece, 0, len(names))
		for i, name := range names {
			p := &piece{name: name, at: make([]int64, 8), next: known[names[i/2]]}
			p.at[i%8] = int64(i * 7919 % 1_000_003)
			known[name], all = p, append(all, p)
		}
		slices.SortFunc(all, func(a, b *piece) int {
			return cmp.Or(cmp.Compare(slices.Max(a.at), slices.Max(b.at)), cmp.Compare(a.name, b.name))
		})
		if all[0].next != nil && known[all[0].name] != all[0] {
			b.Fatal("the map has lost a piece")
		}
	}
	reportTime(b, spent)
}
