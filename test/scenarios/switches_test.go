package scenarios_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// switches are what a queue may say of whose place its waiting work takes.
type switches struct{ within, reclaim, borrow string }

func (s switches) String() string {
	return fmt.Sprintf("withinQueue: %s, reclaimWithinCohort: %s, borrowWithinCohort: %s", s.within, s.reclaim, s.borrow)
}

// claim is somebody who waits on a full cluster of 8 GPUs, and whose place he
// could take: that of the work which has been there first.
type claim struct {
	about    string
	runs     string // the queue of who runs with all 8 GPUs: mine, or theirs
	asks     int    // GPUs, of 4 that his queue has of its own
	theirs   int    // what the other queue has of its own
	priority int    // of who waits; who runs has 1
	allowed  func(s switches) bool
}

func claims() []claim {
	const lower = "LowerPriority"
	never := func(switches) bool { return false }
	return []claim{
		{"lower work of the same queue", "mine", 4, 4, 2, func(s switches) bool { return s.within == lower }},
		{"equal work of the same queue", "mine", 4, 4, 1, never},
		{"lower work that borrows, for what is his own", "theirs", 4, 4, 2, func(s switches) bool { return s.reclaim != "Never" || s.borrow == lower }},
		{"equal work that borrows, for what is his own", "theirs", 4, 4, 1, func(s switches) bool { return s.reclaim == "Any" }},
		{"lower work that borrows, for more than his own", "theirs", 8, 4, 2, func(s switches) bool { return s.borrow == lower }},
		{"equal work that borrows, for more than his own", "theirs", 8, 4, 1, never},
		{"lower work that has no more than its own", "theirs", 4, 8, 2, never},
		{"equal work that has no more than its own", "theirs", 4, 8, 1, never},
	}
}

func (c claim) text(s switches) string {
	queue := func(name string, own int) string {
		return fmt.Sprintf(`apiVersion: berth.dev/v1alpha1
kind: ClusterQueue
metadata: {name: %s}
spec:
  cohortName: all
  flavors: [{name: gpu, resources: [{name: nvidia.com/gpu, nominalQuota: "%d"}]}]
  preemption: {mode: Requeue, %s}
---
`, name, own, s)
	}
	return "{apiVersion: berth.dev/v1alpha1, kind: ResourceFlavor, metadata: {name: gpu}, spec: {}}\n---\n" +
		"{apiVersion: berth.dev/v1alpha1, kind: Cohort, metadata: {name: all}, spec: {}}\n---\n" +
		queue("mine", 4) + queue("theirs", c.theirs) + fmt.Sprintf(`apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: switches}
spec:
  nodes: [{name: n, resources: {nvidia.com/gpu: "8"}}]
  jobs:
  - {name: runs, queue: %s, at: 0m, requests: {nvidia.com/gpu: 8}, walltime: 4h, priority: 1}
  - {name: asks, queue: mine, at: 10m, requests: {nvidia.com/gpu: %d}, walltime: 1h, priority: %d}
  expect: [{metric: makespan, min: 0}]
`, c.runs, c.asks, c.priority)
}

// Each of the three switches opens what it names, and nothing that another one
// closes: all settings of all of them, against each sort of victim.
func TestB44NeverMeansNeverWhateverTheOtherSwitchesSay(t *testing.T) {
	t.Parallel()
	admitter := server(t)
	want, got := map[string]bool{}, map[string]bool{}
	for _, within := range []string{"Never", "LowerPriority"} {
		for _, reclaim := range []string{"Never", "LowerPriority", "Any"} {
			for _, borrow := range []string{"Never", "LowerPriority"} {
				s := switches{within, reclaim, borrow}
				for _, c := range claims() {
					name := fmt.Sprintf("%s: %s", s, c.about)
					result := runWith(t, c.text(s), admitter)
					want[name], got[name] = c.allowed(s), result.Counts.Evicted > 0
					if evicted := result.Counts.Evicted; evicted > 1 {
						t.Errorf("%s: %d evictions for one place", name, evicted)
					}
				}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who may take whose place (-want +got):\n%s", diff)
	}
}
