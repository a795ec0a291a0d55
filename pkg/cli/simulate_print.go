package cli

import (
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

// shape is how many runs there are, and how they stand to each other.
type shape int

const (
	alone      shape = iota
	oneByOne         // several files: a table each
	aLineEach        // of a folder: a table of those that do not hold
	sideBySide       // two runs that are compared
)

// printer prints what came of runs, in one of three forms.
type printer struct {
	form     string
	out, err io.Writer
	shape    shape
	printed  []summary
	first    *report.Run // of two side by side; nil: it is not there yet
	hold     int
	noted    map[string]bool
	missed   []string // files that do not hold
	wrongs   []string // files that could not be played
	events   *json.Encoder
	failed   error
}

func newPrinter(form string, out, err io.Writer, shape shape) (*printer, error) {
	switch form {
	case "table", "events", "json":
	default:
		return nil, fmt.Errorf("-o %q: the output is table, events or json", form)
	}
	p := &printer{form: form, out: out, err: err, shape: shape, noted: map[string]bool{}, events: json.NewEncoder(out)}
	p.events.SetEscapeHTML(false)
	return p, nil
}

// log takes the entries of a run's event log, marked with its label if it is one of two;
// nil if nobody wants them.
func (p *printer) log(label string) func(sim.Entry) {
	if p.form != "events" {
		return nil
	}
	if p.shape != sideBySide {
		label = ""
	}
	return func(e sim.Entry) {
		e.Label = label
		if err := p.events.Encode(e); err != nil && p.failed == nil {
			p.failed = err
		}
	}
}

func (p *printer) result(run report.Run) {
	p.notes(run)
	if run.Result.Held() {
		p.hold++
	} else {
		p.missed = append(p.missed, run.Result.File)
	}
	switch p.form {
	case "json":
		s := summarize(run)
		if p.shape == sideBySide {
			s.Label = run.Label
		}
		p.printed = append(p.printed, s)
	case "events":
		about := ""
		if p.shape == sideBySide {
			about = run.Label + ": "
		}
		p.outcomes(p.err, about, run.Result)
	default:
		p.people(run)
	}
}

// people prints what came of a run for people.
func (p *printer) people(run report.Run) {
	switch {
	case p.shape == sideBySide && p.first == nil:
		p.first = &run
	case p.shape == sideBySide:
		p.comparison(*p.first, run)
	case p.shape == aLineEach && run.Result.Held() && len(run.Result.Outcomes) == 0:
		fmt.Fprintf(p.out, "%s: was played; nothing is expected of it\n", run.Result.File)
	case p.shape == aLineEach && run.Result.Held():
		p.outcomes(p.out, run.Result.File+": ", run.Result)
	default:
		p.table(run)
	}
}

// notes tells what is allowed in a file, and hardly what was meant; once, though
// it is played twice.
func (p *printer) notes(run report.Run) {
	for _, note := range notes(run) {
		text := fmt.Sprintf("%s: note: %s", run.File.Path, note)
		if !p.noted[text] {
			p.noted[text] = true
			fmt.Fprintln(p.err, text)
		}
	}
}

// notes are those of the file and of the run, and that it was cut.
func notes(run report.Run) []string {
	file, r := run.File, run.Result
	all := slices.Concat(file.Notes, r.Notes)
	if !r.Cut {
		return all
	}
	after := ""
	if r.Trace != nil {
		after = " after the last submission of its log"
	}
	return append(all, fmt.Sprintf("the run was stopped at %s (%s), where %d wait and %d run: without an end of its own it lasts at most %s%s; give spec.until to go on",
		length(r.End), file.Start.Add(r.End).Format(time.RFC3339), r.Counts.Waiting, r.Counts.Running, length(scenario.DurationMax), after))
}

// wrong notes a file that could not be played. Why has been said.
func (p *printer) wrong(path string) { p.wrongs = append(p.wrongs, path) }

// done prints what could only be printed at the end.
func (p *printer) done() error {
	if p.shape == oneByOne || p.shape == aLineEach {
		p.total()
	}
	if p.form != "json" || p.failed != nil {
		return p.failed
	}
	var all any = p.printed
	if p.shape == alone {
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

// total sums up what came of several files.
func (p *printer) total() {
	out := p.out
	if p.form != "table" {
		out = p.err
	}
	fmt.Fprintf(out, "%d scenarios: %d held, %d did not, %d could not be played\n", p.hold+len(p.missed)+len(p.wrongs), p.hold, len(p.missed), len(p.wrongs))
	for _, path := range p.missed {
		fmt.Fprintf(out, "    did not hold: %s\n", path)
	}
	for _, path := range p.wrongs {
		fmt.Fprintf(out, "    could not be played: %s\n", path)
	}
}

// summary is a result as JSON.
type summary struct {
	File         string             `json:"file"`
	Scenario     string             `json:"scenario,omitempty"`
	Label        string             `json:"label,omitempty"` // in a comparison
	Holds        bool               `json:"holds"`
	End          float64            `json:"end"` // seconds
	Jobs         jobCounts          `json:"jobs"`
	Runs         runCounts          `json:"runs"`
	Notes        []string           `json:"notes,omitempty"`
	Metrics      map[string]float64 `json:"metrics"`
	Expectations []expectation      `json:"expectations"`
	Breach       string             `json:"breach,omitempty"`
	Trace        *scenario.TraceLog `json:"trace,omitempty"`
}

// jobCounts count each job once.
type jobCounts struct {
	Submitted    int     `json:"submitted"`
	Started      int     `json:"started"`
	NeverStarted int     `json:"neverStarted"` // of those that wait at the end
	Ended        int     `json:"ended"`        // in whatever way
	Waiting      int     `json:"waiting"`
	Running      int     `json:"running"`
	LongestQueue int     `json:"longestQueue"`
	LongestWait  float64 `json:"longestWait"` // seconds, until the first start or the end
}

// runCounts count a job as often as it ran.
type runCounts struct {
	Started int `json:"started"`
	Evicted int `json:"evicted"`
}

type expectation struct {
	Line   int    `json:"line"`
	Expect string `json:"expect"`
	Holds  bool   `json:"holds"`
	Got    string `json:"got,omitempty"`
}

func summarize(run report.Run) summary {
	r := run.Result
	c := r.Counts
	s := summary{
		File: r.File, Scenario: r.Name, Holds: r.Held(), End: r.End.Seconds(), Metrics: map[string]float64{},
		Jobs: jobCounts{
			Submitted: c.Submitted, Started: c.Started, NeverStarted: c.NeverStarted, Ended: c.Ended,
			Waiting: c.Waiting, Running: c.Running, LongestQueue: c.LongestQueue, LongestWait: c.LongestWait.Seconds(),
		},
		Runs: runCounts{Started: c.Runs, Evicted: c.Evicted}, Notes: notes(run),
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
	several := p.shape != alone
	if several {
		fmt.Fprintf(p.out, "== %s\n", r.File)
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
	p.outcomes(p.out, "", r)
	if several {
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

// startCells are when a job started, or is planned to, and how long it waited for
// that.
func startCells(j *sim.JobResult) (start, waited string) {
	switch {
	case j.Started != nil:
		return length(*j.Started), length(*j.Started - j.Submitted)
	case j.PlannedStart != nil:
		return "~" + length(*j.PlannedStart), ""
	}
	return "", ""
}

func row(j *sim.JobResult) []string {
	start, waited := startCells(j)
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
	fmt.Fprintf(p.out, "%d jobs submitted, %d started, %d ended; %d runs, %d of them evicted; %d wait at the end, %d of these never started, and %d run; "+
		"the queue was %d long at most, and the longest wait %s\n",
		c.Submitted, c.Started, c.Ended, c.Runs, c.Evicted, c.Waiting, c.NeverStarted, c.Running, c.LongestQueue, length(c.LongestWait))
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

// outcomes says what holds and what does not, each line after what tells it apart.
func (p *printer) outcomes(to io.Writer, about string, r *sim.Result) {
	failed := 0
	for _, o := range r.Outcomes {
		if !o.Hold {
			failed++
			fmt.Fprintf(to, "%sdoes not hold (line %d): %s\n    %s\n", about, o.Line, o.Text, o.Got)
		}
	}
	switch n := len(r.Outcomes); {
	case r.Breach != nil:
		// Whatever was expected: "all expectations hold" would be read as well.
		fmt.Fprintf(to, "%sthe run fails: an invariant is breached %s\n", about, r.Breach)
	case failed == 1 && n == 1:
		fmt.Fprintf(to, "%sthe only expectation does not hold\n", about)
	case failed > 0:
		fmt.Fprintf(to, "%s%d of %d expectations do not hold\n", about, failed, n)
	case n == 1:
		fmt.Fprintf(to, "%sthe only expectation holds\n", about)
	case n > 0:
		fmt.Fprintf(to, "%sall %d expectations hold\n", about, n)
	}
}
