package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// starves is a gang beside a stream that never leaves both nodes free at once.
const starves = `apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: starves}
spec:
  about: A gang beside a stream of small jobs.
  until: 1h
  nodes: [{prefix: n, count: 2, resources: {nvidia.com/gpu: 8}}]
  jobs:
  - {name: s0, at: 0m, requests: {nvidia.com/gpu: 8}, walltime: 20m}
  - {name: gang, at: 1m, pods: 2, requests: {nvidia.com/gpu: 8}, walltime: 30m}
  - {name: s1, at: 10m, requests: {nvidia.com/gpu: 8}, walltime: 15m}
  - {name: s2, at: 20m, requests: {nvidia.com/gpu: 8}, walltime: 41m}
  - {name: s3, at: 30m, requests: {nvidia.com/gpu: 8}, walltime: 15m}
  expect: [{job: gang, start: 20m}]
`

// TestAPolicyThatStarvesAJobIsNotCalledBetter, though all others wait less; both
// runs stand side by side.
func TestAPolicyThatStarvesAJobIsNotCalledBetter(t *testing.T) {
	t.Parallel()
	out, said, code := berth(t, map[string]string{"story.yaml": starves, "none.yaml": onePolicy}, "simulate", "-f", "story.yaml", "--compare", "none.yaml")
	want := `starves: A gang beside a stream of small jobs.
FIGURE                   story   none    CHANGE
jobs ended               2       3       +1
jobs that never started  1       1       =
longest wait             40m     59m     +47.5 % worse
mean wait                22m15s  0s      -100.0 % (of other jobs)
95 % waited at most      40m     0s      -100.0 % (of other jobs)
mean bounded slowdown    1.32    1.00    -24.1 % (of other jobs)
utilization              83.3 %  75.0 %  -10.0 % (of other jobs)
makespan                 50m     45m     -10.0 % (of other jobs)
GPU time lost            0s      0s      =
The runs have not done the same work: of 5 jobs 2 ended and 1 never started in story, of 5 jobs 3 ended and 1 never started in none.
Figures of the jobs that started or ended alone are not called better or worse.

JOB   QUEUE    SUBMITTED  story: STATE  START  END  WAITED    EVICTED  none: STATE  START  END  WAITED    EVICTED
s0    default  0s         Completed     0s     20m  0s        -        Completed    0s     20m  0s        -
gang  default  1m         Completed     20m    50m  19m       -        Pending      -      -    over 59m  -
s1    default  10m        Running       50m    -    40m       -        Completed    10m    25m  0s        -
s2    default  20m        Running       50m    -    30m       -        Running      20m    -    0s        -
s3    default  30m        Pending       ~1h5m  -    over 30m  -        Completed    30m    45m  0s        -
story: the only expectation holds
none: does not hold (line 14): {job: gang, start: 20m}
    it did not start (Resources: asks 2 × 8 nvidia.com/gpu; 8 of 16 nvidia.com/gpu free, room for 1 of 2 pods now; no start is known, it starts by itself when enough running work has ended)
none: the only expectation does not hold
`
	if code != 0 || said != "" || out != want {
		t.Errorf("exit code %d, said %s, printed\n%s\nwant\n%s", code, said, out, want)
	}
}

// TestWhatIsComparedIsReadBeforeTheFirstRun: that may take hours.
func TestWhatIsComparedIsReadBeforeTheFirstRun(t *testing.T) {
	t.Parallel()
	wild := strings.Replace(onePolicy, "None", "Wild", 1)
	out, said, code := berth(t, map[string]string{"a": fits, "p": wild}, "simulate", "-f", "a", "--compare", "p")
	if code != 2 || out != "" || !strings.HasPrefix(said, "p: document 1, line 1: ") {
		t.Errorf("exit code %d, said %s, printed\n%s", code, said, out)
	}
}

