package cli

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/report"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// figure is a number of a run beside that of another.
type figure struct {
	name  string
	of    func(*sim.Result) float64
	words func(float64) string
	// better is 1 where more is better, and -1 where less is; 0: a count that
	// depends on when the run was cut off.
	better float64
	// ofAll says that the number counts every job; others are of those alone that
	// started, or ended, and praise whoever leaves some out.
	ofAll bool
}

func figures() []figure {
	metric := func(name string) func(*sim.Result) float64 {
		return func(r *sim.Result) float64 { return r.Metrics[name] }
	}
	seconds := func(s float64) string { return length(time.Duration(s * float64(time.Second)).Round(time.Second)) }
	number := func(n float64) string { return fmt.Sprintf("%.0f", n) }
	return []figure{
		{"jobs ended", func(r *sim.Result) float64 { return float64(r.Counts.Ended) }, number, 0, true},
		{"jobs that never started", func(r *sim.Result) float64 { return float64(r.Counts.NeverStarted) }, number, 0, true},
		{"longest wait", func(r *sim.Result) float64 { return r.Counts.LongestWait.Seconds() }, seconds, -1, true},
		{"mean wait", metric(scenario.MetricMeanWait), seconds, -1, false},
		{"95 % waited at most", metric(scenario.MetricP95Wait), seconds, -1, false},
		{"mean bounded slowdown", metric(scenario.MetricMeanBoundedSlowdown), func(n float64) string { return fmt.Sprintf("%.2f", n) }, -1, false},
		{"utilization", metric(scenario.MetricUtilization), func(n float64) string { return fmt.Sprintf("%.1f %%", 100*n) }, 1, false},
		{"makespan", metric(scenario.MetricMakespan), seconds, -1, false},
		{"GPU time lost", metric(scenario.MetricLostGPUSeconds), seconds, -1, true},
	}
}

// sameWork says whether two runs have done the same work, as far as their
// figures go.
func sameWork(a, b *sim.Result) bool {
	return a.Counts.Submitted == b.Counts.Submitted && a.Counts.Ended == b.Counts.Ended && a.Counts.NeverStarted == b.Counts.NeverStarted
}

// change says how a figure differs, and whether that is better.
func (f *figure) change(a, b *sim.Result) string {
	x, y := f.of(a), f.of(b)
	if f.words(x) == f.words(y) {
		return "="
	}
	if f.better == 0 {
		return fmt.Sprintf("%+.0f", y-x)
	}
	text := ""
	if x != 0 {
		text = fmt.Sprintf("%+.1f %% ", 100*(y/x-1))
	}
	switch {
	case !f.ofAll && !sameWork(a, b):
		return text + "(of other jobs)"
	case math.Signbit(y-x) == math.Signbit(f.better):
		return text + "better"
	}
	return text + "worse"
}

// comparison prints two runs side by side.
func (p *printer) comparison(first, second report.Run) {
	a, b := first.Result, second.Result
	if file := first.File; file.About != "" {
		fmt.Fprintf(p.out, "%s: %s\n", file.Name, file.About)
	}
	t := tabwriter.NewWriter(p.out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "FIGURE\t%s\t%s\tCHANGE\n", first.Label, second.Label)
	for _, f := range figures() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.name, f.words(f.of(a)), f.words(f.of(b)), f.change(a, b))
	}
	p.note(t.Flush())
	if !sameWork(a, b) {
		fmt.Fprintf(p.out, "The runs have not done the same work: of %d jobs %d ended and %d never started in %s, of %d jobs %d ended and %d never started in %s.\n"+
			"Figures of the jobs that started or ended alone are not called better or worse.\n",
			a.Counts.Submitted, a.Counts.Ended, a.Counts.NeverStarted, first.Label, b.Counts.Submitted, b.Counts.Ended, b.Counts.NeverStarted, second.Label)
	}
	if len(a.Jobs)+len(b.Jobs) > 0 {
		fmt.Fprintln(p.out)
		p.jobsBeside(first, second)
	}
	for _, run := range []report.Run{first, second} {
		if run.Result.Trace != nil {
			fmt.Fprintf(p.out, "%s: %s\n", run.Label, run.Result.Trace)
		}
		p.outcomes(p.out, run.Label+": ", run.Result)
	}
}

// jobsBeside prints a row for each job, with what came of it in both runs.
func (p *printer) jobsBeside(first, second report.Run) {
	of := map[batch.WorkloadID]*sim.JobResult{}
	for i := range second.Result.Jobs {
		of[second.Result.Jobs[i].ID] = &second.Result.Jobs[i]
	}
	t := tabwriter.NewWriter(p.out, 0, 4, 2, ' ', 0)
	heading := func(label string) string { return label + ": STATE\tSTART\tEND\tWAITED\tEVICTED" }
	fmt.Fprintf(t, "JOB\tQUEUE\tSUBMITTED\t%s\t%s\n", heading(first.Label), heading(second.Label))
	line := func(j, left, right *sim.JobResult) {
		cells := []string{shortName(string(j.ID)), shortName(string(j.Queue)), length(j.Submitted)}
		cells = append(cells, besideCells(left, first.Result.End)...)
		cells = append(cells, besideCells(right, second.Result.End)...)
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	for i := range first.Result.Jobs {
		j := &first.Result.Jobs[i]
		line(j, j, of[j.ID])
		delete(of, j.ID)
	}
	for i := range second.Result.Jobs {
		if j := &second.Result.Jobs[i]; of[j.ID] != nil {
			line(j, nil, j)
		}
	}
	p.note(t.Flush())
}

// besideCells are what came of a job in one run: nil, if it was not in it.
func besideCells(j *sim.JobResult, end time.Duration) []string {
	if j == nil {
		return []string{"-", "-", "-", "-", "-"}
	}
	start, waited := startCells(j)
	if j.Started == nil && j.Ended == nil {
		waited = "over " + length(end-j.Submitted)
	}
	evicted := ""
	if j.Evictions > 0 {
		evicted = fmt.Sprint(j.Evictions)
	}
	return []string{j.State, dash(start), dash(optional(j.Ended)), dash(waited), dash(evicted)}
}
