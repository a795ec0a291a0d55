package scenario_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
)

// traced loads a scenario with a trace and opens the log.
func traced(trace, nodes, log string) (*scenario.File, *scenario.Trace, error) {
	file, err := load(fmt.Sprintf("{apiVersion: sim.berth.dev/v1alpha1, kind: Scenario, spec: {trace: %s, nodes: %s}}", trace, nodes))
	if err != nil {
		return nil, nil, err
	}
	opened, err := scenario.OpenTrace(file, strings.NewReader(log))
	return file, opened, err
}

// short is a job in a line: name@submit size*pods walltime/runtime queue user.
func short(j *scenario.Job) string {
	w := &j.Workload
	var sizes []string
	for _, set := range w.PodSets {
		for _, name := range set.Requests.Names() {
			if name != batch.ResourcePods {
				sizes = append(sizes, fmt.Sprintf("%d×%d", set.Count, set.Requests[name]))
			}
		}
	}
	return fmt.Sprintf("%s@%s %s %s/%s %s %s", w.Name, j.At, strings.Join(sizes, "+"), time.Duration(w.Walltime), j.Runtime, w.LocalQueue, w.Submitter)
}

func all(t *testing.T, trace *scenario.Trace) []string {
	t.Helper()
	var out []string
	for {
		job, err := trace.Next()
		if err != nil {
			t.Fatal(err)
		}
		if job == nil {
			return out
		}
		out = append(out, short(job))
	}
}

const smallLog = `; MaxNodes: 10
; MaxProcs: 20
1 100 -1 50 4 -1 -1 8 60 -1 1 7 -1 -1 2 -1 -1 -1
2 110 -1 90 4 -1 -1 -1 60 -1 1 8 -1 -1 0 1 -1 -1

; a remark
3 105 -1 10 1 -1 -1 1 -1 -1 1 7 -1 -1 0 -1 -1 -1
4 120 -1 0 1 -1 -1 1 60 -1 1 7 -1 -1 0 -1 -1 -1
5 120 -1 10 -1 -1 -1 -1 60 -1 1 7 -1 -1 0 -1 -1 -1
6 120 -1 10 21 -1 -1 21 60 -1 1 7 -1 -1 0 -1 -1 -1
nonsense
`

func TestAnSWFLogIsReadByItsFields(t *testing.T) {
	t.Parallel()
	file, trace, err := traced(`{file: x, format: swf, procsPerNode: 2, queues: {"2": big, "1": part}}`, "[]", smallLog)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Nodes) != 10 || file.Nodes[9].Capacity[batch.ResourceCPU] != 2000 {
		t.Errorf("%d nodes, the last %+v", len(file.Nodes), file.Nodes[len(file.Nodes)-1])
	}
	want := []string{
		"j1@0s 4×2000 1m0s/50s default/big user7", // asked for 8 of field 8
		"j2@10s 2×2000 1m0s/1m0s default/part user8",
		"j3@10s 1×1000 10s/10s default/default user7", // out of order, and no walltime
	}
	if diff := cmp.Diff(want, all(t, trace)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	log := scenario.TraceLog{Lines: 7, Jobs: 3, Late: 1, Unused: map[string]int{
		"without a run time": 1, "without a size": 1, "larger than the machine": 1, "unreadable": 1,
	}}
	if diff := cmp.Diff(log, trace.Log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	words := "trace: 3 jobs of 7 lines; not usable: 1 larger than the machine, 1 unreadable, 1 without a run time, 1 without a size; 1 out of order, submitted at the time of the line before"
	if got := trace.Log.String(); got != words {
		t.Errorf("got  %s\nwant %s", got, words)
	}
}

func TestALogIsReadZippedAndUpToALimit(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	fmt.Fprint(w, smallLog)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, trace, err := traced("{file: x, format: swf, limit: 1, useRequestedTime: false}", "[]", zipped.String())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"j1@0s 8×1000 50s/50s default/default user7"}, all(t, trace)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATableIsReadByItsColumns(t *testing.T) {
	t.Parallel()
	const nodes = `[{prefix: n, count: 4, resources: {nvidia.com/gpu: 8}}]`
	_, trace, err := traced("{file: x, format: csv, unit: m, columns: {submit: when, runtime: took, walltime: limit, gpus: gpus, nodes: nodes, user: who}}", nodes,
		"who,when,took,limit,gpus,nodes\nann,5,2.5,10,12,\nbob,6,3,,8,2\nann,7,1,5,9,2\nann,7,1,5,33,\n\"ann\",8,1,5,,1\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"j1@0s 1×8+1×4 10m0s/2m30s default/default ann",
		"j2@1m0s 2×4 3m0s/3m0s default/default bob",
		"j5@3m0s 1×8 5m0s/1m0s default/default ann", // whole nodes
	}
	if diff := cmp.Diff(want, all(t, trace)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"whose GPUs do not divide by its nodes": 1, "larger than the machine": 1}, trace.Log.Unused); diff != "" {
		t.Errorf("unused (-want +got):\n%s", diff)
	}
}

