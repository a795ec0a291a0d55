package scenario_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
)

// anything admits every object as it is: what a cluster would say of it is
// tested elsewhere.
type anything struct{}

func (anything) Admit(object, _ map[string]any) (scenario.Object, error) {
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	if name == "refused" {
		return scenario.Object{}, errors.New("the server says no")
	}
	out := scenario.Object{Kind: kind, Namespace: namespace, Name: name, Raw: object}
	switch kind {
	case "PriorityClass":
		value, _ := object["value"].(int64)
		out.Value = int32(value)
	case "LocalQueue":
		out.Namespace = "default"
		out.Seen = batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{Name: batch.LocalQueueName("default/" + name)}}
		out.Gone = batch.LocalQueueGone{Name: batch.LocalQueueName("default/" + name)}
	default:
		out.Seen, out.Gone = batch.QueueObserved{Queue: batch.Queue{Name: batch.QueueName(name)}}, batch.QueueGone{Name: batch.QueueName(name)}
	}
	return out, nil
}

func (anything) Malformed(scenario.Form, string) string { return "" }

// spec is a file with one node, one job and these lines more.
func spec(lines ...string) string {
	return `apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: x}
spec:
  nodes: [{prefix: n, count: 2, resources: {cpu: "8"}}]
` + strings.Join(lines, "\n") + "\n"
}

func load(text string) (*scenario.File, error) {
	return scenario.Load("x.yaml", []byte(text), scenario.Options{Admitter: anything{}})
}

