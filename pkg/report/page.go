package report

import (
	"bytes"
	_ "embed" // the page's style and program
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"

	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// jobsMax is how many jobs the page lists.
const jobsMax = 500

// Run is one run of a page.
type Run struct {
	Label    string // what tells it from the other
	File     *scenario.File
	Result   *sim.Result
	Recorder *Recorder
}

// run is what the page's program reads.
type run struct {
	Label    string             `json:"label"`
	Unit     string             `json:"unit"`
	End      float64            `json:"end"`
	Nodes    []string           `json:"nodes"`
	Sizes    []float64          `json:"sizes"`
	Bars     []bar              `json:"bars"`
	Lanes    []float64          `json:"lanes"`
	Jobs     []string           `json:"jobs"`
	Grid     [][]int            `json:"grid"`
	GridStep float64            `json:"gridStep"`
	Queue    line               `json:"queue"`
	Used     line               `json:"used"`
	Classes  []class            `json:"classes"`
	Metrics  map[string]float64 `json:"metrics"`
	Counts   map[string]int     `json:"counts"`
	Table    []row              `json:"table"`
	Missed   []string           `json:"missed"`
	Held     int                `json:"held"`
	Trace    string             `json:"trace"`
}

// line is a series: a value for each step.
type line struct {
	Step   float64   `json:"step"`
	Values []float64 `json:"values"`
}

// row is a job.
type row struct {
	Job     string   `json:"job"`
	State   string   `json:"state"`
	Submit  float64  `json:"submit"`
	Start   *float64 `json:"start"`
	End     *float64 `json:"end"`
	Via     string   `json:"via"`
	Pods    int      `json:"pods"`
	Nodes   int      `json:"nodes"`
	Why     string   `json:"why"`
	Planned *float64 `json:"planned"`
}

// Write writes the page of one run, or of two side by side.
func Write(to io.Writer, runs ...Run) error {
	data := make([]run, 0, len(runs))
	for i := range runs {
		data = append(data, runs[i].data())
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded) // escapes <, > and &: safe within a script
	if err := encoder.Encode(data); err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	page, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("read the report's page: %w", err)
	}
	first := runs[0].File
	title := first.Name
	if title == "" {
		title = first.Path
	}
	return page.Execute(to, map[string]any{
		"Title": title, "About": first.About, "Start": first.Start.Format("Monday, 2 January 2006 15:04 MST"),
		"CSS": template.CSS(pageCSS), "JS": template.JS(pageJS), //nolint:gosec // our own, embedded
		"Data": template.JS(encoded.String()), //nolint:gosec // encoded above
	})
}

func (r *Run) data() run {
	rec, res := r.Recorder, r.Result
	end := max(res.End.Seconds(), 1)
	out := run{
		Label: r.Label, Unit: string(rec.unit), End: end, Jobs: rec.names, Sizes: rec.size,
		Bars: rec.bars, Lanes: rec.lanes(), Classes: rec.classes(), Metrics: map[string]float64{},
		Queue: lineOf(&rec.waiting, r), Used: lineOf(&rec.used, r),
		Counts: map[string]int{
			"submitted": res.Counts.Submitted, "ended": res.Counts.Ended, "neverStarted": res.Counts.NeverStarted,
			"longestWait": int(res.Counts.LongestWait.Seconds()),
		},
		Table: []row{}, Missed: []string{},
	}
	for _, name := range rec.nodes {
		out.Nodes = append(out.Nodes, string(name))
	}
	if rec.over || len(rec.nodes) > rowsMax {
		out.Bars, out.Lanes, out.Jobs = []bar{}, []float64{}, []string{}
		out.Grid, out.GridStep = rec.grid.shares(rec.size), rec.grid.width.Seconds()
	}
	for name, value := range res.Metrics { //order:any each sets its own entry
		out.Metrics[name] = math.Round(value*1e4) / 1e4
	}
	out.jobs(res)
	return out
}

func lineOf(s *series, r *Run) line {
	values := s.means(r.Result.End)
	for i := range values {
		values[i] = math.Round(values[i]*1e4) / 1e4
	}
	return line{Step: max(s.width.Seconds(), 1), Values: values}
}

func (out *run) jobs(res *sim.Result) {
	for i := range res.Jobs {
		if i == jobsMax {
			break
		}
		j := &res.Jobs[i]
		one := row{
			Job: shortName(j.ID), State: j.State, Submit: j.Submitted.Seconds(), Via: string(j.Via), Pods: j.Pods, Nodes: j.Nodes,
		}
		if j.Started != nil {
			one.Start = new(j.Started.Seconds())
		}
		if j.Ended != nil {
			one.End = new(j.Ended.Seconds())
		}
		if j.PlannedStart != nil {
			one.Planned = new(j.PlannedStart.Seconds())
		}
		if j.Reason != "" {
			one.Why = string(j.Reason) + ": " + j.Message
		}
		out.Table = append(out.Table, one)
	}
	for _, o := range res.Outcomes {
		if o.Hold {
			out.Held++
		} else {
			out.Missed = append(out.Missed, fmt.Sprintf("line %d: %s — %s", o.Line, o.Text, o.Got))
		}
	}
	if res.Breach != nil {
		out.Missed = append(out.Missed, "an invariant is breached "+res.Breach.String())
	}
	if res.Trace != nil {
		out.Trace = res.Trace.String()
	}
}