func TestATraceThatCannotBePlayedSaysWhy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, trace, nodes, log, want string }{
		{"no machine", "{file: x, format: swf}", "[]", "1 0 0 1 1 0 0 1 1\n", "neither MaxProcs nor MaxNodes"},
		{"another resource", "{file: x, format: swf, resource: nvidia.com/gpu}", "[{name: a, resources: {cpu: 1}}]", "", "no node of the scenario has nvidia.com/gpu"},
		{"no such column", "{file: x, format: csv, columns: {submit: a, runtime: b, gpus: c}}", "[{name: a, resources: {nvidia.com/gpu: 1}}]", "a,b\n", `no column "c"; it has a, b`},
		{"jobs without a size", "{file: x, format: csv, columns: {submit: a, runtime: b}}", "[{name: a, resources: {nvidia.com/gpu: 1}}]", "a,b\n", "give gpus or nodes"},
		{"an unknown form", "{file: x, format: xml}", "[]", "", `"xml" is not one of swf, csv`},
		{"columns of an swf log", "{file: x, format: swf, unit: s}", "[]", "", "are of csv files"},
		{"a zip by name alone", "{file: x.swf.gz, format: swf}", "[{name: a, resources: {cpu: 1}}]", "hello", "x.swf.gz: is not compressed with gzip"},
		{"broken zip", "{file: x, format: swf}", "[]", "\x1f\x8bxxxxxxxxxxxxx", "gzip"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := traced(test.trace, test.nodes, test.log)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestATraceWithoutAJobIsAnError: nothing would be played, and nothing would be said.
func TestATraceWithoutAJobIsAnError(t *testing.T) {
	t.Parallel()
	const table = "{file: x, format: csv, columns: {submit: a, runtime: b, gpus: c}}"
	for _, test := range []struct{ name, trace, log, want string }{
		{"empty", "{file: x, format: swf}", "; a comment\n", "x: has no line of a job"},
		{"a table for a log", "{file: x, format: swf}", "a,b,c\n1,2,1\n", "x: has no job that can be used: is it swf? trace: 0 jobs of 2 lines; not usable: 2 unreadable"},
		{"bytes", "{file: x, format: swf}", "\x00\x01\xff\x00", "is it swf? trace: 0 jobs of 1 lines"},
		{"a table of headings", table, "a,b,c\n", "x: has no line of a job"},
		{"jobs that are too large", table, "a,b,c\n1,2,100\n", "is it csv? trace: 0 jobs of 1 lines; not usable: 1 larger than the machine"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, trace, err := traced(test.trace, "[{name: a, resources: {cpu: 1, nvidia.com/gpu: 1}}]", test.log)
			if err != nil {
				t.Fatal(err)
			}
			if job, err := trace.Next(); job != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestAByteOrderMarkIsNoPartOfALog: spreadsheets write one before a table.
func TestAByteOrderMarkIsNoPartOfALog(t *testing.T) {
	t.Parallel()
	const nodes, mark = "[{name: a, resources: {cpu: 1, nvidia.com/gpu: 1}}]", "\xef\xbb\xbf"
	for trace, log := range map[string]string{
		"{file: x, format: csv, columns: {submit: a, runtime: b, gpus: c}}": mark + "a,b,c\n0,60,1\n",
		"{file: x, format: swf}": mark + "; MaxProcs: 1\n1 0 0 60 1 0 0 1 60\n",
	} {
		_, opened, err := traced(trace, nodes, log)
		if err != nil {
			t.Fatal(err)
		}
		if got := all(t, opened); len(got) != 1 || opened.Log.Lines != 1 {
			t.Errorf("%s: %v of %d lines", trace, got, opened.Log.Lines)
		}
	}
}

// Whatever a log says, reading it ends, and every line is a job or counted.
func FuzzSWF(f *testing.F) {
	f.Add(smallLog)
	f.Add("; MaxProcs: 4\n1 1e300 0 1 1 0 0 1 1\n")
	f.Add("1 -5 -1 NaN 4 -1 -1 8 Inf\n")
	f.Add("1 0 -1 9e14 1 -1 -1 1 9e14\n2 9e12 -1 1 1 -1 -1 1 1\n")
	f.Fuzz(func(t *testing.T, log string) {
		_, trace, err := traced("{file: x, format: swf, procsPerNode: 3}", "[{prefix: n, count: 7, resources: {cpu: 3}}]", log)
		checkTrace(t, trace, err)
	})
}

// The same for tables.
func FuzzCSV(f *testing.F) {
	f.Add("submit,run,gpus,nodes\n1,2,3,\n\"4\",5,6,2\n")
	f.Add("submit,run,gpus,nodes\n-1,,\"\n")
	f.Fuzz(func(t *testing.T, log string) {
		_, trace, err := traced("{file: x, format: csv, unit: ms, columns: {submit: submit, runtime: run, gpus: gpus, nodes: nodes}}",
			"[{prefix: n, count: 7, resources: {nvidia.com/gpu: 8}}]", log)
		checkTrace(t, trace, err)
	})
}

func checkTrace(t *testing.T, trace *scenario.Trace, err error) {
	t.Helper()
	if err != nil {
		return
	}
	last := time.Duration(0)
	for {
		job, err := trace.Next()
		if err != nil || job == nil {
			break
		}
		if job.At < last || job.Runtime <= 0 || job.Runtime > time.Duration(job.Workload.Walltime) || len(job.Workload.PodSets) == 0 {
			t.Fatalf("after %s: %s", last, short(job))
		}
		last = job.At
	}
	sum := trace.Log.Jobs
	for _, n := range trace.Log.Unused {
		sum += n
	}
	if sum != trace.Log.Lines {
		t.Errorf("%d jobs and unusable lines of %d lines", sum, trace.Log.Lines)
	}
}
