package apply

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/metrics"
)

// workers is how many status writes are under way at a time: enough to hide
// the latency of the API server, too few to crowd out the pods' patches.
const workers = 16

// Applier carries out plans.
type Applier struct {
	client  client.Client // reads from the cache
	reader  client.Reader // reads from the API server
	herald  *herald
	metrics *metrics.Set
	observe func(batch.Event)

	queue workqueue.TypedRateLimitingInterface[batch.WorkloadID]

	mu      sync.Mutex
	pending map[batch.WorkloadID][]decision
	victims victims
	// written is the last version that this process wrote, kept until the
	// cache has caught up: a decision is never computed from an older one.
	written map[batch.WorkloadID]*v1alpha1.QueuedWorkload
}

// Options are what an Applier needs.
type Options struct {
	Client  client.Client
	Reader  client.Reader
	Clock   clock.PassiveClock
	Metrics *metrics.Set
	// Observe takes the outcomes that the core must hear of.
	Observe func(batch.Event)
}

// New makes an Applier; Run must be called for it to write.
func New(options Options) *Applier {
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[batch.WorkloadID](50*time.Millisecond, 30*time.Second)
	return &Applier{
		client:  options.Client,
		reader:  options.Reader,
		herald:  newHerald(options.Client, options.Clock, options.Metrics),
		metrics: options.Metrics,
		observe: options.Observe,
		queue:   workqueue.NewTypedRateLimitingQueue(backoff),
		pending: map[batch.WorkloadID][]decision{},
		written: map[batch.WorkloadID]*v1alpha1.QueuedWorkload{},
	}
}

// Carry takes a plan to be carried out.
func (a *Applier) Carry(plan batch.Plan) {
	byWorkload := decisions(plan)
	a.mu.Lock()
	a.victims.hold(plan)
	for id, list := range byWorkload { //order:any workloads are independent of each other
		a.pending[id] = append(a.pending[id], list...)
	}
	a.mu.Unlock()
	// Starts first: what runs sooner matters more than why others wait.
	for _, start := range plan.Start {
		a.queue.Add(start.ID)
	}
	for id := range byWorkload { //order:any the queue serves all
		a.queue.Add(id)
	}
}

// Run writes until the context ends, then waits for the writes under way.
func (a *Applier) Run(ctx context.Context) {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for a.next(ctx) {
			}
		})
	}
	for range heralds {
		group.Go(func() { a.herald.run(ctx) })
	}
	<-ctx.Done()
	a.queue.ShutDown()
	group.Wait()
}

func (a *Applier) next(ctx context.Context) bool {
	id, stop := a.queue.Get()
	if stop {
		return false
	}
	defer a.queue.Done(id)
	if ctx.Err() != nil {
		return false
	}
	list := a.take(id)
	if len(list) == 0 {
		a.queue.Forget(id)
		return true
	}
	err := a.write(ctx, id, list)
	if err == nil {
		a.queue.Forget(id)
		a.release(id, list)
		return true
	}
	log.FromContext(ctx).Error(err, "a decision could not be written; trying again", "workload", id)
	a.mu.Lock()
	a.pending[id] = append(list, a.pending[id]...) // their order is kept
	a.mu.Unlock()
	a.queue.AddRateLimited(id)
	return true
}

func (a *Applier) take(id batch.WorkloadID) []decision {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.victims.held(id) {
		return nil // it comes again with its preemptor's nomination
	}
	list := a.pending[id]
	delete(a.pending, id)
	return list
}

// release lets the victims of a preemptor have their notices, now that its
// nomination is on record, or it is gone.
func (a *Applier) release(preemptor batch.WorkloadID, written []decision) {
	if !slices.ContainsFunc(written, func(d decision) bool { return d.nominate != nil }) {
		return
	}
	a.mu.Lock()
	freed := a.victims.release(preemptor)
	a.mu.Unlock()
	for _, id := range freed {
		a.queue.Add(id)
	}
}

// write computes the status after the decisions and writes it. Nil means that
// there is nothing left to do, be it that the workload is gone.
func (a *Applier) write(ctx context.Context, id batch.WorkloadID, list []decision) error {
	base, err := a.newest(ctx, id)
	if apierrors.IsNotFound(err) {
		a.gone(id, list)
		return nil
	}
	if err != nil {
		return err
	}
	err = a.patch(ctx, base, list)
	if apierrors.IsConflict(err) {
		// The owner's controller has changed the spec, or we were never the
		// only one: look at the server's version and decide again.
		base = &v1alpha1.QueuedWorkload{}
		if err = a.reader.Get(ctx, convert.SplitID(id), base); err == nil {
			err = a.patch(ctx, base, list)
		}
	}
	if apierrors.IsNotFound(err) {
		a.gone(id, list)
		return nil
	}
	return err
}

// newest is the newest version known: from the cache, or our own last write
// if the cache has not seen it yet.
func (a *Applier) newest(ctx context.Context, id batch.WorkloadID) (*v1alpha1.QueuedWorkload, error) {
	cached := &v1alpha1.QueuedWorkload{}
	err := a.client.Get(ctx, convert.SplitID(id), cached)
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.written[id]
	if own == nil {
		return cached, err
	}
	if apierrors.IsNotFound(err) || (err == nil && own.UID != cached.UID) || (err == nil && !older(cached, own)) {
		delete(a.written, id)
		return cached, err
	}
	return own, nil
}

func (a *Applier) patch(ctx context.Context, base *v1alpha1.QueuedWorkload, list []decision) error {
	id := convert.WorkloadID(base.Namespace, base.Name)
	after := base.DeepCopy()
	for i, d := range list {
		if refusal := d.refused(after); refusal != "" {
			// Only a start can be refused: the world is not what it was
			// decided from. What follows from it is void too; what was decided
			// before it, such as that the last run is over, still holds.
			a.observe(batch.AdmitFailed{ID: id, Run: d.start.Run, Err: refusal})
			list = list[:i]
			break
		}
		d.record(after)
	}
	if len(list) == 0 {
		return nil
	}
	if equality.Semantic.DeepEqual(base.Status, after.Status) {
		return nil // it is what stands there already: after a restart answers are given anew
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := a.client.Status().Patch(ctx, after, patch); err != nil {
		a.metrics.Wrote("queuedworkload", metrics.ResultFailed)
		return fmt.Errorf("write status of %s: %w", id, err)
	}
	a.metrics.Wrote("queuedworkload", metrics.ResultOK)
	a.mu.Lock()
	a.written[id] = after
	if convert.Finished(after) {
		delete(a.written, id)
	}
	a.mu.Unlock()
	for _, d := range list {
		a.tell(ctx, base, after, d)
	}
	return nil
}

// gone drops what is known of a workload that no longer exists. The core hears
// of it by the informer; only a start that was assumed must be undone here.
func (a *Applier) gone(id batch.WorkloadID, list []decision) {
	a.mu.Lock()
	delete(a.written, id)
	a.mu.Unlock()
	for _, d := range list {
		if d.start != nil {
			a.observe(batch.AdmitFailed{ID: id, Run: d.start.Run, Err: "the workload no longer exists"})
		}
	}
}
