package scenario

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// Why a line of a trace is no job.
const (
	unusedRuntime    = "without a run time"
	unusedSize       = "without a size"
	unusedTooLarge   = "larger than the machine"
	unusedSubmit     = "without a submission time"
	unusedUnreadable = "unreadable"
	unusedUneven     = "whose GPUs do not divide by its nodes"
)

// secondsMax is the latest time of a log: a thousand years would wrap around.
const secondsMax = 200 * 365 * 86400

// lineMax is the longest line of a trace.
const lineMax = 1 << 20

// byteOrderMark is what some programs begin a text in UTF-8 with.
const byteOrderMark = "\xef\xbb\xbf"

// TraceLog says what became of the lines of a trace.
type TraceLog struct {
	Lines  int            `json:"lines"`
	Jobs   int            `json:"jobs"`
	Unused map[string]int `json:"unused,omitempty"` // lines that are no job, by why
	// Late are jobs whose line stands after that of a later submission; they
	// were submitted then.
	Late int `json:"late,omitempty"`
}

// String tells it in a line.
func (t *TraceLog) String() string {
	text := fmt.Sprintf("trace: %d jobs of %d lines", t.Jobs, t.Lines)
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(t.Unused)) {
		parts = append(parts, fmt.Sprintf("%d %s", t.Unused[why], why))
	}
	if len(parts) > 0 {
		text += "; not usable: " + strings.Join(parts, ", ")
	}
	if t.Late > 0 {
		text += fmt.Sprintf("; %d out of order, submitted at the time of the line before", t.Late)
	}
	return text
}

// Trace reads the jobs of a log one by one: memory does not grow with the log.
type Trace struct {
	Log TraceLog

	spec    *v1alpha1.Trace
	lines   *bufio.Scanner
	read    func(line string) (record, string)
	columns columns
	each    int // processors (GPUs) of a node
	total   int // of the machine
	unit    batch.ResourceName
	shapes  map[shapeKey][]batch.PodSet
	first   float64 // the log's first submission
	begun   bool
	last    time.Duration
}

// record is a line of a log: seconds, and counts.
type record struct {
	job            string
	submit         float64
	run, walltime  float64 // walltime 0: none
	procs, nodes   int     // nodes 0: as many as the processors need
	user           string
	queue, section string // section is the partition
}

type shapeKey struct{ procs, nodes int }

// OpenTrace begins to read the log of a file. Without nodes in the file, the
// machine is as the log's header says.
func OpenTrace(file *File, in io.Reader) (*Trace, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	if magic, err := buffered.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Trace.File, err)
		}
		buffered = bufio.NewReaderSize(unzipped, 1<<16)
	} else if strings.HasSuffix(file.Trace.File, ".gz") {
		return nil, fmt.Errorf("%s: is not compressed with gzip, as its name says: compress it, or name it without .gz", file.Trace.File)
	}
	if mark, err := buffered.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = buffered.Discard(len(byteOrderMark)) // they are there
	}
	t := &Trace{spec: file.Trace, shapes: map[shapeKey][]batch.PodSet{}, Log: TraceLog{Unused: map[string]int{}}}
	t.lines = bufio.NewScanner(buffered)
	t.lines.Buffer(make([]byte, 1<<16), lineMax)
	var err error
	if file.Trace.Format == "csv" {
		err = t.openCSV(file)
	} else {
		err = t.openSWF(file, buffered)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Trace.File, err)
	}
	return t, nil
}

// Next is the next job; nil at the end. A log that has none is an error: what was to be
// played is not there.
func (t *Trace) Next() (*Job, error) {
	for t.spec.Limit == nil || t.Log.Jobs < *t.spec.Limit {
		if !t.lines.Scan() {
			if err := t.lines.Err(); err != nil {
				return nil, fmt.Errorf("%s, after line %d: %w", t.spec.File, t.Log.Lines, err)
			}
			return nil, t.empty()
		}
		line := strings.TrimSpace(t.lines.Text())
		if line == "" || line[0] == ';' {
			continue
		}
		t.Log.Lines++
		r, why := t.read(line)
		if why == "" {
			why = t.unusable(&r)
		}
		if why != "" {
			t.Log.Unused[why]++
			continue
		}
		t.Log.Jobs++
		return t.job(&r), nil
	}
	return nil, nil
}

// empty is the error of a log without a job; nil: it has some.
func (t *Trace) empty() error {
	switch {
	case t.Log.Jobs > 0:
		return nil
	case t.Log.Lines == 0:
		return fmt.Errorf("%s: has no line of a job", t.spec.File)
	}
	return fmt.Errorf("%s: has no job that can be used: is it %s? %s", t.spec.File, t.spec.Format, &t.Log)
}

