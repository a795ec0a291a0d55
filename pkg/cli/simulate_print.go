package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/report"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// printer prints what came of runs, in one of three forms.
type printer struct {
	form     string
	out, err io.Writer
	files    int
	printed  []summary
	events   *json.Encoder
	failed   error
}

func newPrinter(form string, out, err io.Writer, files int) (*printer, error) {
	switch form {
	case "table", "events", "json":
	default:
		return nil, fmt.Errorf("-o %q: the output is table, events or json", form)
	}
	p := &printer{form: form, out: out, err: err, files: files, events: json.NewEncoder(out)}
	p.events.SetEscapeHTML(false)
	return p, nil
}

// log takes the entries of the event log; nil if nobody wants them.
func (p *printer) log() func(sim.Entry) {
	if p.form != "events" {
		return nil
	}
	return func(e sim.Entry) {
		if err := p.events.Encode(e); err != nil && p.failed == nil {
			p.failed = err
		}
	}
}

func (p *printer) result(run report.Run) {
	switch p.form {
	case "json":
		s := summarize(run.Result)
		if p.files > 1 {
			s.Label = run.Label
		}
		p.printed = append(p.printed, s)
	case "events":
		p.outcomes(p.err, run.Result)
	default:
		p.table(run)
	}
}

// done prints what could only be printed at the end.
func (p *printer) done() error {
	if p.form != "json" || p.failed != nil {
		return p.failed
	}
	var all any = p.printed
	if p.files == 1 {
		if len(p.printed) == 0 {
			return nil // the file is wrong, and that has been said
		}
		all = p.printed[0]
	}
	encoder := json.NewEncoder(p.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}

// summary is a result as JSON.
type summary struct {
	File         string             `json:"file"`
	Scenario     string             `json:"scenario,omitempty"`
	Label        string             `json:"label,omitempty"` // in a comparison
	Holds        bool               `json:"holds"`
	End          float64            `json:"end"` // seconds
	Jobs         jobCounts          `json:"jobs"`
	Metrics      map[string]float64 `json:"metrics"`
	Expectations []expectation      `json:"expectations"`
	Breach       string             `json:"breach,omitempty"`
	Trace        *scenario.TraceLog `json:"trace,omitempty"`
}

type jobCounts struct {
	Submitted    int `json:"submitted"`
	Started      int `json:"started"` // runs
	Ended        int `json:"ended"`
	Evicted      int `json:"evicted"`
	Waiting      int `json:"waiting"`
	Running      int `json:"running"`
	LongestQueue int `json:"longestQueue"`
}

type expectation struct {
	Line   int    `json:"line"`
	Expect string `json:"expect"`
	Holds  bool   `json:"holds"`
	Got    string `json:"got,omitempty"`
}

func summarize(r *sim.Result) summary {
	c := r.Counts
	s := summary{
		File: r.File, Scenario: r.Name, Holds: r.Held(), End: r.End.Seconds(), Metrics: map[string]float64{},
		Jobs: jobCounts{
			Submitted: c.Submitted, Started: c.Started, Ended: c.Ended, Evicted: c.Evicted,
			Waiting: c.Waiting, Running: c.Running, LongestQueue: c.LongestQueue,
		},
		Expectations: []expectation{}, Trace: r.Trace,
	}
	for name, value := range r.Metrics { //order:any each sets its own entry
		s.Metrics[name] = math.Round(value*1e6) / 1e6
	}
	for _, o := range r.Outcomes {
		s.Expectations = append(s.Expectations, expectation{Line: o.Line, Expect: o.Text, Holds: o.Hold, Got: o.Got})
	}
	if r.Breach != nil {
		s.Breach = r.Breach.String()
	}
	return s
}

// table prints the jobs, then what does not hold.
func (p *printer) table(run report.Run) {
	file, r := run.File, run.Result
	if p.files > 1 {
		fmt.Fprintf(p.out, "== %s\n", cmp.Or(run.Label, r.File))
	}
	if file.About != "" {
		fmt.Fprintf(p.out, "%s: %s\n", file.Name, file.About)
	}
	if len(r.Jobs) > 0 {
		p.jobs(r.Jobs)
	}
	if r.Trace != nil || len(r.Jobs) == 0 {
		p.numbers(r)
	}
	p.outcomes(p.out, r)
	if p.files > 1 {
		fmt.Fprintln(p.out)
	}
}

// jobs prints a row for each job; what evictions have cost, where there were any.
func (p *printer) jobs(all []sim.JobResult) {
	evicted := slices.ContainsFunc(all, func(j sim.JobResult) bool { return j.Evictions > 0 })
	t := tabwriter.NewWriter(p.out, 0, 4, 2, ' ', 0)
	heading := "JOB\tQUEUE\tSTATE\tSUBMITTED\tSTART\tEND\tWAITED\tVIA\tPODS\tNODES\t"
	if evicted {
		heading += "EVICTED\tBY\tLOST\t"
	}
	fmt.Fprintln(t, heading+"WHY")
	for i := range all {
		cells := row(&all[i])
		if evicted {
			cells = slices.Insert(cells, len(cells)-1, evictionCells(&all[i])...)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	p.note(t.Flush())
}

// evictionCells are how often a job was evicted, for whom at last, and what run
// time it has cost.
func evictionCells(j *sim.JobResult) []string {
	if j.Evictions == 0 {
		return []string{"-", "-", "-"}
	}
	return []string{fmt.Sprint(j.Evictions), dash(shortName(string(j.By))), length(j.Lost)}
}

func (p *printer) note(err error) {
	if err != nil && p.failed == nil {
		p.failed = err
	}
}

func row(j *sim.JobResult) []string {
	start, waited := "", ""
	switch {
	case j.Started != nil:
		start, waited = length(*j.Started), length(*j.Started-j.Submitted)
	case j.PlannedStart != nil:
		start = "~" + length(*j.PlannedStart)
	}
	why := ""
	if j.Reason != "" {
		why = string(j.Reason) + ": " + j.Message
	}
	queue := shortName(string(j.Queue))
	nodes := ""
	if j.Nodes > 0 {
		nodes = fmt.Sprint(j.Nodes)
	}
	return []string{
		shortName(string(j.ID)), queue, j.State, length(j.Submitted), dash(start), dash(optional(j.Ended)), dash(waited),
		dash(string(j.Via)), fmt.Sprint(j.Pods), dash(nodes), why,
	}
}

// shortName leaves out the namespace that everybody is in.
func shortName(name string) string { return strings.TrimPrefix(name, "default/") }

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func optional(d *time.Duration) string {
	if d == nil {
		return ""
	}
	return length(*d)
}

func length(d time.Duration) string { return batch.FormatDuration(d) }

// numbers prints the metrics of a run that is too long for a table.
func (p *printer) numbers(r *sim.Result) {
	c := r.Counts
	fmt.Fprintf(p.out, "%d jobs submitted, %d started, %d evicted, %d ended; %d wait and %d run at the end; the queue was %d long at most\n",
		c.Submitted, c.Started, c.Evicted, c.Ended, c.Waiting, c.Running, c.LongestQueue)
	t := tabwriter.NewWriter(p.out, 0, 4, 2, ' ', 0)
	for _, name := range scenario.Metrics() {
		fmt.Fprintf(t, "%s\t%s\n", name, metricText(name, r.Metrics[name]))
	}
	p.note(t.Flush())
	if r.Trace != nil {
		fmt.Fprintln(p.out, r.Trace)
	}
}

func metricText(name string, value float64) string {
	switch name {
	case scenario.MetricUtilization:
		return fmt.Sprintf("%.1f %%", 100*value)
	case scenario.MetricMeanWait, scenario.MetricP95Wait, scenario.MetricMakespan:
		return fmt.Sprintf("%.2f s (%s)", value, length(time.Duration(value*float64(time.Second))))
	case scenario.MetricMeanBoundedSlowdown:
		return fmt.Sprintf("%.4f", value)
	}
	return fmt.Sprintf("%.0f", value)
}

func (p *printer) outcomes(to io.Writer, r *sim.Result) {
	failed := 0
	for _, o := range r.Outcomes {
		if !o.Hold {
			failed++
			fmt.Fprintf(to, "does not hold (line %d): %s\n    %s\n", o.Line, o.Text, o.Got)
		}
	}
	switch n := len(r.Outcomes); {
	case r.Breach != nil:
		// Whatever was expected: "all expectations hold" would be read as well.
		fmt.Fprintf(to, "the run fails: an invariant is breached %s\n", r.Breach)
	case failed > 0:
		fmt.Fprintf(to, "%d of %d expectations do not hold\n", failed, n)
	case n == 1:
		fmt.Fprintln(to, "the only expectation holds")
	case n > 0:
		fmt.Fprintf(to, "all %d expectations hold\n", n)
	}
}
