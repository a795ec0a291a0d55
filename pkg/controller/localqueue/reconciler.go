// Package localqueue writes the status of LocalQueues: the grace that the
// admission policies read, what waits and runs behind the door, and whether
// work sent there can start.
package localqueue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/controller/published"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/explain"
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
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.doorsIn), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Watches(&v1alpha1.Account{}, handler.EnqueueRequestsFromMapFunc(r.chargedTo)).
		WatchesRawSource(source.Channel(r.views.Events(), &handler.EnqueueRequestForObject{})).
		Complete(r)
}

func changed(before, after *live.View) []client.Object {
	return published.Differing(before.LocalQueues, after.LocalQueues, func(name batch.LocalQueueName) client.Object {
		namespace, local, _ := strings.Cut(string(name), "/")
		return &v1alpha1.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: local}}
	})
}

// doorsOf are the LocalQueues in front of a ClusterQueue.
func (r *Reconciler) doorsOf(ctx context.Context, queue client.Object) []reconcile.Request {
	return r.those(ctx, func(spec *v1alpha1.LocalQueueSpec) bool {
		return slices.Contains(spec.ClusterQueueNames, queue.GetName())
	})
}

// chargedTo are the LocalQueues whose work is charged to an Account.
func (r *Reconciler) chargedTo(ctx context.Context, account client.Object) []reconcile.Request {
	return r.those(ctx, func(spec *v1alpha1.LocalQueueSpec) bool { return spec.AccountName == account.GetName() })
}

func (r *Reconciler) those(ctx context.Context, wanted func(*v1alpha1.LocalQueueSpec) bool) []reconcile.Request {
	doors := &v1alpha1.LocalQueueList{}
	if err := r.Client.List(ctx, doors); err != nil {
		return nil // the cache answers; it fails only while shutting down
	}
	var out []reconcile.Request
	for i := range doors.Items {
		if wanted(&doors.Items[i].Spec) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&doors.Items[i])})
		}
	}
	return out
}

// doorsIn are the LocalQueues of a namespace, whose labels queues may ask for.
func (r *Reconciler) doorsIn(ctx context.Context, namespace client.Object) []reconcile.Request {
	doors := &v1alpha1.LocalQueueList{}
	if err := r.Client.List(ctx, doors, client.InNamespace(namespace.GetName())); err != nil {
		return nil // the cache answers; it fails only while shutting down
	}
	var out []reconcile.Request
	for i := range doors.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&doors.Items[i])})
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

// behind fills in what the ClusterQueues behind the door decide: work can start
// as long as one of them takes it.
func (r *Reconciler) behind(ctx context.Context, door *v1alpha1.LocalQueue) error {
	namespace := &corev1.Namespace{}
	if err := r.Client.Get(ctx, types.NamespacedName{Name: door.Namespace}, namespace); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read namespace %s: %w", door.Namespace, err)
	}
	var shut []obstacle
	var longest time.Duration
	for _, name := range door.Spec.ClusterQueueNames {
		queue := &v1alpha1.ClusterQueue{}
		err := r.Client.Get(ctx, types.NamespacedName{Name: name}, queue)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read ClusterQueue %s: %w", name, err)
		}
		if apierrors.IsNotFound(err) {
			shut = append(shut, obstacle{"QueueNotFound", fmt.Sprintf("ClusterQueue %s does not exist; work waits until somebody makes it", name)})
			continue
		}
		grace, err := convert.Grace(queue)
		if is := obstacleOf(queue, namespace, err); is.reason != "" {
			shut = append(shut, is)
		}
		longest = max(longest, grace)
	}
	door.Status.GraceSeconds, door.Status.Grace = nil, ""
	uncharged, err := r.uncharged(ctx, door)
	if err != nil {
		return err
	}
	if longest > 0 {
		door.Status.GraceSeconds = new(int64(longest / time.Second))
		door.Status.Grace = batch.FormatDuration(longest)
	}
	meta.SetStatusCondition(&door.Status.Conditions, active(door, shut, uncharged, r.Clock.Now()))
	return nil
}

// obstacle is why work can't start in one of the ClusterQueues.
type obstacle struct{ reason, message string }

// obstacleOf is why work of a namespace can't start in a queue; the zero value:
// it can. The error is that of reading the queue's grace.
func obstacleOf(queue *v1alpha1.ClusterQueue, namespace *corev1.Namespace, err error) obstacle {
	if err != nil {
		return obstacle{"InvalidSpec", fmt.Sprintf("ClusterQueue %s: %v", queue.Name, err)}
	}
	if selector := convert.Access(queue); selector != nil && !selector.Matches(namespace.Labels) {
		return obstacle{string(batch.ReasonAccessDenied), explain.Refused(namespace.Name, batch.QueueName(queue.Name), selector.String())}
	}
	is := meta.FindStatusCondition(queue.Status.Conditions, v1alpha1.ConditionActive)
	if is != nil && is.Status == metav1.ConditionFalse {
		return obstacle{is.Reason, fmt.Sprintf("ClusterQueue %s: %s", queue.Name, is.Message)}
	}
	return obstacle{}
}

// uncharged is why work that names no account can't be charged to the door's.
func (r *Reconciler) uncharged(ctx context.Context, door *v1alpha1.LocalQueue) (obstacle, error) {
	name := door.Spec.AccountName
	if name == "" {
		return obstacle{}, nil
	}
	err := r.Client.Get(ctx, types.NamespacedName{Name: name}, &v1alpha1.Account{})
	if apierrors.IsNotFound(err) {
		return obstacle{"AccountNotFound", fmt.Sprintf("Account %s does not exist; work that names no other waits until somebody makes it", name)}, nil
	}
	if err != nil {
		return obstacle{}, fmt.Errorf("read Account %s: %w", name, err)
	}
	return obstacle{}, nil
}

// active says whether work that is sent to the door can start.
func active(door *v1alpha1.LocalQueue, shut []obstacle, uncharged obstacle, now time.Time) metav1.Condition {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue, Reason: "Up",
		Message: "work can start", ObservedGeneration: door.Generation, LastTransitionTime: metav1.NewTime(now),
	}
	var messages []string
	for _, is := range shut {
		messages = append(messages, is.message)
	}
	why := strings.Join(messages, "; ")
	switch {
	case door.Spec.Hold == v1alpha1.HoldAll:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "Held", "spec.hold is Hold: nothing new starts"
	case uncharged.reason != "":
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, uncharged.reason, uncharged.message
	case len(shut) > 0 && len(shut) == len(door.Spec.ClusterQueueNames):
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, shut[0].reason, why
	case len(shut) > 0:
		condition.Message = "work can start, but not everywhere: " + why
	}
	return condition
}
