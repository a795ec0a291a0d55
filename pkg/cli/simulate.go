package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/options"
	"github.com/berth-dev/berth/pkg/report"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// simulateOptions are the flags of simulate.
type simulateOptions struct {
	files     []string
	folder    bool // some of the files are those of a folder
	output    string
	overrides []string
	report    string
	compare   string
	journal   string
	out, err  io.Writer
}

func simulateCommand() *cobra.Command {
	o := &simulateOptions{}
	cmd := &cobra.Command{
		Use:   "simulate -f FILE|FOLDER...",
		Short: "Play a scenario or a job trace with the real planner and a virtual clock",
		Long: `Play scenario files with the very planner that runs in a cluster, and a virtual
clock: see what a policy does before you apply it.

A scenario file describes nodes, Berth objects, jobs, and what must come of it.
Objects are validated as in a cluster. A job log in the Standard Workload Format
(*.swf, *.swf.gz) can be given in place of a scenario. Of a folder its scenario
files (*.yaml, *.yml) are played in the order of their names, with a line for each
that holds. This is a whole scenario:

` + indent(exampleScenario) + `
Exit code: 0 all expectations hold; 1 some do not; 2 a file is wrong. Of several
files the worst counts. With --compare the expectations are those of the first run.`,
		Example: `  kubectl berth simulate -f scenario.yaml
  kubectl berth simulate -f scenario.yaml -o events
  kubectl berth simulate -f log.swf.gz --policy backfill.mode=None -o json
  kubectl berth simulate -f scenarios/
  kubectl berth simulate -f scenario.yaml --compare policy.yaml --report page.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.files = append(o.files, args...)
			o.out, o.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return o.run()
		},
	}
	cmd.Flags().StringArrayVarP(&o.files, "filename", "f", nil, "scenario `FILE`, or a folder of them; may be repeated, and further files may follow")
	cmd.Flags().StringVarP(&o.output, "output", "o", "table", "what to print: table, events (the event log, a JSON object a line) or json (metrics and expectations)")
	cmd.Flags().StringArrayVar(&o.overrides, "policy", nil, "set a field of the SchedulingPolicy, as in backfill.mode=None; may be repeated or hold several after commas")
	cmd.Flags().StringVar(&o.report, "report", "", "write a self-contained HTML page of the run to `FILE`")
	cmd.Flags().StringVar(&o.compare, "compare", "", "play a second time and show both side by side: `OTHER` is a scenario, or Berth objects that replace those of the same kind and name")
	cmd.Flags().StringVar(&o.journal, "journal", "", "record the run (with --compare, the first) to `FILE`, for \"kubectl berth replay\"")
	return cmd
}

func (o *simulateOptions) run() error {
	if len(o.files) == 0 {
		return errors.New("no scenario is given: use -f FILE")
	}
	if err := o.expand(); err != nil {
		return err
	}
	if (o.report != "" || o.compare != "" || o.journal != "") && len(o.files) > 1 {
		return errors.New("--report, --compare and --journal are for one scenario: give one file")
	}
	printer, err := newPrinter(o.output, o.out, o.err, o.shape())
	if err != nil {
		return err
	}
	overrides, err := parseOverrides(o.overrides)
	if err != nil {
		return err
	}
	server, err := admission.New()
	if err != nil {
		return err
	}
	options.CollectRarely()
	options := scenario.Options{Admitter: server, Overrides: overrides}
	code, err := o.playAll(options, printer)
	if err != nil {
		return err
	}
	if err := printer.done(); err != nil {
		return err
	}
	if code != 0 {
		return exitError{code}
	}
	return nil
}

// shape is in what form several runs are printed.
func (o *simulateOptions) shape() shape {
	switch {
	case o.compare != "":
		return sideBySide
	case o.folder:
		return aLineEach
	case len(o.files) > 1:
		return oneByOne
	}
	return alone
}

// playAll plays the files, and what they are compared with, and writes the
// report. It returns the exit code.
func (o *simulateOptions) playAll(options scenario.Options, printer *printer) (code int, err error) {
	turns, err := o.turns(options)
	if err != nil {
		return exitWrong, err
	}
	var pages []report.Run
	for i, t := range turns {
		page, exit := o.play(t, printer)
		pages = append(pages, page)
		// What is expected of a comparison is expected of the first; the other is
		// looked at.
		if o.compare == "" || i == 0 || exit == exitWrong {
			code = max(code, exit)
		}
		if o.compare != "" && code == exitWrong {
			break
		}
	}
	if o.report == "" || code == exitWrong {
		return code, nil
	}
	return code, writeReport(o.report, pages)
}

// turn is one run that is to be played.
type turn struct {
	path    string
	label   string // what tells it from the other, in a comparison
	options scenario.Options
	journal string         // where it is recorded; empty: nowhere
	file    *scenario.File // nil: it is not read yet
}

// turns are the runs that are to be played. Both of a comparison are read before
// the first is played: it may take long, and the other file may be wrong. So is one
// whose run is written down: its trace may be where that would go.
func (o *simulateOptions) turns(options scenario.Options) ([]turn, error) {
	var turns []turn
	first, second := o.labels()
	for _, path := range o.files {
		turns = append(turns, turn{path: path, label: first, options: options, journal: o.journal})
	}
	if o.compare == "" && len(o.outputs()) == 0 {
		return turns, nil
	}
	if o.compare != "" {
		path, other, err := o.other(options)
		if err != nil {
			return nil, err
		}
		turns = append(turns, turn{path: path, label: second, options: other})
	}
	for i := range turns {
		var err error
		if turns[i].file, err = loadScenario(turns[i].path, turns[i].options); err != nil {
			return nil, err
		}
	}
	if err := o.apart(turns); err != nil {
		return nil, err
	}
	return turns, o.writable()
}

// play plays one file and returns the exit code for it.
func (o *simulateOptions) play(t turn, printer *printer) (report.Run, int) {
	page, err := o.simulate(t, printer.log(t.label))
	if err != nil {
		fmt.Fprintln(o.err, err)
		printer.wrong(t.path)
		return page, exitWrong
	}
	page.Label = t.label
	printer.result(page)
	if !page.Result.Held() {
		return page, exitFailed
	}
	return page, 0
}

func (o *simulateOptions) simulate(t turn, log func(sim.Entry)) (report.Run, error) {
	var page report.Run
	path, file := t.path, t.file
	if file == nil {
		var err error
		if file, err = loadScenario(path, t.options); err != nil {
			return page, err
		}
	}
	play := sim.Options{Log: log}
	bar := newProgress(o.err, filepath.Base(path))
	defer bar.clear()
	if bar != nil {
		play.Progress = bar.draw
	}
	var trace *scenario.Trace
	var err error
	if file.Trace != nil {
		var closer io.Closer
		if trace, closer, err = openTrace(file, bar); err != nil {
			return page, fmt.Errorf("%s: %w", path, err)
		}
		defer closer.Close()
		play.Source = trace
	}
	page.File = file
	if o.report != "" {
		page.Recorder = report.NewRecorder(file)
		play.Ran, play.Sample = page.Recorder.Ran, page.Recorder.Sample
	}
	kept, err := keep(t.journal, file, &play)
	if err != nil {
		return page, err
	}
	page.Result, err = sim.Run(file, play)
	if err := kept.close(); err != nil {
		return page, err
	}
	if err != nil {
		return page, fmt.Errorf("%s: %w", path, err)
	}
	if trace != nil {
		page.Result.Trace = &trace.Log
	}
	return page, nil
}

// openTrace opens the log of a scenario.
func openTrace(file *scenario.File, bar *progress) (*scenario.Trace, io.Closer, error) {
	log, err := os.Open(tracePath(file))
	if err != nil {
		return nil, nil, err
	}
	size := int64(0)
	if info, err := log.Stat(); err == nil {
		size = info.Size()
	}
	trace, err := scenario.OpenTrace(file, bar.reader(log, size))
	if err != nil {
		_ = log.Close()
		return nil, nil, err
	}
	return trace, log, nil
}

// traceScenario is what stands for a job log that is given by itself.
const traceScenario = `apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: trace}
spec:
  trace: {file: %q, format: swf}
`

// isLog says whether a file is a job log that is given by itself.
func isLog(path string) bool {
	return strings.HasSuffix(path, ".swf") || strings.HasSuffix(path, ".swf.gz")
}

func loadScenario(path string, options scenario.Options) (*scenario.File, error) {
	if isLog(path) {
		return scenario.Load(path, fmt.Appendf(nil, traceScenario, filepath.Base(path)), options)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return scenario.Load(path, content, options)
}

// parseOverrides reads backfill.mode=None,backfill.depth=5.
func parseOverrides(texts []string) ([]scenario.Override, error) {
	var out []scenario.Override
	for _, text := range texts {
		for one := range strings.SplitSeq(text, ",") {
			field, value, ok := strings.Cut(one, "=")
			if !ok || field == "" || value == "" {
				return nil, fmt.Errorf("--policy %q: write FIELD=VALUE, as in backfill.mode=None", one)
			}
			out = append(out, scenario.Override{
				Path: strings.Split(strings.TrimPrefix(field, "spec."), "."), Value: scenario.Value(value),
			})
		}
	}
	return out, nil
}
