package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/pkg/sim"
)

const (
	fits = `apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: fits}
spec:
  about: One job on one node.
  nodes: [{name: n, resources: {cpu: "1"}}]
  jobs:
  - {name: a, requests: {cpu: 1}, walltime: 1h, runtime: 30m}
  - {name: b, at: 1m, requests: {cpu: 1}, walltime: 1h}
  expect: [{job: a, start: 0s}, {job: b, start: 30m}]
`
	gives = `apiVersion: berth.dev/v1alpha1
kind: ClusterQueue
metadata: {name: low}
spec: {preemption: {mode: Requeue}}
---
apiVersion: berth.dev/v1alpha1
kind: ClusterQueue
metadata: {name: high}
spec: {priorityTier: 9}
---
apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: gives-way}
spec:
  nodes: [{name: n, resources: {cpu: "1"}}]
  jobs:
  - {name: a, queue: low, requests: {cpu: 1}, walltime: 1h}
  - {name: b, queue: high, at: 10m, requests: {cpu: 1}, walltime: 1h}
`
	onePolicy = "apiVersion: berth.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: default}\nspec: {backfill: {mode: None}}\n"
)

// berth runs the plugin in a folder with these files.
func berth(t *testing.T, files map[string]string, args ...string) (out, said string, code int) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, arg := range args {
		if _, ok := files[arg]; ok || strings.HasPrefix(arg, "new-") {
			args[i] = filepath.Join(folder, arg)
		}
	}
	var stdout, stderr bytes.Buffer
	root := Root("test")
	root.SetArgs(args)
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	err := root.Execute()
	if err != nil {
		var tell bool
		if code, tell = ExitCode(err); tell {
			stderr.WriteString(err.Error())
		}
	}
	return stdout.String(), strings.ReplaceAll(stderr.String(), folder+"/", ""), code
}

func TestTheExitCodeSaysWhetherItHolds(t *testing.T) {
	t.Parallel()
	missed := strings.Replace(fits, "start: 30m", "start: 1h", 1)
	wrong := strings.Replace(fits, "walltime", "walltme", 1)
	for _, test := range []struct {
		name  string
		files map[string]string
		args  []string
		code  int
		words string // in what is printed or said
	}{
		{"all holds", map[string]string{"a": fits}, []string{"simulate", "-f", "a"}, 0, "all 2 expectations hold"},
		{"one does not", map[string]string{"a": missed}, []string{"simulate", "-f", "a"}, 1, "does not hold (line 10): {job: b, start: 1h}\n    start is 30m"},
		{"the file is wrong", map[string]string{"a": wrong}, []string{"simulate", "-f", "a"}, 2, "a: document 1, line 8: spec.jobs[0].walltme: unknown field"},
		{"the worst of several counts", map[string]string{"a": fits, "b": wrong, "c": missed}, []string{"simulate", "-f", "a", "b", "-f", "c"}, 2, "walltme"},
		{"there is no file", nil, []string{"simulate", "-f", "new-a"}, 2, "no such file"},
		{"no file is given", nil, []string{"simulate"}, 2, "no scenario is given"},
		{"an unknown form", map[string]string{"a": fits}, []string{"simulate", "-f", "a", "-o", "xml"}, 2, "the output is table, events or json"},
		{"a bad override", map[string]string{"a": fits}, []string{"simulate", "-f", "a", "--policy", "backfill"}, 2, "write FIELD=VALUE"},
		{"an override that a cluster refuses", map[string]string{"a": fits}, []string{"simulate", "-f", "a", "--policy", "backfill.mode=Wild"}, 2, `--policy: SchedulingPolicy.berth.dev "default" is invalid: spec.backfill.mode: Unsupported value: "Wild"`},
		{
			"a policy of the file that a cluster refuses",
			map[string]string{"a": strings.Replace(onePolicy, "None", "Wild", 1) + "---\n" + fits},
			[]string{"simulate", "-f", "a", "--policy", "backfill.depth=5"},
			2, `a: document 1, line 1: SchedulingPolicy.berth.dev "default" is invalid`,
		},
		{"an override of another type", map[string]string{"a": fits}, []string{"simulate", "-f", "a", "--policy", "backfill.mode=None,backfill.depth=abc"}, 2, "must be of type integer: \"string\"; given: backfill.depth=abc"},
		{"a log to compare with", map[string]string{"a": fits, "l.swf": "; MaxProcs: 1\n"}, []string{"simulate", "-f", "a", "--compare", "l.swf"}, 2, "l.swf: a job log is not taken; give Berth objects"},
		{"an override", map[string]string{"a": fits}, []string{"simulate", "-f", "a", "--policy", "backfill.mode=None,backfill.depth=5"}, 0, "all 2 expectations hold"},
		{"two files and one page", map[string]string{"a": fits, "b": fits}, []string{"simulate", "-f", "a", "b", "--report", "new-x"}, 2, "for one scenario"},
		{"what is compared is not expected", map[string]string{"a": fits, "p": missed}, []string{"simulate", "-f", "a", "--compare", "p"}, 0, "1 of 2 expectations do not hold"},
		{
			"objects to compare with that a cluster refuses",
			map[string]string{"a": fits, "p": "# a policy\n" + strings.Replace(onePolicy, "None", "Wild", 1)},
			[]string{"simulate", "-f", "a", "--compare", "p"},
			2, `p: document 1, line 2: SchedulingPolicy.berth.dev "default" is invalid: spec.backfill.mode`,
		},
		{"a comparison that is wrong", map[string]string{"a": fits, "p": wrong}, []string{"simulate", "-f", "a", "--compare", "p"}, 2, "walltme"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, said, code := berth(t, test.files, test.args...)
			if code != test.code || !strings.Contains(out+said, test.words) {
				t.Errorf("exit code %d, want %d; printed\n%s\nsaid\n%s\nwithout %q", code, test.code, out, said, test.words)
			}
		})
	}
}

