package live

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

const (
	// settle is how long the driver waits for more of a burst before it plans,
	// settleMax how long a burst without a pause can put a plan off.
	settle    = 10 * time.Millisecond
	settleMax = 50 * time.Millisecond

	// heartbeat is how often a plan is made while work waits and nothing
	// happens. It changes nothing, and shows that the driver is alive.
	heartbeat = 15 * time.Second

	// hangs is how long work may wait without a plan before the driver calls
	// itself unhealthy.
	hangs = 60 * time.Second
)

// Carrier carries out plans. Its outcomes come back through Observe.
type Carrier interface {
	Carry(plan batch.Plan)
}

// Recorder is told of each planning pass.
type Recorder interface {
	Planned(took time.Duration, at time.Time, plan batch.Plan, queues map[batch.QueueName]batch.QueueSummary)
}

// View is what the driver publishes after each pass. It is never changed
// afterwards.
type View struct {
	At          time.Time
	Queues      map[batch.QueueName]batch.QueueSummary
	Cohorts     map[batch.CohortName]batch.CohortSummary
	LocalQueues map[batch.LocalQueueName]batch.QueueSummary
}

// Driver runs the core.
type Driver struct {
	clock    clock.WithTicker
	core     *core.Core
	carrier  Carrier
	recorder Recorder
	journal  *Journal // nil: none is kept

	inbox       inbox
	view        atomic.Pointer[View]
	subscribers []chan<- struct{}

	health health
}

// Options are what a Driver needs.
type Options struct {
	Clock    clock.WithTicker
	Carrier  Carrier
	Recorder Recorder
	// Journal records what is seen and decided; nil: nothing does.
	Journal *Journal
}

// New makes a driver with an empty core.
func New(options Options) *Driver {
	return &Driver{
		clock:    options.Clock,
		core:     core.New(),
		carrier:  options.Carrier,
		recorder: options.Recorder,
		journal:  options.Journal,
		inbox:    inbox{signal: make(chan struct{}, 1)},
	}
}

// Observe takes an event, from any goroutine. It never blocks.
func (d *Driver) Observe(event batch.Event) { d.inbox.put(event) }

// View is the last published view; nil before the first plan.
func (d *Driver) View() *View { return d.view.Load() }

// Subscribe makes the driver signal a channel, without waiting for its reader,
// whenever a new view is out. It must be called before Run.
func (d *Driver) Subscribe(signal chan<- struct{}) { d.subscribers = append(d.subscribers, signal) }

// Run folds events and plans until the context ends. The events of the whole
// world as it was found must have been observed before: a plan made from half
// a world would start what does not fit.
func (d *Driver) Run(ctx context.Context) {
	d.health.started(d.clock.Now())
	defer d.health.stopped()
	defer d.lastWords()
	wake := d.clock.NewTimer(0)
	defer wake.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.inbox.signal:
			d.settle(ctx)
		case <-wake.C():
		}
		wake.Stop()
		wake.Reset(d.pass(ctx))
	}
}

// lastWords puts the journal on disk when the core finds that something cannot
// be, and dies all the same: what is wrong in memory is not written on.
func (d *Driver) lastWords() {
	if what := recover(); what != nil {
		d.journal.flush()
		panic(what)
	}
}

// settle lets a burst of events end, within bounds.
func (d *Driver) settle(ctx context.Context) {
	deadline := d.clock.Now().Add(settleMax)
	for d.clock.Now().Before(deadline) {
		pause := d.clock.NewTimer(settle)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-d.inbox.signal:
			pause.Stop()
		case <-pause.C():
			return
		}
	}
}

// pass takes in what has been seen, plans once, and says after how long it
// wants to plan again without an event.
func (d *Driver) pass(ctx context.Context) time.Duration {
	d.journal.begin(d.core)
	events := d.inbox.take()
	for _, event := range events {
		d.core.Step(event)
	}
	began := d.clock.Now()
	// The core's clock ticks in whole seconds, like every time in the API: a
	// promise that is read back after a restart is the one that was made.
	now := began.UTC().Truncate(time.Second)
	plan := d.core.Plan(now)
	took := d.clock.Since(began)
	if !plan.Empty() {
		d.core.Step(batch.PlanIssued{Plan: plan})
		d.carrier.Carry(plan)
	}
	d.journal.record(keep(events, plan))
	d.publish(now)
	ended := d.clock.Now()
	d.recorder.Planned(took, ended, plan, d.view.Load().Queues)
	d.health.planned(ended, plan.Stats.Waiting > 0)
	if !plan.Empty() {
		log.FromContext(ctx).V(1).Info("planned", "took", took, "started", len(plan.Start), "evicted", len(plan.Evict),
			"finished", len(plan.Finish), "waiting", plan.Stats.Waiting, "running", plan.Stats.Running)
	}
	return d.untilNext(plan, ended)
}

func (d *Driver) untilNext(plan batch.Plan, now time.Time) time.Duration {
	next := heartbeat
	if !plan.Wake.IsZero() {
		next = min(next, plan.Wake.Sub(now))
	}
	return max(next, settle)
}

func (d *Driver) publish(now time.Time) {
	queues, cohorts := d.core.Standings()
	d.view.Store(&View{At: now, Queues: queues, Cohorts: cohorts, LocalQueues: d.core.LocalSummaries()})
	for _, subscriber := range d.subscribers {
		select {
		case subscriber <- struct{}{}:
		default: // it has not read the last signal yet, and will see this view with it
		}
	}
}

// Healthy says whether plans are being made: an error if work has been waiting
// for a minute and no plan has ended.
func (d *Driver) Healthy() error { return d.health.check(d.clock.Now()) }

// inbox is the one queue of events. It is bounded by what the API server can
// hold: each object has its events folded as soon as the driver comes by.
type inbox struct {
	mu     sync.Mutex
	events []batch.Event
	signal chan struct{}
}

func (i *inbox) put(event batch.Event) {
	i.mu.Lock()
	i.events = append(i.events, event)
	i.mu.Unlock()
	select {
	case i.signal <- struct{}{}:
	default:
	}
}

func (i *inbox) take() []batch.Event {
	i.mu.Lock()
	defer i.mu.Unlock()
	events := i.events
	i.events = nil
	return events
}

// health is what the liveness probe asks for.
type health struct {
	mu      sync.Mutex
	running bool
	pending bool
	last    time.Time
}

func (h *health) started(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running, h.pending, h.last = true, true, at
}

func (h *health) stopped() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = false
}

func (h *health) planned(at time.Time, pending bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.pending = at, pending
}

func (h *health) check(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running && h.pending && now.Sub(h.last) > hangs {
		return fmt.Errorf("work is pending and no plan has ended since %s", h.last.UTC().Format(time.RFC3339))
	}
	return nil
}
