// Package localqueue writes the status of LocalQueues: the grace that the
// admission policies read, what waits and runs behind the door, and whether
// work sent there can start.
package localqueue

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/controller/published"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/live"
)

// Reconciler is the controller of LocalQueues.
type Reconciler struct {
	Client client.Client
	Clock  clock.Clock
	Driver *live.Driver

	views *published.Source
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.views = published.NewSource(r.Driver, r.Clock, changed)
	if err := mgr.Add(r.views); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("localqueue").
		For(&v1alpha1.LocalQueue{}).
		Watches(&v1alpha1.ClusterQueue{}, handler.EnqueueRequestsFromMapFunc(r.doorsOf)).
		WatchesRawSource(source.Channel(r.views.Events(), &handler.EnqueueRequestForObject{})).
		Complete(r)
}

func changed(before, after *live.View) []client.Object {
	var out []client.Object
	for _, name := range slices.Sorted(maps.Keys(after.LocalQueues)) {
		if old, known := before.LocalQueues[name]; known && reflect.DeepEqual(old, after.LocalQueues[name]) {
			continue
		}
		namespace, local, _ := strings.Cut(string(name), "/")
		out = append(out, &v1alpha1.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: local}})
	}
	return out
}

// doorsOf are the LocalQueues in front of a ClusterQueue.
func (r *Reconciler) doorsOf(ctx context.Context, queue client.Object) []reconcile.Request {
	doors := &v1alpha1.LocalQueueList{}
	if err := r.Client.List(ctx, doors); err != nil {
		return nil // the cache answers; it fails only while shutting down
	}
	var out []reconcile.Request
	for i := range doors.Items {
		if slices.Contains(doors.Items[i].Spec.ClusterQueueNames, queue.GetName()) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&doors.Items[i])})
		}
	}
	return out
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	door := &v1alpha1.LocalQueue{}
	if err := r.Client.Get(ctx, request.NamespacedName, door); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	after := door.DeepCopy()
	if view := r.views.View(); view != nil {
		summary := view.LocalQueues[batch.LocalQueueName(door.Namespace+"/"+door.Name)]
		after.Status.Pending, after.Status.Running = new(int32(summary.Pending)), new(int32(summary.Running))
	}
	if err := r.behind(ctx, after); err != nil {
		return ctrl.Result{}, err
	}
	if equality.Semantic.DeepEqual(door.Status, after.Status) {
		return ctrl.Result{}, nil
	}
	err := r.Client.Status().Patch(ctx, after, client.MergeFrom(door))
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("write status of LocalQueue %s/%s: %w", door.Namespace, door.Name, err)
	}
	return ctrl.Result{}, nil
}

// behind fills in what the ClusterQueues behind the door decide.
func (r *Reconciler) behind(ctx context.Context, door *v1alpha1.LocalQueue) error {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue, Reason: "Up",
		Message: "work can start", ObservedGeneration: door.Generation, LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	}
	stop := func(reason, message string) {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason, message
	}
	var longest time.Duration
	for _, name := range door.Spec.ClusterQueueNames {
		queue := &v1alpha1.ClusterQueue{}
		err := r.Client.Get(ctx, types.NamespacedName{Name: name}, queue)
		if apierrors.IsNotFound(err) {
			stop("QueueNotFound", fmt.Sprintf("ClusterQueue %s does not exist; work waits until somebody makes it", name))
			continue
		}
		if err != nil {
			return fmt.Errorf("read ClusterQueue %s: %w", name, err)
		}
		grace, err := convert.Grace(queue)
		if err != nil {
			stop("InvalidSpec", fmt.Sprintf("ClusterQueue %s: %v", name, err))
			continue
		}
		longest = max(longest, grace)
		if active := meta.FindStatusCondition(queue.Status.Conditions, v1alpha1.ConditionActive); active != nil && active.Status == metav1.ConditionFalse {
			stop(active.Reason, fmt.Sprintf("ClusterQueue %s: %s", name, active.Message))
		}
	}
	if door.Spec.Hold == v1alpha1.HoldAll {
		stop("Held", "spec.hold is Hold: nothing new starts")
	}
	door.Status.GraceSeconds = nil
	if longest > 0 {
		door.Status.GraceSeconds = new(int64(longest / time.Second))
	}
	meta.SetStatusCondition(&door.Status.Conditions, condition)
	return nil
}
