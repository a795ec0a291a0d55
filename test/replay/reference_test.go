package replay_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// dataFolder holds public job logs and what independent programs made of
// them. It is no part of the project: where it is missing, the tests skip.
const dataFolder = "../../../shared/data"

// reference is what others say of a log under a policy.
type reference struct {
	log, policy       string
	starts            string // a start for each job; empty: none is known
	nodes             int
	meanWait          float64
	slowdown          float64
	p95               float64
	exact             bool // job by job; otherwise within tolerance
	long              bool // more than a few seconds
	wholeMachineAsOne bool // one node with that many processors
}

// tolerance is how far the means of conservative backfill may be off, to either
// side: it is free in the order in which holes are offered.
const tolerance = 0.02

// name says what is compared, and on how many nodes.
func (r reference) name() string {
	if r.wholeMachineAsOne {
		return r.log + "/" + r.policy + "/counted"
	}
	return r.log + "/" + r.policy
}

func references() []reference {
	return []reference{
		{log: "KTH-SP2-first5000", policy: "Strict", starts: "fcfs", nodes: 100, meanWait: 199337.59, slowdown: 4971.7625, p95: 594007, exact: true, long: true},
		{log: "KTH-SP2-first5000", policy: "EASY", starts: "easy", nodes: 100, meanWait: 9462.25, slowdown: 138.0785, p95: 51893, exact: true},
		{log: "KTH-SP2-first5000", policy: "Conservative", starts: "cons", nodes: 100, meanWait: 9173.12, slowdown: 127.7590, p95: 53405},
		{log: "KTH-SP2-first5000", policy: "Conservative", starts: "cons", nodes: 100, meanWait: 9173.12, slowdown: 127.7590, p95: 53405, wholeMachineAsOne: true},
		{log: "SDSC-SP2-first5000", policy: "Strict", starts: "fcfs", nodes: 128, meanWait: 20710.65, slowdown: 181.6592, p95: 80924, exact: true},
		{log: "SDSC-SP2-first5000", policy: "EASY", starts: "easy", nodes: 128, meanWait: 4044.29, slowdown: 17.9118, p95: 27127, exact: true},
		{log: "SDSC-SP2-first5000", policy: "Conservative", starts: "cons", nodes: 128, meanWait: 4236.98, slowdown: 17.1962, p95: 27391},
		{log: "SDSC-SP2-first5000", policy: "Conservative", starts: "cons", nodes: 128, meanWait: 4236.98, slowdown: 17.1962, p95: 27391, wholeMachineAsOne: true},
		{log: "KTH-SP2-sc15", policy: "Strict", starts: "fcfs", nodes: 100, meanWait: 353776.41, slowdown: 6814.9733, p95: 805926, exact: true, long: true},
		{log: "KTH-SP2-sc15", policy: "EASY", starts: "easy", nodes: 100, meanWait: 6834.59, slowdown: 92.6877, p95: 37634, exact: true, long: true},
		{log: "KTH-SP2-sc15", policy: "Conservative", starts: "cons", nodes: 100, meanWait: 7316.23, slowdown: 88.9656, p95: 39007, long: true},
		{log: "theta_2022", policy: "Strict", starts: "fcfs", nodes: 4360, meanWait: 159516.20, slowdown: 385.1836, p95: 486736, exact: true, long: true, wholeMachineAsOne: true},
		{log: "theta_2022", policy: "EASY", starts: "easy", nodes: 4360, meanWait: 43817.66, slowdown: 115.8396, p95: 195149, exact: true, long: true, wholeMachineAsOne: true},
		{log: "theta_2022", policy: "Conservative", starts: "cons", nodes: 4360, meanWait: 39224.35, slowdown: 91.0314, p95: 176694, long: true, wholeMachineAsOne: true},
		{log: "CEA-curie-sc15", policy: "EASY", nodes: 80640, meanWait: 7063.70, slowdown: 228.5120, p95: 44979, exact: true, long: true, wholeMachineAsOne: true},
	}
}

// needData skips where the logs are not there.
func needData(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(dataFolder); err != nil {
		t.Skipf("the job logs are not there (%s): nothing to compare with", dataFolder)
	}
}

func TestSchedulesAgreeWithIndependentReferences(t *testing.T) {
	needData(t)
	server, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range references() {
		t.Run(r.name(), func(t *testing.T) {
			if r.long && os.Getenv("BERTH_LONG") == "" {
				t.Skip("takes minutes: set BERTH_LONG=1")
			}
			r.compare(t, server)
		})
	}
}

// played is what the simulator made of a log.
type played struct {
	starts   map[string]int64 // seconds from the first submission
	promised map[string]int64 // the first planned start
	result   *sim.Result
}

