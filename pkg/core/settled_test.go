package core_test

import (
	"testing"

	"github.com/berth-dev/berth/pkg/batch"
)

// Whether something has become free is known of the working set: after what takes
// only, it is settled; after what gives back, not until the next plan was issued.
func TestSettledUntilSomethingBecomesFree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settled := func(want bool, when string) {
		t.Helper()
		if got := w.core.Snapshot().Settled; got != want {
			t.Errorf("settled %v %s, want %v", got, when, want)
		}
	}
	settled(false, "before the first plan")
	w.queue("main", nil)
	w.node("n1", 8, nil)
	w.submit(job{name: "runs", gpu: 8, walltime: 20, runs: 10})
	w.until(0)
	settled(true, "after a start")
	w.submit(job{name: "waits", gpu: 8, walltime: 20}, job{name: "behind", gpu: 8, walltime: 20})
	settled(true, "after arrivals")
	w.until(1)
	w.want("waits~20", "behind~40")
	settled(true, "after planned starts were issued")
	w.core.Step(batch.WorkloadGone{ID: "ns/waits"})
	settled(false, "after somebody with a planned start went away")
}
