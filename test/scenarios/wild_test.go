package scenarios_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// wildQueues are the queues of a wild scenario, by tier.
var wildQueues = []string{"low", "mid", "high"}

// drawScenario draws a file in which much goes wrong: queues that take from
// each other and change while work runs, victims that save, ignore or vanish,
// nodes that are cordoned while a grace runs, and a controller that dies.
func drawScenario(t *rapid.T) string {
	var b strings.Builder
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	doc := func(text string) { b.WriteString(text + "\n---\n") }
	doc(fmt.Sprintf("apiVersion: berth.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: default}\nspec: {backfill: {mode: %s}, preemption: {victims: %s}}",
		pick("mode", "Conservative", "Conservative", "EASY", "Strict", "None"), pick("victims", "LeastLost", "Youngest", "SmallestFirst")))
	racks := rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "nodes of a rack")
	if racks > 0 {
		doc("apiVersion: berth.dev/v1alpha1\nkind: Topology\nmetadata: {name: room}\nspec: {levels: [{name: rack, nodeLabel: rack}]}")
		doc("apiVersion: berth.dev/v1alpha1\nkind: ResourceFlavor\nmetadata: {name: f}\nspec: {topologyName: room}")
	} else {
		doc("apiVersion: berth.dev/v1alpha1\nkind: ResourceFlavor\nmetadata: {name: f}\nspec: {}")
	}
	doc("apiVersion: berth.dev/v1alpha1\nkind: Cohort\nmetadata: {name: top}\nspec: {}")
	doc("apiVersion: berth.dev/v1alpha1\nkind: Cohort\nmetadata: {name: team}\nspec: {parentName: top}")
	for i := range wildQueues {
		doc(drawQueue(t, i))
	}
	nodes, spread := rapid.IntRange(1, 3).Draw(t, "nodes"), ""
	if racks > 0 {
		nodes += 2
		spread = fmt.Sprintf(", spread: {rack: %d}", racks)
	}
	fmt.Fprintf(&b, "apiVersion: sim.berth.dev/v1alpha1\nkind: Scenario\nmetadata: {name: wild}\nspec:\n  about: Drawn by chance.\n  until: 20d\n")
	fmt.Fprintf(&b, "  nodes:\n  - {prefix: n, count: %d, resources: {nvidia.com/gpu: \"8\", cpu: \"64\"}%s}\n  jobs:\n", nodes, spread)
	jobs := rapid.IntRange(1, 12).Draw(t, "jobs")
	for i := range jobs {
		b.WriteString("  - {" + drawWildJob(t, i, racks) + "}\n")
	}
	if events := rapid.IntRange(0, 6).Draw(t, "events"); events > 0 {
		b.WriteString("  events:\n")
		at := 0
		for range events {
			at += rapid.IntRange(1, 40).Draw(t, "later")
			b.WriteString("  - {" + fmt.Sprintf("at: %dm, ", at) + drawWildEvent(t, nodes, jobs) + "}\n")
		}
	}
	b.WriteString("  expect:\n  - {metric: makespan, min: 0}\n")
	return b.String()
}

// drawQueue draws one of the queues, as it is or as an admin changes it.
func drawQueue(t *rapid.T, i int) string {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	quota := ""
	if rapid.Bool().Draw(t, "quota") {
		limits := pick("limits", "", ", borrowingLimit: \"0\"", ", borrowingLimit: \"8\"", ", lendingLimit: \"0\"", ", lendingLimit: \"2\"")
		quota = fmt.Sprintf(", cohortName: %s, flavors: [{name: f, resources: [{name: nvidia.com/gpu, nominalQuota: \"%s\"%s}]}]",
			pick("cohort", "team", "top"), pick("nominal", "0", "4", "8", "16"), limits)
	} else {
		quota = pick("nodes", "", ", flavors: [{name: f}]")
	}
	return fmt.Sprintf("apiVersion: berth.dev/v1alpha1\nkind: ClusterQueue\nmetadata: {name: %s}\nspec: {priorityTier: %d%s, preemption: {mode: %s, grace: %s, exempt: %s, withinQueue: %s, reclaimWithinCohort: %s, borrowWithinCohort: %s}}",
		wildQueues[i], 1+i, quota, pick("mode", "Requeue", "Requeue", "Cancel", "Never"), pick("grace", "0s", "1m", "5m"),
		pick("exempt", "0s", "0s", "10m"), pick("within", "Never", "LowerPriority"), pick("reclaim", "Never", "LowerPriority", "Any"),
		pick("borrow", "Never", "LowerPriority"))
}

