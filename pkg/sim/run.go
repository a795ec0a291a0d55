package sim

import (
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
	"github.com/berth-dev/berth/pkg/scenario"
)

// Source hands out the jobs of a trace in the order of their submission; nil
// at the end.
type Source interface {
	Next() (*scenario.Job, error)
}

// progressEvery is after how many moments progress is told.
const progressEvery = 256

// Progress is how far a run is.
type Progress struct {
	Now                       time.Duration // of the scenario
	Submitted, Ended, Waiting int
}

// Options say how a scenario is played. The zero value plays the file alone,
// with every check after every event.
type Options struct {
	// Source adds the jobs of a trace. With one, the invariants are checked
	// where something changes, and not over the whole cluster after each event.
	Source Source
	// Log takes the entries of the event log as they come.
	Log func(Entry)
	// Progress is called now and then.
	Progress func(Progress)
	// Ran takes each run of a job when it is over, or the simulation is.
	Ran func(Ran)
	// Sample takes what waits and what is used, after each moment.
	Sample func(Sample)
	// Began is called when a controller begins, with the working set that it
	// begins with, and Pass after each plan that it makes: for a journal.
	Began func(Image)
	Pass  func(Pass)
}

// Image is a working set, as a journal begins with one.
type Image = core.Image

// Pass is what the controller took in and decided at once.
type Pass struct {
	Events []batch.Event
	Plan   batch.Plan
	Issued bool
	// Image is the working set after it.
	Image func() Image
}

// Ran is one run of a job.
type Ran struct {
	Job        batch.WorkloadID
	Queue      batch.QueueName
	Number     int // of the run, from 1
	Submitted  time.Duration
	Start, End time.Duration
	Planned    *time.Duration // the first planned start that it had
	Via        batch.Via
	State      string // Running: the simulation stopped before it ended
	Takes      []Take // by node
	Total      batch.Resources
}

// Take is what a run takes of a node.
type Take struct {
	Node     batch.NodeName
	Requests batch.Resources
}

// Sample is a moment in numbers.
type Sample struct {
	At               time.Duration
	Waiting, Running int
	Used, Capacity   batch.Resources // of GPUs, CPUs and pod slots
}

func (o *Options) thorough() bool { return o.Source == nil }

// Run plays a scenario. An error says that the file cannot be played: what it
// asks for is not there, or not built. Expectations that do not hold and
// invariants that are breached are in the result.
func Run(file *scenario.File, options Options) (*Result, error) {
	w := newWorld(file, options)
	w.begin()
	next, err := w.nextOfTrace()
	for err == nil && w.failed == nil && w.breach == nil {
		at, more := w.nextMoment(next)
		if !more {
			break
		}
		w.checkMoments(at - 1)
		w.meter.advance(at)
		w.now = at
		for err == nil && next != nil && next.At <= at {
			w.fromTrace(next)
			next, err = w.nextOfTrace()
		}
		w.settleMoment()
	}
	if err != nil {
		return nil, err
	}
	if w.failed != nil {
		return nil, w.failed
	}
	return w.conclude(), nil
}

func (w *world) nextOfTrace() (*scenario.Job, error) {
	if w.options.Source == nil {
		return nil, nil
	}
	job, err := w.options.Source.Next()
	if job != nil {
		w.logged = job.At
	}
	return job, err
}

// limit is when the run stops, whatever is left. Without an end of its own a log is
// played to its last submission at least, and as long after it as any scenario.
func (w *world) limit() time.Duration {
	if w.file.Until > 0 {
		return w.file.Until
	}
	return w.logged + scenario.DurationMax
}

// fromTrace queues a job of the trace behind the ends and events of its time.
func (w *world) fromTrace(spec *scenario.Job) {
	w.open++
	w.agenda.add(w.now, causeSubmit, func() { w.submit(spec) })
}

// settleMoment takes in and plans what is due now.
func (w *world) settleMoment() {
	w.takeIn()
	w.settle()
	w.checkBounds()
	w.checkMoments(w.now)
	w.meter.moments++
	if w.options.Sample != nil {
		w.options.Sample(w.meter.sample())
	}
	if w.options.Progress != nil && w.meter.moments%progressEvery == 0 {
		w.options.Progress(Progress{
			Now: w.now, Submitted: w.meter.submissions, Ended: w.meter.submissions - w.meter.waiting - w.meter.running, Waiting: w.meter.waiting,
		})
	}
}

// takeIn takes in everything of this instant: ends, then events, then
// submissions, then edits of jobs.
func (w *world) takeIn() {
	for w.failed == nil && w.breach == nil {
		item, ok := w.agenda.take(w.now)
		if !ok {
			return
		}
		item.do()
	}
}

// nextMoment is when something happens next; false: the run is over.
func (w *world) nextMoment(next *scenario.Job) (time.Duration, bool) {
	limit := w.limit()
	at, some := w.agenda.next()
	sooner := func(other time.Duration) {
		if !some || other < at {
			at, some = other, true
		}
	}
	if next != nil {
		sooner(max(next.At, w.now))
	}
	if w.core != nil && w.wake > w.now {
		sooner(w.wake)
	}
	// What is still to be looked at keeps the run going.
	if w.open == 0 && next == nil && len(w.checks) == 0 {
		some = false
	}
	if !some || at > limit {
		w.stop(limit, some)
		return 0, false
	}
	return at, true
}

// stop moves the clock to the end of the run.
func (w *world) stop(limit time.Duration, more bool) {
	w.cut = more && w.file.Until == 0
	if more || (w.file.Until > 0 && w.open > 0) {
		w.meter.advance(limit)
		w.now = limit
	}
}
