package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/scenario"
)

const liveFile = `apiVersion: berth.dev/v1alpha1
kind: ClusterQueue
metadata: {name: low}
spec: {preemption: {mode: Requeue, grace: 4m}}
---
apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: x}
spec:
  live: true
  nodes: [{name: n, resources: {cpu: "1"}}]
  jobs: [{name: a, queue: low, requests: {cpu: 1}, walltime: 1h}]
  expect: [{job: a, start: 0s, via: Order}]
`

// TestWhatIsNotPlayedLiveIsSaid, whatever it is; what is has nothing to say.
func TestWhatIsNotPlayedLiveIsSaid(t *testing.T) {
	t.Parallel()
	admitter, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	said := func(text string) string {
		file, err := scenario.Load("x", []byte(text), scenario.Options{Admitter: admitter})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(file.NotLive(), "; ")
	}
	if got := said(liveFile); got != "" {
		t.Errorf("a file that is played live has %s", got)
	}
	for _, c := range []struct{ name, old, with, want string }{
		{"events", "  expect:", "  events: [{at: 1m, node: n, ready: false}]\n  expect:", "events"},
		{"a cohort", "spec: {preemption", "spec: {cohortName: c, preemption", "the flavors and the cohort of ClusterQueue low"},
		{"labels of nodes", "[{name: n,", "[{name: n, labels: {rack: a},", "the labels or taints of node n"},
		{"a hold", "walltime: 1h}", "walltime: 1h, hold: true}", "job a: "},
		{"an account", "walltime: 1h}", "walltime: 1h, account: lab}", "job a: "},
		{"a rack", "walltime: 1h}", "walltime: 1h, topology: {required: rack}}", "job a: "},
		{"a moment", "{job: a, start: 0s, via: Order}", "{at: 1m, job: a, state: Running}", "line 13: what is so at a moment"},
		{"a metric", "{job: a, start: 0s, via: Order}", "{metric: makespan, min: 0}", "line 13: metrics"},
		{"a bound", "{job: a, start: 0s, via: Order}", "{neverAbove: {queue: low, used: {cpu: 1}}}", "line 13: neverAbove"},
		{"the planned starts", "via: Order", "plannedStarts: nonIncreasing", "line 13: plannedStarts"},
	} {
		text := strings.Replace(liveFile, c.old, c.with, 1)
		if got := said(text); text == liveFile || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: said %q, want %q", c.name, got, c.want)
		}
	}
}

// TestFilesThatAreMarkedLiveAre: nobody waits for the live suite to hear it.
func TestFilesThatAreMarkedLiveAre(t *testing.T) {
	t.Parallel()
	admitter, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../test/scenarios/*/*-live.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are none", err)
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := scenario.Load(path, content, scenario.Options{Admitter: admitter})
		if err != nil {
			t.Fatal(err)
		}
		if not := file.NotLive(); len(not) > 0 || !file.Live {
			t.Errorf("%s: live %t, and not played live: %q", path, file.Live, not)
		}
	}
}