func drawWildJob(t *rapid.T, i, racks int) string {
	walltime := rapid.SampledFrom([]int{10, 30, 60, 120}).Draw(t, "walltime")
	pods := rapid.IntRange(1, 3).Draw(t, "pods")
	text := fmt.Sprintf("name: j%d, at: %dm, queue: %s, pods: %d, requests: {nvidia.com/gpu: %d}, walltime: %dm, runtime: %dm, priority: %d",
		i, rapid.IntRange(0, 60).Draw(t, "at"), rapid.SampledFrom(wildQueues).Draw(t, "queue"), pods,
		rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "gpus"), walltime, rapid.IntRange(1, walltime+5).Draw(t, "runtime"),
		rapid.IntRange(0, 3).Draw(t, "priority"))
	wish := func(label string, oneIn int, more string) {
		if rapid.IntRange(1, oneIn).Draw(t, label) == oneIn {
			text += ", " + more
		}
	}
	if racks > 0 && pods > 1 {
		text += ", topology: {required: rack}" // a gang that may spread is refused
	}
	if pods > 1 {
		wish("elastic", 4, "minPods: 1")
	}
	wish("time min", 5, "timeMin: 5m")
	wish("whole", 6, "exclusive: Workload")
	wish("ends by", 8, "endBefore: 3h")
	wish("no requeue", 6, "requeue: false")
	wish("cancelled", 6, "cancelAt: 75m")
	switch rapid.IntRange(0, 5).Draw(t, "notice") {
	case 0:
		text += ", onNotice: ignore"
	case 1:
		text += ", onNotice: {exitsAfter: 20s}"
	case 2:
		text += ", checkpoint: {every: 10m, save: 30s, resume: 1m}"
	}
	if i > 0 {
		wish("depends", 5, fmt.Sprintf("after: [\"afterany:j%d\"]", rapid.IntRange(0, i-1).Draw(t, "on")))
	}
	return text
}

func drawWildEvent(t *rapid.T, nodes, jobs int) string {
	node := fmt.Sprintf("n%d", rapid.IntRange(0, nodes-1).Draw(t, "node"))
	job := fmt.Sprintf("j%d", rapid.IntRange(0, jobs-1).Draw(t, "job"))
	switch rapid.IntRange(0, 9).Draw(t, "event") {
	case 0, 1:
		return "restart: controller"
	case 2:
		return "controllerDown: 5m"
	case 3:
		return "node: " + node + ", unschedulable: false"
	case 4:
		return "hold: " + job
	case 5:
		return "node: " + node + ", unschedulable: true"
	case 6:
		return fmt.Sprintf("set: {job: %s, priority: %d}", job, rapid.IntRange(0, 5).Draw(t, "to"))
	case 7:
		return fmt.Sprintf("apply: {apiVersion: berth.dev/v1alpha1, kind: Cohort, metadata: {name: team}, spec: {parentName: %s}}",
			rapid.SampledFrom([]string{"top", "elsewhere"}).Draw(t, "parent"))
	}
	queue := drawQueue(t, rapid.IntRange(0, len(wildQueues)-1).Draw(t, "which"))
	return "apply: {" + strings.ReplaceAll(queue, "\n", ", ") + "}"
}

// wildPlansMax are more plans at one moment than a dozen jobs give reason for.
const wildPlansMax = 300

// Whatever is drawn, a run comes to its end, all plans of a moment do, no
// invariant breaks, and nobody is evicted for nobody. The smallest file that
// shows a failure is left behind.
func TestWildScenariosBreakNothing(t *testing.T) {
	t.Parallel()
	admitter := server(t)
	left := filepath.Join(os.TempDir(), "berth-wild.yaml")
	rapid.Check(t, func(t *rapid.T) {
		text := drawScenario(t)
		fail := func(format string, args ...any) {
			if err := os.WriteFile(left, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Fatalf("%s; the scenario is in %s:\n%s", fmt.Sprintf(format, args...), left, text)
		}
		file, err := scenario.Load("wild.yaml", []byte(text), scenario.Options{Admitter: admitter})
		if err != nil {
			fail("it is refused: %v", err)
		}
		defer func() {
			if broken := recover(); broken != nil && strings.HasPrefix(fmt.Sprint(broken), "planner:") {
				fail("%v", broken)
			} else if broken != nil {
				panic(broken)
			}
		}()
		var at time.Time
		var plans []batch.Plan
		result, err := sim.Run(file, sim.Options{Pass: func(p sim.Pass) {
			if !p.Plan.At.Equal(at) {
				at, plans = p.Plan.At, nil
			}
			if plans = append(plans, p.Plan); len(plans) > wildPlansMax {
				fail("the plans of %s do not come to an end", at.Sub(file.Start))
			}
		}})
		switch {
		case err != nil && strings.Contains(err.Error(), "cannot be edited"):
			// It has gone, or has not come yet: a file that says so is wrong.
		case err != nil:
			fail("%v", err)
		case result.Breach != nil:
			fail("an invariant is breached: %s", result.Breach)
		case result.Counts.Plans > 20_000:
			fail("%d plans", result.Counts.Plans)
		}
	})
}
