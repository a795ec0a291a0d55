package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
)

// Result is what came of a run.
type Result struct {
	File     string
	Name     string
	End      time.Duration // when the run stopped
	Cut      bool          // it stopped only because it has no end of its own: something was to come
	Jobs     []JobResult   // of the file, as they were submitted
	Notes    []string      // edits that changed nothing
	Metrics  map[string]float64
	Counts   Counts
	Outcomes []Outcome          // of the expectations, as in the file
	Breach   *Breach            // nil: all invariants hold
	Trace    *scenario.TraceLog // nil: no trace
}

// Counts are how many of what a run had.
type Counts struct {
	// Submitted are all jobs. Of these Started have run, if in several runs, and
	// Ended have ended in whatever way; the rest are Waiting and Running at the end.
	Submitted, Started, Ended int
	Waiting, Running          int
	// NeverStarted are those that wait at the end and have not run at all.
	NeverStarted  int
	Runs, Evicted int // runs that began, and evictions
	LongestQueue  int
	Plans         int
	// LongestWait is the longest that a job waited for its first start; of one
	// that has not started, until the end.
	LongestWait time.Duration
}

// JobResult is what came of one job.
type JobResult struct {
	ID           batch.WorkloadID
	Queue        batch.LocalQueueName
	State        string
	Submitted    time.Duration
	Started      *time.Duration // its first start; nil: none
	Ended        *time.Duration // nil: not
	Starts       int
	Evictions    int
	Lost         time.Duration    // run time that evictions have cost it
	By           batch.WorkloadID // for whom it was evicted last; empty: for nobody
	Via          batch.Via
	Nodes        int
	Pods         int
	Reason       batch.Reason // why it waits, if it does
	Message      string
	PlannedStart *time.Duration
}

// Outcome is whether an expectation holds.
type Outcome struct {
	Text string // the expectation
	Line int
	Hold bool
	Got  string // what came instead
}

// Held says whether everything that was expected came, and all invariants hold.
func (r *Result) Held() bool {
	if r.Breach != nil {
		return false
	}
	for _, o := range r.Outcomes {
		if !o.Hold {
			return false
		}
	}
	return true
}

func (w *world) conclude() *Result {
	w.checkWhole()
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		if j := w.jobs[id]; len(j.pods) > 0 && !j.ended {
			w.ran(j)
		}
	}
	m := &w.meter
	if more := w.declined - declinedMax; more > 0 {
		w.notes = append(w.notes, fmt.Sprintf("%d edits more changed nothing: the event log has each", more))
	}
	out := &Result{
		File: w.file.Path, Name: w.file.Name, End: w.now, Cut: w.cut, Notes: w.notes, Metrics: m.metrics(), Breach: w.breach,
		Counts: w.counts(),
	}
	for _, j := range w.order {
		out.Jobs = append(out.Jobs, w.resultOf(j))
	}
	for _, c := range w.results {
		out.Outcomes = append(out.Outcomes, c.outcome())
	}
	return out
}

func (w *world) counts() Counts {
	m := &w.meter
	out := Counts{
		Submitted: m.submissions, Started: len(m.waits), Ended: m.submissions - m.waiting - m.running,
		Runs: m.startCount, Evicted: m.evictions, Waiting: m.waiting, Running: m.running, LongestQueue: m.longestQueue, Plans: m.plans,
	}
	for _, wait := range m.waits {
		out.LongestWait = max(out.LongestWait, time.Duration(wait*float64(time.Second)))
	}
	for _, j := range w.jobs { //order:any a count, and the longest
		if j.starts == 0 && !j.ended {
			out.NeverStarted++
			out.LongestWait = max(out.LongestWait, w.now-j.submitted)
		}
	}
	return out
}

func (w *world) resultOf(j *job) JobResult {
	r := JobResult{
		ID: j.workload.ID, Queue: j.workload.LocalQueue, State: j.state,
		Submitted: j.submitted, Starts: j.starts, Evictions: j.evictions, Lost: j.lost, By: j.by,
	}
	for i := range j.workload.PodSets {
		r.Pods += j.workload.PodSets[i].Count
	}
	if j.starts > 0 {
		r.Started, r.Via = &j.firstStart, j.first.Via
		order := hosts(j.first)
		r.Pods, r.Nodes = len(order), len(distinct(order))
	}
	if j.ended {
		r.Ended = &j.lastEnd
	}
	if v := j.workload.LastVerdict; v != nil && !j.ended && j.workload.Allocation == nil {
		r.Reason, r.Message = v.Reason, v.Message
		if !v.PlannedStart.IsZero() {
			at := w.offset(v.PlannedStart)
			r.PlannedStart = &at
		}
	}
	return r
}