func TestWhatIsWrongIsSaidWithPlaceAndRemedy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"an unknown field", spec("  jobs: [{name: a, walltme: 1h}]"), `line 6: spec.jobs[0].walltme: unknown field; did you mean "walltime"?`},
		{"on is a word", spec("  jobs: [{name: a, hold: on}]"), `spec.jobs[0].hold: "on" is not a boolean: write true or false`},
		{"a number for a word", spec("  jobs: [{name: 5}]"), `spec.jobs[0].name: 5 is a whole number, and text is wanted: write "5" with the quotes`},
		{"a time without a unit", spec("  jobs: [{name: a, at: 5}]"), `spec.jobs[0].at: duration "5": write a duration`},
		{"no pods", spec("  jobs: [{name: a, pods: 0}]"), "spec.jobs[0].pods: is 0: a job has 1 to"},
		{"a negative request", spec(`  jobs: [{name: a, requests: {cpu: "-1"}}]`), `spec.jobs[0].requests.cpu: "-1" is below zero`},
		{"asking for pod slots", spec("  jobs: [{name: a, requests: {pods: 2}}]"), "each pod takes one pod slot by itself"},
		{"a walltime of nothing", spec("  jobs: [{name: a, walltime: 0}]"), `0 could mean "no time" or "no limit"`},
		{"two jobs of one name", spec("  jobs: [{name: a}, {name: a}]"), `spec.jobs[1].name: a job "a" stands already in line 6`},
		{"a shortest limit above the walltime", spec("  jobs: [{name: a, walltime: 1h, timeMin: 2h}]"), "spec.jobs[0].timeMin: is 2h, above the walltime of 1h"},
		{"an end before the begin", spec("  jobs: [{name: a, walltime: 1h, begin: 2h, endBefore: 2h30m}]"), "spec.jobs[0].endBefore: is 2026-01-05T02:30:00Z, and it may not begin before 2026-01-05T02:00:00Z and asks for 1h at least"},
		{"more at the least than at the most", spec("  jobs: [{name: a, pods: 2, minPods: 3}]"), "spec.jobs[0].minPods: is 3 of 2 pods"},
		{"pod sets and pods", spec("  jobs: [{name: a, pods: 2, podSets: [{name: w}]}]"), "spec.jobs[0].pods: stands beside podSets"},
		{"a name that is none", spec("  jobs: [{name: A_b}]"), `spec.jobs[0].name: "A_b" is not a name`},
		{"a bad end", spec("  jobs: [{name: a, exit: maybe}]"), `"maybe" is neither ok nor fail`},
		{"later than a run lasts", spec("  jobs: [{name: a, at: 401d}]"), "spec.jobs[0].at: 401d is after the 400d that a run lasts at most without an until of its own"},
		{"deleted before it was there", spec("  jobs: [{name: a, at: 5m, cancelAt: 1m}]"), "is before the job is submitted"},
		{"a field of later versions", spec("  jobs: [{name: a, qos: high}]"), "spec.jobs[0].qos: this version does not have service classes (qos) yet"},
		{"a value of later versions", spec("  jobs: [{name: a, exclusive: User}]"), "this version does not have nodes for one user"},
		{"a reason of later versions", spec("  jobs: [{name: a}]", "  expect: [{at: 1m, job: a, reason: UserLimit}]"), "this version does not have limits (UserLimit) yet"},
		{"a cause of later versions", spec("  jobs: [{name: a}]", "  expect: [{job: a, cause: Drained}]"), "this version does not have drains (Drained) yet"},
		{"a lost pod replaced", spec("  jobs: [{name: a, onNodeLoss: Replace}]"), "spec.jobs[0].onNodeLoss: this version does not have the replacement of lost pods (Replace) yet"},
		{"a slip in onNodeLoss", spec("  jobs: [{name: a, onNodeLoss: Wait}]"), `spec.jobs[0].onNodeLoss: "Wait" is not one of Requeue, Replace`},
		{"a reaction that is none", spec("  jobs: [{name: a, onNotice: wait}]"), "spec.jobs[0].onNotice: is neither ignore nor a time to exit after"},
		{"a reaction with a slip", spec("  jobs: [{name: a, onNotice: {exits: 5s}}]"), "spec.jobs[0].onNotice: is neither ignore nor a time to exit after"},
		{"saves all the time", spec("  jobs: [{name: a, checkpoint: {every: 0s}}]"), "spec.jobs[0].checkpoint.every: is 0s: it must be longer than 0s; leave it out"},
		{"a reaction at no time", spec("  jobs: [{name: a, onNotice: {exitsAfter: soon}}]"), "spec.jobs[0].onNotice.exitsAfter"},
		{"taken by nobody", spec("  jobs: [{name: a}]", "  expect: [{job: a, by: b}]"), `spec.expect[0].by: there is no job "b"`},
		{"an eviction of a moment", spec("  jobs: [{name: a}]", "  expect: [{at: 1m, job: a, evictedAt: [1m]}]"), "spec.expect[0].evictedAt: is of the whole run"},
		{"a field twice", spec("  jobs: [{name: a, at: 1m, at: 2m}]"), "spec.jobs[0].at: stands twice"},
		{"a field without a value", spec("  jobs: [{name: a, at: }]"), "spec.jobs[0].at: has no value"},
		{"nodes without a name", spec("  jobs: [{name: a}]", "  events: [{at: 1m, addNodes: {count: 2}}]"), "needs either name (one node) or prefix"},
		{"a node twice", spec("  jobs: [{name: a}]", "  events: [{at: 1m, addNodes: {name: n1}}]"), `a node "n1" is already there`},
		{"an event that does nothing", spec("  jobs: [{name: a}]", "  events: [{at: 1m}]"), "spec.events[0]: does 0 things"},
		{"an event of an unknown job", spec("  jobs: [{name: a}]", "  events: [{at: 1m, hold: b}]"), `spec.events[0].hold: there is no job "b"`},
		{"an event of an unknown node", spec("  jobs: [{name: a}]", "  events: [{at: 1m, node: m0, ready: true}]"), `there is no node "m0" by then`},
		{"a node is changed after its end", spec("  jobs: [{name: a}]", "  events: [{at: 2m, node: n0, ready: true}, {at: 1m, node: n0, delete: true}]"), `there is no node "n0" by then`},
		{"a refused object", spec("  jobs: [{name: a}]", "  events: [{at: 1m, apply: {kind: ClusterQueue, metadata: {name: refused}}}]"), "spec.events[0].apply: the server says no"},
		{"deleting what is not there", spec("  jobs: [{name: a}]", "  events: [{at: 1m, delete: ClusterQueue/x}]"), "there is no ClusterQueue/x by then"},
		{"a whole-run field at a moment", spec("  jobs: [{name: a}]", "  expect: [{at: 1m, job: a, start: 1m}]"), "spec.expect[0].start: is of the whole run"},
		{"a moment's field without one", spec("  jobs: [{name: a}]", "  expect: [{job: a, reason: Held}]"), "spec.expect[0].reason: is of a moment: add at"},
		{"an expectation of nothing", spec("  jobs: [{name: a}]", "  expect: [{job: a}]"), "expects nothing of the job"},
		{"an expectation of two things", spec("  jobs: [{name: a}]", "  expect: [{job: a, startsTotal: 1}]"), "is about 2 things (job, startsTotal)"},
		{"an unknown metric", spec("  jobs: [{name: a}]", "  expect: [{metric: joy, min: 1}]"), `"joy" is not one of utilization`},
		{"a queue that never is", spec("  jobs: [{name: a}]", "  expect: [{at: 1m, queue: defaul, pending: 0}]"), `spec.expect[0].queue: there is no ClusterQueue "defaul", and no event applies it; did you mean "default"?`},
		{"a bound of a queue that never is", spec("  jobs: [{name: a}]", "  expect: [{neverAbove: {queue: x, used: {cpu: 1}}}]"), `spec.expect[0].neverAbove.queue: there is no ClusterQueue "x"`},
		{"a bound of no queue", spec("  jobs: [{name: a}]", "  expect: [{neverAbove: {used: {cpu: 1}}}]"), "spec.expect[0].neverAbove.queue: is missing"},
		{"a bound of what nothing has", spec("  jobs: [{name: a, requests: {nvidia.com/gpu: 1}}]", "  expect: [{neverAbove: {queue: default, used: {nvidia.com/gpus: 1}}}]"), `no node, job or quota has nvidia.com/gpus; did you mean "nvidia.com/gpu"?`},
		{"use of what nothing has", spec("  jobs: [{name: a}]", "  expect: [{at: 1m, queue: default, used: {memory: 0}}]"), "spec.expect[0].used.memory: no node, job or quota has memory"},
		{"a job before itself", spec("  jobs: [{name: a}]", "  expect: [{before: [a, default/a]}]"), "spec.expect[0].before: names a twice"},
		{"the least above the most", spec("  jobs: [{name: a}]", "  expect: [{metric: makespan, min: 5, max: 1}]"), "spec.expect[0].min: is 5, above max, 1"},
		{"a bound that bounds nothing", spec("  jobs: [{name: a}]", "  expect: [{metric: makespan, max: Inf}]"), `spec.expect[0].max: "Inf" is not a number`},
		{"evictions below none", spec("  jobs: [{name: a}]", "  expect: [{evictionsTotal: -1}]"), "spec.expect[0].evictionsTotal: is -1: there are 0 or more"},
		{"starts below none", spec("  jobs: [{name: a}]", "  expect: [{job: a, starts: -1}]"), "spec.expect[0].starts: is -1"},
		{"a begin within a second", spec(`  start: "2026-01-05T00:00:00.5Z"`, "  jobs: [{name: a}]"), `spec.start: "2026-01-05T00:00:00.5Z" has a fraction of a second: write a whole one, such as 2026-01-05T00:00:00Z`},
		{"a begin before times are counted", spec(`  start: "1969-12-31T00:00:00Z"`, "  jobs: [{name: a}]"), `spec.start: "1969-12-31T00:00:00Z" is before times are counted: write 1970-01-01T00:00:01Z or later`},
		{"a begin at no time", spec(`  start: "1970-01-01T00:00:00Z"`, "  jobs: [{name: a}]"), "spec.start:"},
		{"half a GPU", spec("  jobs: [{name: a, requests: {nvidia.com/gpu: 0.5}}]"), `spec.jobs[0].requests[nvidia.com/gpu]: "0.5" is not a whole number: nvidia.com/gpu is counted in whole units`},
		{"a node with half a GPU", spec("  jobs: [{name: a}]", "  events: [{at: 1m, addNodes: {name: m, resources: {nvidia.com/gpu: 1500m}}}]"), `"1500m" is not a whole number`},
		{"half a pod slot", spec("  jobs: [{name: a}]", "  events: [{at: 1m, addNodes: {name: m, resources: {pods: 1.5}}}]"), `"1.5" is not a whole number: pods is counted`},
		{"an array of which none may run", spec("  jobs: [{name: a, array: {count: 2, parallelism: 0}}]"), "spec.jobs[0].array.parallelism: is 0: at least 1 member runs at a time; leave it out to run all at once"},
		{"a delay after a start", spec(`  jobs: [{name: a}, {name: b, after: ["after:a+5"]}]`), `spec.jobs[1].after[0]: "after:a+5": a delay after a start (+5) is not known; write after:NAME alone`},
		{"Slurm's form for several jobs", spec(`  jobs: [{name: a}, {name: b}, {name: c, after: ["afterok:a:b"]}]`), `spec.jobs[2].after[0]: "afterok:a:b" names 2 jobs, and a dependency is on one; write one for each: afterok:a, afterok:b`},
		{"several in one", spec(`  jobs: [{name: a}, {name: b}, {name: c, after: ["afterok:a, singleton"]}]`), `spec.jobs[2].after[0]: "afterok:a, singleton" holds several dependencies; write each by itself: "afterok:a", "singleton"`},
		{"Slurm's form for one of several", spec(`  jobs: [{name: a}, {name: b, after: ["afterok:a?afterok:c"]}]`), `"afterok:a?afterok:c": one of several (?) is not known; all that are written must have happened`},
		{"a job of another namespace", spec(`  jobs: [{name: a}, {name: b, after: ["afterok:other/a"]}]`), `"afterok:other/a" is not a dependency: "other/a" is not the name of a job of this namespace, or of an array; write afterok:NAME`},
		{"a dependency on nothing", spec(`  jobs: [{name: b, after: ["afterany:"]}]`), `"" is not the name of a job`},
		{"more dependencies than a cluster takes", spec("  jobs: [{name: b, after: [" + strings.Repeat("afterok:a, ", 33) + "]}]"), "spec.jobs[0].after: has 33 dependencies: a job has at most 32"},
		{"no scenario", "kind: ClusterQueue\nmetadata: {name: q}\n", "has no document of kind Scenario"},
		{"two scenarios", spec("  jobs: [{name: a}]") + "---\n" + spec("  jobs: [{name: a}]"), "document 2, line 8: is a second Scenario"},
		{"a refused document", "kind: ClusterQueue\nmetadata: {name: refused}\n---\n" + spec("  jobs: [{name: a}]"), "document 1, line 1: the server says no"},
		{"an object twice", "kind: ClusterQueue\nmetadata: {name: q}\n---\nkind: ClusterQueue\nmetadata: {name: q}\n---\n" + spec("  jobs: [{name: a}]"), "document 2, line 4: ClusterQueue/q stands already in document 1"},
		{"nothing to do", spec(), "has no jobs and no trace"},
		{"no YAML", "a: [", "document 1: yaml:"},
		{"merge keys", spec("  jobs: [{<<: {name: a}}]"), "merge keys (<<) are not YAML 1.2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// What is counted in parts, and what only an event brings, may be spoken of.
func TestWhatIsThereAtSomeTimeMayBeExpected(t *testing.T) {
	t.Parallel()
	_, err := load(spec("  jobs: [{name: a, requests: {cpu: 0.5, memory: 0.5, example.kubernetes.io/x: 0.5}}]",
		"  events: [{at: 1m, apply: {kind: ClusterQueue, metadata: {name: late}}}, {at: 2m, delete: ClusterQueue/late}, {at: 3m, addNodes: {name: m, resources: {nvidia.com/gpu: 2000m}}}]",
		"  expect: [{neverAbove: {queue: late, used: {nvidia.com/gpu: 0}}}, {at: 1m, queue: late, used: {pods: 0, cpu: 500m}}, {metric: makespan, min: 1, max: 1}]"))
	if err != nil {
		t.Error(err)
	}
}

// YAML 1.2: n, y, on and off are words, 010 is ten.
func TestOnlyTrueAndFalseAreBooleans(t *testing.T) {
	t.Parallel()
	file, err := load(spec("  jobs: [{name: n, pods: 010}, {name: y}, {name: on, hold: true}, {name: off, requests: {cpu: 0x10}}]"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, job := range file.Jobs {
		names = append(names, job.Workload.Name)
	}
	if diff := cmp.Diff([]string{"n", "y", "on", "off"}, names); diff != "" {
		t.Error(diff)
	}
	if file.Jobs[0].Workload.PodSets[0].Count != 10 || !file.Jobs[2].Workload.Held {
		t.Errorf("pods %d, held %t", file.Jobs[0].Workload.PodSets[0].Count, file.Jobs[2].Workload.Held)
	}
}

func TestJobsBecomeWorkloads(t *testing.T) {
	t.Parallel()
	file, err := load("kind: PriorityClass\nmetadata: {name: high}\nvalue: 100\n---\n" + spec(
		`  start: "2026-03-02T08:00:00Z"`,
		"  jobs:",
		"  - {name: a, at: 1m30s, pods: 3, minPods: 2, requests: {cpu: 500m, nvidia.com/gpu: 1}, walltime: 90, timeMin: 30m, priorityClass: high, priority: 5,",
		"     begin: 1h, endBefore: 5h, runtime: never, exit: fail, user: ann, nodeSelector: {rack: r1}}"))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	want := []scenario.Job{{
		At: 90 * time.Second, Runtime: scenario.Never, Fails: true,
		Workload: batch.Workload{
			ID: "default/a", UID: "default/a", Namespace: "default", Name: "a", LocalQueue: "default/default",
			PodSets: []batch.PodSet{{
				Name: "main", Count: 3, MinCount: 2, Requests: batch.Resources{"cpu": 500, "nvidia.com/gpu": 1, "pods": 1},
				Selector: batch.NodeSelector{Labels: batch.Labels{"rack": "r1"}},
			}},
			Walltime: batch.Walltime(90 * time.Minute), TimeMin: batch.Walltime(30 * time.Minute), Priority: 105, Submitter: "ann",
			Begin: start.Add(time.Hour), EndBefore: start.Add(5 * time.Hour),
		},
	}}
	if diff := cmp.Diff(want, file.Jobs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNodesCountOnAndSpread(t *testing.T) {
	t.Parallel()
	file, err := load(`{apiVersion: sim.berth.dev/v1alpha1, kind: Scenario, spec: {jobs: [{name: a}], nodes: [
  {prefix: n, count: 3, resources: {cpu: 1}, labels: {pool: p}, spread: {rack: 2}},
  {prefix: n, count: 1, resources: {cpu: 1, pods: 5}, taints: [{key: k, effect: NoSchedule}]}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	node := func(name string, labels batch.Labels) batch.Node {
		labels["kubernetes.io/hostname"] = name
		return batch.Node{Name: batch.NodeName(name), Labels: labels, Capacity: batch.Resources{"cpu": 1000, "pods": 110}, Ready: true}
	}
	last := node("n3", batch.Labels{})
	last.Capacity = batch.Resources{"cpu": 1000, "pods": 5}
	last.Taints = []batch.Taint{{Key: "k", Effect: "NoSchedule"}}
	want := []batch.Node{
		node("n0", batch.Labels{"pool": "p", "rack": "r0"}), node("n1", batch.Labels{"pool": "p", "rack": "r0"}),
		node("n2", batch.Labels{"pool": "p", "rack": "r1"}), last,
	}
	if diff := cmp.Diff(want, file.Nodes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A queue has a door of its name, unless the file makes doors of its own.
func TestQueuesHaveDoors(t *testing.T) {
	t.Parallel()
	queue := "kind: ClusterQueue\nmetadata: {name: q}\n---\n"
	door := "kind: LocalQueue\nmetadata: {name: d}\n---\n"
	apply := "  events: [{at: 1m, apply: {kind: ClusterQueue, metadata: {name: r}}}]"
	for _, test := range []struct {
		name, text    string
		want, applied []string
	}{
		{"none is defined", spec("  jobs: [{name: a}]"), []string{"ClusterQueue/default", "LocalQueue/default"}, nil},
		{"one is defined", queue + spec("  jobs: [{name: a}]"), []string{"ClusterQueue/q", "LocalQueue/q"}, nil},
		{"doors are defined", queue + door + spec("  jobs: [{name: a}]", apply), []string{"ClusterQueue/q", "LocalQueue/d"}, []string{"ClusterQueue/r"}},
		{"an event brings one", queue + spec("  jobs: [{name: a}]", apply), []string{"ClusterQueue/q", "LocalQueue/q"}, []string{"ClusterQueue/r", "LocalQueue/r"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file, err := load(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, names(file.Objects)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			var applied []string
			for _, e := range file.Events {
				applied = append(applied, names(e.Apply)...)
			}
			if diff := cmp.Diff(test.applied, applied); diff != "" {
				t.Errorf("applied (-want +got):\n%s", diff)
			}
		})
	}
}

func names(objects []scenario.Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.Kind+"/"+o.Name)
	}
	return out
}

// Whatever a file says, reading it ends, and what is wrong is said.
func FuzzLoad(f *testing.F) {
	paths, err := filepath.Glob("../../test/scenarios/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("a: &a [*a]")
	f.Add("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]")
	f.Add(spec("  jobs: [{name: a, requests: {cpu: 1e30}}]"))
	f.Fuzz(func(t *testing.T, text string) {
		file, err := load(text)
		var wrong *scenario.FileError
		switch {
		case err == nil && len(file.Jobs) == 0 && file.Trace == nil:
			t.Error("a file without work is taken")
		case err != nil && (!errors.As(err, &wrong) || len(wrong.Problems) == 0):
			t.Errorf("an error that names no problem: %v", err)
		}
	})
}