func (t *Trace) unusable(r *record) string {
	switch {
	case max(r.submit, r.run, r.walltime) > secondsMax:
		return unusedUnreadable
	case r.run <= 0:
		return unusedRuntime
	case r.procs <= 0 && r.nodes <= 0:
		return unusedSize
	case r.procs > t.total || r.nodes*t.each > t.total:
		return unusedTooLarge
	case r.submit < 0 || math.IsNaN(r.submit):
		return unusedSubmit
	case r.nodes > 0 && r.procs > 0 && (r.procs%r.nodes != 0 || r.procs/r.nodes > t.each):
		return unusedUneven
	}
	return ""
}

func (t *Trace) job(r *record) *Job {
	if !t.begun {
		t.first, t.begun = r.submit, true
	}
	at := seconds(r.submit - t.first)
	if at < t.last {
		t.Log.Late++
		at = t.last
	}
	t.last = at
	name := "j" + r.job
	id := JobID(defaultName, name)
	run := max(seconds(r.run), time.Second)
	walltime := run
	if r.walltime > 0 {
		walltime = max(seconds(r.walltime), time.Second)
	}
	return &Job{
		At: at, Runtime: min(run, walltime), FromTrace: true,
		Workload: batch.Workload{
			ID: id, UID: string(id), Namespace: defaultName, Name: name,
			LocalQueue: batch.LocalQueueName(defaultName + "/" + t.queueOf(r)),
			PodSets:    t.podSets(r), Walltime: batch.Walltime(walltime), Submitter: r.user,
		},
	}
}

func seconds(n float64) time.Duration { return time.Duration(math.Round(n)) * time.Second }

func (t *Trace) queueOf(r *record) string {
	if queue, ok := t.spec.Queues[r.queue]; ok {
		return queue
	}
	if queue, ok := t.spec.Queues[r.section]; ok {
		return queue
	}
	return defaultName
}

// podSets makes a pod for each node: as many as the processors fill, and one
// for the rest. Jobs of one size share them.
func (t *Trace) podSets(r *record) []batch.PodSet {
	key := shapeKey{r.procs, r.nodes}
	if sets, known := t.shapes[key]; known {
		return sets
	}
	each, pods, rest := t.each, r.procs/t.each, r.procs%t.each
	if r.nodes > 0 {
		pods, rest = r.nodes, 0
		if r.procs > 0 {
			each = r.procs / r.nodes
		}
	}
	var sets []batch.PodSet
	if pods > 0 {
		sets = append(sets, batch.PodSet{Name: podSetName, Count: pods, Requests: t.requests(each)})
	}
	if rest > 0 {
		sets = append(sets, batch.PodSet{Name: "rest", Count: 1, Requests: t.requests(rest)})
	}
	t.shapes[key] = sets
	return sets
}

func (t *Trace) requests(n int) batch.Resources {
	return batch.Resources{t.unit: units(t.unit, n), batch.ResourcePods: 1}
}

func units(unit batch.ResourceName, n int) batch.Amount {
	if unit == batch.ResourceCPU {
		return batch.Amount(n) * 1000
	}
	return batch.Amount(n)
}

// machine works out what the machine has of the trace's unit: the nodes of the
// file, or those that are made for the log.
func (t *Trace) machine(file *File, procs int) error {
	if len(file.Nodes) == 0 {
		if procs < 1 {
			return fmt.Errorf("the log's header has neither MaxProcs nor MaxNodes: give nodes in the scenario")
		}
		count := (procs + t.each - 1) / t.each
		if count > nodesLimit {
			return fmt.Errorf("the machine would have %d nodes of %d processors: set procsPerNode", count, t.each)
		}
		capacity := batch.Resources{t.unit: units(t.unit, t.each), batch.ResourcePods: batch.Amount(max(podsDefault, t.each))}
		for i := range count {
			name := "n" + strconv.Itoa(i)
			file.Nodes = append(file.Nodes, batch.Node{
				Name: batch.NodeName(name), Labels: batch.Labels{hostnameLabel: name}, Capacity: capacity, Ready: true,
			})
		}
	}
	sum := batch.Amount(0)
	for i := range file.Nodes {
		sum += file.Nodes[i].Capacity[t.unit]
	}
	if t.total = int(sum / units(t.unit, 1)); t.total == 0 {
		return fmt.Errorf("no node of the scenario has %s, which the trace's jobs ask for", t.unit)
	}
	return nil
}
