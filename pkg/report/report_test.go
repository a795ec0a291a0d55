package report

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

func file(nodes int) *scenario.File {
	f := &scenario.File{Name: "a <b> & c", About: "</script><script>alert(1)</script>", Start: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)}
	for i := range nodes {
		f.Nodes = append(f.Nodes, batch.Node{
			Name: batch.NodeName("n" + string(rune('0'+i))), Ready: true, Capacity: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 110},
		})
	}
	return f
}

func ran(name string, from, till time.Duration, node batch.NodeName, gpus batch.Amount) sim.Ran {
	return sim.Ran{
		Job: batch.WorkloadID("default/" + name), Number: 1, Start: from, End: till, Via: batch.ViaBackfill, State: "Completed",
		Takes: []sim.Take{{Node: node, Requests: batch.Resources{batch.ResourceGPU: gpus}}}, Total: batch.Resources{batch.ResourceGPU: gpus},
	}
}

var script = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

func TestThePageStandsByItself(t *testing.T) {
	t.Parallel()
	f := file(2)
	r := NewRecorder(f)
	r.Sample(sim.Sample{At: 0, Waiting: 2, Used: batch.Resources{batch.ResourceGPU: 8}, Capacity: batch.Resources{batch.ResourceGPU: 16}})
	r.Ran(ran("</script>", 0, time.Hour, "n0", 8))
	result := &sim.Result{
		Name: f.Name, End: time.Hour, Metrics: map[string]float64{scenario.MetricMeanWait: 1.5},
		Jobs:     []sim.JobResult{{ID: "default/j", State: "Completed"}},
		Outcomes: []sim.Outcome{{Text: "{job: j, start: 1h}", Line: 7, Got: "start is <2h>"}},
	}
	var out bytes.Buffer
	if err := Write(&out, Run{Label: "one", File: f, Result: result, Recorder: r}, Run{Label: "two", File: f, Result: result, Recorder: r}); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, fetched := range []string{"src=", "href=", "@import", "url(", "fetch(", "https://", "alert(1)</script>"} {
		if strings.Contains(page, fetched) {
			t.Errorf("the page has %q: it must stand by itself", fetched)
		}
	}
	found := script.FindStringSubmatch(page)
	if found == nil {
		t.Fatal("the page has no data")
	}
	var runs []run
	if err := json.Unmarshal([]byte(found[1]), &runs); err != nil {
		t.Fatalf("%v in %s", err, found[1])
	}
	if len(runs) != 2 || runs[1].Label != "two" || len(runs[0].Bars) != 1 || runs[0].Jobs[0] != "</script>" {
		t.Errorf("%+v", runs)
	}
	if diff := cmp.Diff([]string{"line 7: {job: j, start: 1h} — start is <2h>"}, runs[0].Missed); diff != "" {
		t.Errorf("missed (-want +got):\n%s", diff)
	}
}

func TestSeriesKeepsTheMeanHoweverLongItGets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s series
		at, value, area := time.Duration(0), 0.0, 0.0
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			long := time.Duration(rapid.IntRange(0, 100_000).Draw(t, "seconds")) * time.Second
			area += value * long.Seconds()
			at += long
			value = float64(rapid.IntRange(0, 9).Draw(t, "value"))
			s.set(at, value)
		}
		means := s.means(at)
		if len(means) > seriesMax {
			t.Fatalf("%d points", len(means))
		}
		got := 0.0
		for i, mean := range means {
			from := time.Duration(i) * s.width
			got += mean * max(0, min(at, from+s.width)-from).Seconds()
		}
		if diff := got - area; diff > 1e-6*area+1e-6 || -diff > 1e-6*area+1e-6 {
			t.Fatalf("the area is %g, want %g", got, area)
		}
	})
}

func TestRunsOfANodeLieSideBySide(t *testing.T) {
	t.Parallel()
	r := NewRecorder(file(1))
	r.Ran(ran("a", 0, 10*time.Minute, "n0", 4))
	r.Ran(ran("b", 0, 5*time.Minute, "n0", 2))
	r.Ran(ran("c", 5*time.Minute, 10*time.Minute, "n0", 2)) // in b's place
	r.Ran(ran("d", 5*time.Minute, 10*time.Minute, "n0", 2))
	r.Ran(ran("e", 10*time.Minute, 20*time.Minute, "n0", 8))
	if diff := cmp.Diff([]float64{0, 4, 4, 6, 0}, r.lanes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWaitsAreSortedBySize(t *testing.T) {
	t.Parallel()
	r := NewRecorder(file(1))
	for i, gpus := range []batch.Amount{1, 2, 3, 4, 4, 5} {
		is := ran("a", time.Duration(i)*time.Minute, time.Hour, "n0", gpus)
		r.Ran(is)
	}
	again := ran("a", 59*time.Minute, time.Hour, "n0", 1)
	again.Number = 2 // a later run is no wait of the job
	r.Ran(again)
	want := []class{
		{Size: 1, Jobs: 1},
		{Size: 2, Jobs: 1, Mean: 60, Median: 60, P95: 60},
		{Size: 4, Jobs: 3, Mean: 180, Median: 180, P95: 240},
		{Size: 8, Jobs: 1, Mean: 300, Median: 300, P95: 300},
	}
	if diff := cmp.Diff(want, r.classes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestManyRunsBecomeAMap(t *testing.T) {
	t.Parallel()
	f := file(2)
	r := NewRecorder(f)
	for i := range barsMax + 1 {
		r.Ran(ran("a", time.Duration(i)*time.Minute, time.Duration(i+1)*time.Minute, "n1", 4))
	}
	var out bytes.Buffer
	result := &sim.Result{End: (barsMax + 1) * time.Minute}
	if err := Write(&out, Run{File: f, Result: result, Recorder: r}); err != nil {
		t.Fatal(err)
	}
	var runs []run
	if err := json.Unmarshal([]byte(script.FindStringSubmatch(out.String())[1]), &runs); err != nil {
		t.Fatal(err)
	}
	got := runs[0]
	if len(got.Bars) != 0 || len(got.Grid) != 2 || len(got.Grid[0]) != 0 || got.Grid[1][10] != 50 || len(got.Grid[1]) > gridMax {
		t.Errorf("%d bars, a map of %d rows, node 0 %v, node 1 %v", len(got.Bars), len(got.Grid), got.Grid[0], got.Grid[1][:20])
	}
}