func (r reference) compare(t *testing.T, server scenario.Admitter) {
	got := r.play(t, server)
	wait, slowdown := got.result.Metrics[scenario.MetricMeanWait], got.result.Metrics[scenario.MetricMeanBoundedSlowdown]
	p95 := got.result.Metrics[scenario.MetricP95Wait]
	differ, jobs := r.differences(t, got)
	t.Logf("%s: mean wait %.2f s (reference %.2f, %+.2f %%), mean bounded slowdown %.4f (%.4f, %+.2f %%), p95 wait %.0f s (%.0f); %d of %d starts differ",
		r.name(), wait, r.meanWait, percent(wait, r.meanWait), slowdown, r.slowdown, percent(slowdown, r.slowdown), p95, r.p95, differ, jobs)
	off := tolerance
	if r.exact {
		off = 0.00001 // of rounding
		if differ > 0 {
			t.Errorf("%d of %d jobs start at another time", differ, jobs)
		}
	}
	if math.Abs(wait-r.meanWait) > off*r.meanWait || math.Abs(slowdown-r.slowdown) > off*r.slowdown {
		t.Errorf("the means are further off than %g %%", 100*off)
	}
	if r.policy == "Conservative" {
		r.explain(t, got)
	}
	if got.result.Breach != nil {
		t.Errorf("an invariant is breached: %s", got.result.Breach)
	}
}

func percent(got, want float64) float64 { return 100 * (got/want - 1) }

// explain holds a conservative schedule to its promises, and to that of the
// twin: to which the difference from the reference is known.
func (r reference) explain(t *testing.T, got played) {
	t.Helper()
	late, strange := 0, 0
	for job, start := range twinSchedule(t, r.log, countingTwin{procs: int64(r.nodes), settles: true}) {
		if promise, ok := got.promised[job]; ok && got.starts[job] > promise {
			late++
		}
		if got.starts[job] != start {
			strange++
		}
	}
	if late > 0 {
		t.Errorf("%d jobs start later than first planned", late)
	}
	if strange > 0 {
		t.Errorf("%d jobs start at another time than by counting processors until nothing moves", strange)
	}
}

func (r reference) play(t *testing.T, server scenario.Admitter) played {
	t.Helper()
	perNode := 1
	if r.wholeMachineAsOne {
		perNode = r.nodes
	}
	log, err := os.Open(filepath.Join(dataFolder, "swf", r.log+".swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	return playLog(t, server, logOf{policy: r.policy, perNode: perNode, text: log})
}

// logOf is a log, with what is not in it.
type logOf struct {
	policy  string
	perNode int // processors of a node
	text    io.Reader
}

// tb is what testing and rapid have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func playLog(t tb, server scenario.Admitter, l logOf) played {
	t.Helper()
	text := fmt.Sprintf(`{apiVersion: sim.berth.dev/v1alpha1, kind: Scenario, metadata: {name: log}, spec: {trace: {file: log, format: swf, procsPerNode: %d}}}`, l.perNode)
	file, err := scenario.Load("log", []byte(text), scenario.Options{
		Admitter:  server,
		Overrides: []scenario.Override{{Path: []string{"backfill", "mode"}, Value: l.policy}},
	})
	if err != nil {
		t.Fatal(err)
	}
	trace, err := scenario.OpenTrace(file, l.text)
	if err != nil {
		t.Fatal(err)
	}
	out := played{starts: map[string]int64{}, promised: map[string]int64{}}
	out.result, err = sim.Run(file, sim.Options{Source: trace, Log: out.note})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// note keeps first starts and first planned starts.
func (p *played) note(e sim.Entry) {
	name := strings.TrimPrefix(string(e.Job), "default/j")
	switch d := e.Detail.(type) {
	case sim.StartDetail:
		p.starts[name] = int64(e.At.Seconds())
	case sim.PlanDetail:
		if _, known := p.promised[name]; known || d.PlannedStart == nil {
			return
		}
		if at, err := batch.ParseDuration(*d.PlannedStart); err == nil {
			p.promised[name] = int64(at.Seconds())
		}
	}
}

// differences counts the jobs that start at another time than in the
// reference.
func (r reference) differences(t *testing.T, got played) (differ, jobs int) {
	t.Helper()
	if r.starts == "" {
		return 0, len(got.starts)
	}
	file, err := os.Open(filepath.Join(dataFolder, "ref", r.log+"."+r.starts+".batch.starts.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	lines.Scan() // names of the columns
	first := int64(-1)
	for lines.Scan() {
		columns := strings.Split(lines.Text(), ",")
		submit, err1 := strconv.ParseInt(columns[1], 10, 64)
		start, err2 := strconv.ParseInt(columns[2], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("%s: %q", file.Name(), lines.Text())
		}
		if first < 0 || submit < first {
			first = submit
		}
		jobs++
		if got.starts[columns[0]] != start-first {
			differ++
		}
	}
	return differ, jobs
}
