package clusterqueue

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// idleFor is how long a queue must have been idle before its finalizer goes, so
// that a queue of short jobs is not written twice for each.
const idleFor = time.Minute

// idle remembers since when queues have been seen to run nothing. After a
// restart that counts anew: a finalizer that stays a minute longer does no harm.
type idle struct {
	mu    sync.Mutex
	since map[types.UID]time.Time
}

// long is how much longer a queue must stay idle; 0: it has been for long
// enough.
func (i *idle) long(queue *v1alpha1.ClusterQueue, running int, now time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if running > 0 {
		delete(i.since, queue.UID)
		return idleFor
	}
	since, known := i.since[queue.UID]
	if !known {
		if i.since == nil {
			i.since = map[types.UID]time.Time{}
		}
		i.since[queue.UID], since = now, now
	}
	return max(0, idleFor-now.Sub(since))
}

func (i *idle) forget(uid types.UID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.since, uid)
}

// shortly is when to look again at what others are about to change.
const shortly = time.Second

// keepWhileUsed keeps a queue that is deleted until the last of its work is
// gone. It returns when to look again; 0: when something changes.
func (r *Reconciler) keepWhileUsed(ctx context.Context, queue *v1alpha1.ClusterQueue) (time.Duration, error) {
	view := r.views.View()
	if view == nil {
		return 0, nil // nobody knows yet what runs
	}
	running := view.Queues[batch.QueueName(queue.Name)].Running
	kept := controllerutil.ContainsFinalizer(queue, v1alpha1.InUseFinalizer)
	left := r.idle.long(queue, running, r.Clock.Now())
	switch {
	case queue.DeletionTimestamp != nil && (!kept || running > 0):
		return 0, nil
	case queue.DeletionTimestamp != nil:
		if !view.At.After(queue.DeletionTimestamp.Time) {
			return shortly, nil // something may have started just before
		}
	case kept == (running > 0):
		return 0, nil
	case running == 0 && left > 0:
		return left, nil
	}
	return r.keep(ctx, queue, !kept)
}

// keep adds the finalizer, or takes it away.
func (r *Reconciler) keep(ctx context.Context, queue *v1alpha1.ClusterQueue, add bool) (time.Duration, error) {
	latest := &v1alpha1.ClusterQueue{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(queue), latest); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	after := latest.DeepCopy()
	if add == controllerutil.ContainsFinalizer(latest, v1alpha1.InUseFinalizer) || (add && latest.DeletionTimestamp != nil) {
		return 0, nil
	}
	if add {
		controllerutil.AddFinalizer(after, v1alpha1.InUseFinalizer)
	} else {
		controllerutil.RemoveFinalizer(after, v1alpha1.InUseFinalizer)
		r.idle.forget(queue.UID)
	}
	// Others' finalizers must not be lost by a write on an old list.
	err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(latest, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsConflict(err):
		return shortly, nil // what was read is not the newest yet
	case client.IgnoreNotFound(err) != nil:
		return 0, fmt.Errorf("keep ClusterQueue %s while it is used: %w", queue.Name, err)
	}
	return 0, nil
}