// TestTheScenariosOfAFolderArePlayedInOrder, and summed up; what lies beside them
// and is none is left alone.
func TestTheScenariosOfAFolderArePlayedInOrder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b.yaml", fits)
	write("a.yml", strings.Replace(fits, "start: 30m", "start: 1h", 1))
	write("c.yaml", strings.Replace(fits, "walltime", "walltme", 1))
	write("d.yaml", strings.ReplaceAll(fits, "  expect: [{job: a, start: 0s}, {job: b, start: 30m}]\n", ""))
	write("policy.yaml", onePolicy)
	write("notes.txt", "not a scenario")
	out, said, code := berth(t, nil, "simulate", "-f", folder)
	out, said = strings.ReplaceAll(out, folder+"/", ""), strings.ReplaceAll(said, folder+"/", "")
	want := `== a.yml
fits: One job on one node.
JOB  QUEUE    STATE      SUBMITTED  START  END    WAITED  VIA    PODS  NODES  WHY
a    default  Completed  0s         0s     30m    0s      Order  1     1      
b    default  Completed  1m         30m    1h30m  29m     Order  1     1      
does not hold (line 10): {job: b, start: 1h}
    start is 30m
1 of 2 expectations do not hold

b.yaml: all 2 expectations hold
d.yaml: was played; nothing is expected of it
4 scenarios: 2 held, 1 did not, 1 could not be played
    did not hold: a.yml
    could not be played: c.yaml
`
	if code != 2 || out != want || !strings.HasPrefix(said, "c.yaml: document 1, line 8: spec.jobs[0].walltme: unknown field") {
		t.Errorf("exit code %d, said %s, printed\n%s\nwant\n%s", code, said, out, want)
	}
	if _, said, code := berth(t, nil, "simulate", "-f", t.TempDir()); code != 2 || !strings.Contains(said, "has no scenario: no file *.yaml or *.yml with a document of kind Scenario") {
		t.Errorf("an empty folder: exit code %d, said %s", code, said)
	}
}

// TestJobsAreCountedOnceAndRunsAsOftenAsTheyWere: a job that is taken back and
// started again is one job and two runs.
func TestJobsAreCountedOnceAndRunsAsOftenAsTheyWere(t *testing.T) {
	t.Parallel()
	out, _, _ := berth(t, map[string]string{"a": gives}, "simulate", "-f", "a", "-o", "json")
	var got summary
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	jobs := jobCounts{Submitted: 2, Started: 2, Ended: 2, LongestQueue: 1}
	if runs := (runCounts{Started: 3, Evicted: 1}); got.Jobs != jobs || got.Runs != runs {
		t.Errorf("jobs %+v, want %+v; runs %+v, want %+v", got.Jobs, jobs, got.Runs, runs)
	}
}

// TestAMissingCohortIsSaid: a cluster allows it too, and it is hardly meant.
func TestAMissingCohortIsSaid(t *testing.T) {
	t.Parallel()
	queue := "apiVersion: berth.dev/v1alpha1\nkind: ClusterQueue\nmetadata: {name: red}\nspec: {cohortName: company}\n---\n"
	cohort := "apiVersion: berth.dev/v1alpha1\nkind: Cohort\nmetadata: {name: company}\nspec: {parentName: world}\n---\n"
	story := strings.ReplaceAll(fits, "name: a,", "name: a, queue: red,")
	story = strings.ReplaceAll(story, "name: b,", "name: b, queue: red,")
	for _, test := range []struct{ file, want string }{
		{queue + story, "a: note: ClusterQueue red names Cohort company, which no object describes: nothing is borrowed or lent by it\n"},
		{queue + cohort + story, "a: note: Cohort company names Cohort world, which no object describes: nothing is borrowed or lent by it\n"},
		{queue + strings.Replace(cohort, "parentName: world", "", 1) + story, ""},
	} {
		if _, said, code := berth(t, map[string]string{"a": test.file}, "simulate", "-f", "a"); code != 0 || said != test.want {
			t.Errorf("exit code %d, said %q, want %q", code, said, test.want)
		}
	}
}

