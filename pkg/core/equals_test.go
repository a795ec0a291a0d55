package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/berth-dev/berth/pkg/batch"
)

// TestMembersOfAnArrayStartInOrder, also where runs end early and planned starts
// move: space that a later one's own hold ends would be open to it alone.
func TestMembersOfAnArrayStartInOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		chance := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not for secrets
		w := newWorld(t)
		w.nodes(4, 8)
		var all []string
		for minute := range 40 {
			for range chance.IntN(3) {
				index := len(all)
				all = append(all, fmt.Sprintf("j%03d", index))
				w.submit(job{
					name: all[index], pods: 1 + chance.IntN(4), gpu: 4 + 4*chance.IntN(2), walltime: 100, runs: 1 + chance.IntN(3),
					edit: func(w *batch.Workload) { w.Array = &batch.ArrayMember{Name: "sweep", Index: index} },
				})
			}
			w.until(minute)
		}
		w.until(400)
		for i, older := range all {
			for _, younger := range all[i+1:] {
				a, b := w.jobs[older], w.jobs[younger]
				if a.pods == b.pods && a.gpu == b.gpu && b.started.Before(a.started) {
					t.Fatalf("seed %d: %d × %d GPUs: %s started at %s, %s at %s", seed, a.pods, a.gpu,
						older, a.started.Sub(zero), younger, b.started.Sub(zero))
				}
			}
		}
	}
}