func TestTheTableIsForPeople(t *testing.T) {
	t.Parallel()
	out, _, _ := berth(t, map[string]string{"a": fits}, "simulate", "-f", "a")
	want := `fits: One job on one node.
JOB  QUEUE    STATE      SUBMITTED  START  END    WAITED  VIA    PODS  NODES  WHY
a    default  Completed  0s         0s     30m    0s      Order  1     1      
b    default  Completed  1m         30m    1h30m  29m     Order  1     1      
all 2 expectations hold
`
	if out != want {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
}

// TestTheTableTellsOfEvictions, for whom they were, and what they have cost.
func TestTheTableTellsOfEvictions(t *testing.T) {
	t.Parallel()
	out, _, _ := berth(t, map[string]string{"a": gives}, "simulate", "-f", "a")
	want := `JOB  QUEUE  STATE      SUBMITTED  START  END    WAITED  VIA         PODS  NODES  EVICTED  BY  LOST  WHY
a    low    Completed  0s         0s     2h10m  0s      Order       1     1      1        b   10m   
b    high   Completed  10m        10m    1h10m  0s      Preemption  1     1      -        -   -     
`
	if out != want {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
}

// TestABreachIsTheLastWord: no line after it says that all is well.
func TestABreachIsTheLastWord(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p, err := newPrinter("table", &out, &out, alone)
	if err != nil {
		t.Fatal(err)
	}
	p.outcomes(&out, "", &sim.Result{
		Outcomes: []sim.Outcome{{Hold: true}, {Line: 3, Text: "{job: a}", Got: "b"}}, Breach: &sim.Breach{Event: "plan", Text: "used of n", Want: "at most 1", Got: "2"},
	})
	want := "does not hold (line 3): {job: a}\n    b\nthe run fails: an invariant is breached at 0s, after plan: used of n: want at most 1, got 2\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTheScenarioInTheHelpHolds(t *testing.T) {
	t.Parallel()
	out, said, code := berth(t, map[string]string{"a": exampleScenario}, "simulate", "-f", "a")
	if code != 0 || !strings.Contains(out, "all 3 expectations hold") {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	help, _, _ := berth(t, nil, "simulate", "--help")
	if !strings.Contains(help, "  kind: Scenario\n") {
		t.Errorf("the help has no scenario:\n%s", help)
	}
}

// TestTwoRunsAreToldApart by their names, and the first is the one that is
// recorded.
func TestTwoRunsAreToldApart(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.yaml": fits, "none.yaml": onePolicy}
	out, _, _ := berth(t, files, "simulate", "-f", "a.yaml", "--compare", "none.yaml", "-o", "json")
	var both []summary
	if err := json.Unmarshal([]byte(out), &both); err != nil || len(both) != 2 || both[0].Label != "a" || both[1].Label != "none" {
		t.Errorf("%v: %s", err, out)
	}

	kept := t.TempDir()
	alone, compared := filepath.Join(kept, "alone"), filepath.Join(kept, "compared")
	berth(t, files, "simulate", "-f", "a.yaml", "--journal", alone)
	berth(t, files, "simulate", "-f", "a.yaml", "--compare", "none.yaml", "--journal", compared)
	one, err := os.ReadFile(alone)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(compared)
	if err != nil || !bytes.Equal(one, other) {
		t.Errorf("with a comparison another run is recorded (%v)", err)
	}
}

func TestJSONIsForPrograms(t *testing.T) {
	t.Parallel()
	out, _, _ := berth(t, map[string]string{"a": fits}, "simulate", "-f", "a", "-o", "json")
	var got summary
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Holds || got.Jobs.Ended != 2 || got.Jobs.Started != 2 || got.Runs.Started != 2 || got.Jobs.LongestWait != 1740 || got.Metrics["meanWait"] != 870 || len(got.Expectations) != 2 || got.Expectations[1].Expect != "{job: b, start: 30m}" {
		t.Errorf("%+v", got)
	}
	out, _, _ = berth(t, map[string]string{"a": fits, "b": fits}, "simulate", "-f", "a", "b", "-o", "json")
	var both []summary
	if err := json.Unmarshal([]byte(out), &both); err != nil || len(both) != 2 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestEventsAreOneALine(t *testing.T) {
	t.Parallel()
	out, said, _ := berth(t, map[string]string{"a": fits}, "simulate", "-f", "a", "-o", "events")
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if !strings.Contains(said, "all 2 expectations hold") {
		t.Errorf("said %q", said)
	}
}

func TestAReportIsWritten(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.html")
	if out, said, code := berth(t, map[string]string{"a": fits, "none": onePolicy}, "simulate", "-f", "a", "--compare", "none", "--report", page); code != 0 {
		t.Fatalf("exit code %d: %s %s", code, out, said)
	}
	text, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(text, []byte(`"label":"none"`)) {
		t.Errorf("%v, %d bytes", err, len(text))
	}
}

func TestARunIsRecordedAndReplayed(t *testing.T) {
	t.Parallel()
	kept := filepath.Join(t.TempDir(), "a.journal")
	if _, said, code := berth(t, map[string]string{"a": fits}, "simulate", "-f", "a", "--journal", kept); code != 0 {
		t.Fatal(said)
	}
	out, said, code := berth(t, nil, "replay", kept)
	if code != 0 || !strings.Contains(out, "every plan comes out the same") {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	out, _, code = berth(t, map[string]string{"none": onePolicy}, "replay", filepath.Dir(kept), "--diff", "--with", "none")
	if code != 1 || !strings.Contains(out, "then: waits (Resources), planned for 2026-01-05T01:00:00Z\n    now:  waits (Resources), no start planned") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if strings.Count(out, "nothing is decided") > 1 {
		t.Errorf("the same difference is told again and again:\n%s", out)
	}
	for _, test := range []struct {
		files map[string]string
		args  []string
		want  string
	}{
		{nil, []string{"replay", filepath.Join(filepath.Dir(kept), "none")}, "no such file"},
		{map[string]string{"x": ""}, []string{"replay", "x"}, "x: has no plan (segments: 0, events: 0): there is nothing to compare"},
		{map[string]string{"x": "hello\n"}, []string{"replay", "x"}, "x: line 1: invalid character"},
		{map[string]string{"s": fits}, []string{"replay", kept, "--with", "s"}, "is a scenario; --with takes Berth objects"},
	} {
		if _, said, code := berth(t, test.files, test.args...); code != 2 || !strings.Contains(said, test.want) {
			t.Errorf("%v: exit code %d, %s, want %s", test.args, code, said, test.want)
		}
	}
}

func TestALogIsPlayedByItself(t *testing.T) {
	t.Parallel()
	log := "; MaxProcs: 2\n1 0 -1 10 2 -1 -1 2 20 -1 1 1 -1 -1 1 -1 -1 -1\n2 0 -1 10 3 -1 -1 3 20 -1 1 1 -1 -1 1 -1 -1 -1\n3 1 -1 5 1 -1 -1 1 20 -1 1 1 -1 -1 1 -1 -1 -1\n"
	out, said, code := berth(t, map[string]string{"small.swf": log}, "simulate", "-f", "small.swf")
	if code != 0 || !strings.Contains(out, "2 jobs submitted, 2 started, 2 ended; 2 runs, 0 of them evicted; 0 wait at the end, 0 of these never started, and 0 run; the queue was 1 long at most, and the longest wait 9s") || !strings.Contains(out, "trace: 2 jobs of 3 lines; not usable: 1 larger than the machine") {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
}