// TestTheEventsOfTwoRunsAreToldApart; those of one have no mark.
func TestTheEventsOfTwoRunsAreToldApart(t *testing.T) {
	t.Parallel()
	files := map[string]string{"story.yaml": fits, "none.yaml": onePolicy}
	alone, _, _ := berth(t, files, "simulate", "-f", "story.yaml", "-o", "events")
	both, said, _ := berth(t, files, "simulate", "-f", "story.yaml", "--compare", "none.yaml", "-o", "events")
	first := strings.ReplaceAll(alone, `{"t":`, `{"label":"story","t":`)
	second, cut := strings.CutPrefix(both, first)
	if strings.Contains(alone, "label") || !cut || strings.Count(second, `{"label":"none","t":`) != strings.Count(second, "\n") || second == "" {
		t.Errorf("printed\n%s\nafter\n%s", both, alone)
	}
	if said != "story: all 2 expectations hold\nnone: all 2 expectations hold\n" {
		t.Errorf("said %s", said)
	}
}

// TestAnEditThatChangesNothingIsSaid: the job goes on as it was, and nothing in the table
// would show that anybody has edited it.
func TestAnEditThatChangesNothingIsSaid(t *testing.T) {
	t.Parallel()
	const queue = "apiVersion: berth.dev/v1alpha1\nkind: ClusterQueue\nmetadata: {name: default}\nspec: {walltime: {max: 4h}}\n---\n"
	text := queue + fits + "  events: [{at: 10m, set: {job: a, walltime: 5h}}]\n"
	out, said, code := berth(t, map[string]string{"f": text}, "simulate", "-f", "f", "-o", "json")
	const want = "at 10m, job default/a: its walltime was edited, and it runs until 2026-01-05T01:00:00Z at the latest all the same: its walltime of 5h is above the 4h that ClusterQueue default allows"
	if code != 0 || said != "f: note: "+want+"\n" || !strings.Contains(out, `"`+want+`"`) {
		t.Errorf("exit code %d, said %s, printed %s", code, said, out)
	}
}

// TestALongRunIsPlayedWholeOrSaidToBeCut: a log to its end, however long it is; where
// something never ends, what is not played is said.
func TestALongRunIsPlayedWholeOrSaidToBeCut(t *testing.T) {
	t.Parallel()
	const (
		twoYears = "; MaxProcs: 1\n1 0 0 3600 1 0 0 1 3600 0 1 1 1\n2 63072000 0 3600 1 0 0 1 3600 0 1 1 1\n"
		endless  = `apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: endless}
spec:
  nodes: [{name: n, resources: {cpu: "1"}}]
  jobs:
  - {name: a, requests: {cpu: 1}, walltime: UNLIMITED, runtime: 500d}
  - {name: b, requests: {cpu: 1}, walltime: 1h}
`
	)
	traced := strings.Replace(endless, "  jobs:", "  trace: {file: l.swf, format: swf}\n  jobs:", 1)
	const cut = "note: the run was stopped at 400d (2027-02-09T00:00:00Z), where 1 wait and 1 run: without an end of its own it lasts at most 400d; give spec.until to go on"
	for _, test := range []struct{ name, file, text, out, said string }{
		{"a log of two years", "l.swf", twoYears, "2 jobs submitted, 2 started, 2 ended", ""},
		{"work that does not end", "f.yaml", endless, "b    default  Pending", cut},
		{"a log beside work that does not end", "f.yaml", traced, "4 jobs submitted, 4 started, 4 ended", ""},
		{"what would be seen later", "f.yaml", endless + "  expect: [{at: 420d, job: b, state: Pending}]\n", "the run stopped at 400d", cut},
		{
			"a log whose last job does not end", "l.swf", twoYears + "3 63072000 0 50000000 1 0 0 1 50000000\n", "3 jobs submitted, 3 started, 2 ended",
			"l.swf: note: the run was stopped at 1130d (2029-02-08T00:00:00Z), where 0 wait and 1 run: without an end of its own it lasts at most 400d after the last submission of its log; give spec.until to go on",
		},
		{"an end of its own", "f.yaml", endless + "  until: 600d\n", "b    default  Completed", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, said, _ := berth(t, map[string]string{"l.swf": twoYears, test.file: test.text}, "simulate", "-f", test.file)
			if !strings.Contains(out, test.out) {
				t.Errorf("printed %s, want %s", out, test.out)
			}
			if said = strings.TrimSpace(strings.TrimPrefix(said, "f.yaml: ")); said != test.said {
				t.Errorf("said %s, want %s", said, test.said)
			}
		})
	}
}
