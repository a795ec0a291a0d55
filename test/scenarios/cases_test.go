package scenarios_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// run plays a scenario that is too long, or counts too much, to be a file.
func run(t *testing.T, text string) *sim.Result {
	t.Helper()
	return runWith(t, text, server(t))
}

// runWith does so with a cluster's validation that is there.
func runWith(t *testing.T, text string, admitter scenario.Admitter) *sim.Result {
	t.Helper()
	file, err := scenario.Load("case.yaml", []byte(text), scenario.Options{Admitter: admitter})
	if err != nil {
		t.Fatal(err)
	}
	result, err := sim.Run(file, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Breach != nil {
		t.Fatalf("an invariant is breached: %s", result.Breach)
	}
	return result
}

// Ten thousand GPU jobs wait, and one ends each second; a short CPU job comes
// each second, behind all of them. What has changed is planned, not everybody:
// a plan for each moment in which something happens, and few more.
func TestB13BlockedCrowdHidesNoStartableJob(t *testing.T) {
	t.Parallel()
	const crowd, late, seconds = 10_000, 15, 15
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: crowd}
spec:
  until: %ds
  nodes:
  - {prefix: gpu, count: 1, resources: {nvidia.com/gpu: "8", cpu: "8"}}
  - {prefix: cpu, count: 1, resources: {cpu: "64"}}
  jobs:
  - {name: crowd, at: 0s, array: {count: %d, parallelism: %d}, requests: {nvidia.com/gpu: 1, cpu: 1}, walltime: 1h, runtime: 8s}
`, seconds+10, crowd, crowd)
	for i := range late {
		fmt.Fprintf(&text, "  - {name: late%d, at: %ds, requests: {cpu: 4}, walltime: 1m, runtime: 5s}\n", i, 1+i)
	}
	text.WriteString("  expect:\n  - {metric: makespan, min: 0}\n")
	begin := time.Now()
	result := run(t, text.String())
	took := time.Since(begin)
	worst, started := time.Duration(0), 0
	for _, j := range result.Jobs {
		if !strings.Contains(string(j.ID), "/late") {
			continue
		}
		if j.Started == nil {
			t.Errorf("%s never started: %s", j.ID, j.Message)
			continue
		}
		started++
		worst = max(worst, *j.Started-j.Submitted)
	}
	t.Logf("%d of %d late CPU jobs started, the last %v after it came; %d starts in %d s; %d plans, %v of real time for each",
		started, late, worst, result.Counts.Started, seconds, result.Counts.Plans, took/time.Duration(result.Counts.Plans))
	if worst > 0 {
		t.Errorf("a CPU job waited for %v beside idle CPUs", worst)
	}
	if most := 3 * (seconds + 10 + late); result.Counts.Plans > most {
		t.Errorf("%d plans, more than %d", result.Counts.Plans, most)
	}
}

// A job that would have to take the place of others, and may not, is looked at
// when something changes. Twenty small jobs of another queue start in the
// moment in which they come.
func TestB42AJobThatMayTakeNobodyIsNotTriedForEver(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, q := range []struct {
		name string
		tier int
	}{{"stuck", 9}, {"busy", 1}, {"other", 1}} {
		fmt.Fprintf(&text, "apiVersion: berth.dev/v1alpha1\nkind: ClusterQueue\nmetadata: {name: %s}\nspec: {priorityTier: %d, preemption: {mode: Never}}\n---\n", q.name, q.tier)
	}
	text.WriteString(`apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: stuck}
spec:
  until: 10h
  nodes:
  - {prefix: gpu, count: 2, resources: {nvidia.com/gpu: "8", cpu: "8"}}
  - {prefix: cpu, count: 1, resources: {cpu: "64"}}
  jobs:
  - {name: runs, queue: busy, at: 0s, pods: 2, requests: {nvidia.com/gpu: 8}, walltime: 20h}
  - {name: stuck, queue: stuck, at: 1s, pods: 2, requests: {nvidia.com/gpu: 8}, walltime: 1h}
`)
	for i := range 20 {
		fmt.Fprintf(&text, "  - {name: small%d, queue: other, at: 1m, requests: {cpu: 1}, walltime: 1h}\n", i)
	}
	text.WriteString("  expect:\n  - {metric: makespan, min: 0}\n")
	result := run(t, text.String())
	for _, j := range result.Jobs {
		if strings.Contains(string(j.ID), "/small") && (j.Started == nil || *j.Started != j.Submitted) {
			t.Errorf("%s came at %v and started at %v", j.ID, j.Submitted, j.Started)
		}
	}
	t.Logf("%d plans in 10 hours, for %d submissions and ends", result.Counts.Plans, result.Counts.Submitted+result.Counts.Ended)
	if result.Counts.Evicted > 0 {
		t.Errorf("%d evictions", result.Counts.Evicted)
	}
	if result.Counts.Plans > 100 {
		t.Errorf("%d plans in 10 hours in which almost nothing happens", result.Counts.Plans)
	}
}
