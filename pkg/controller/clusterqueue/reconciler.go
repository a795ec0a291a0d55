// Package clusterqueue writes the status of ClusterQueues: what waits, what
// runs, what is used, and whether work sent there can start.
package clusterqueue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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

// Reconciler is the controller of ClusterQueues.
type Reconciler struct {
	Client client.Client
	Clock  clock.Clock
	Driver *live.Driver

	views *published.Source
	idle  idle
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.views = published.NewSource(r.Driver, r.Clock, changed)
	if err := mgr.Add(r.views); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("clusterqueue").
		For(&v1alpha1.ClusterQueue{}).
		Watches(&v1alpha1.ResourceFlavor{}, handler.EnqueueRequestsFromMapFunc(r.all)).
		Watches(&v1alpha1.Cohort{}, handler.EnqueueRequestsFromMapFunc(r.all)).
		WatchesRawSource(source.Channel(r.views.Events(), &handler.EnqueueRequestForObject{})).
		Complete(r)
}

// changed lists the queues whose numbers differ.
func changed(before, after *live.View) []client.Object {
	return published.Differing(before.Queues, after.Queues, func(name batch.QueueName) client.Object {
		return &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: string(name)}}
	})
}

// all are the queues that a flavor or a cohort may concern.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	queues := &v1alpha1.ClusterQueueList{}
	if err := r.Client.List(ctx, queues); err != nil {
		return nil // the cache answers; it fails only while shutting down
	}
	var out []reconcile.Request
	for i := range queues.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&queues.Items[i])})
	}
	return out
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	queue := &v1alpha1.ClusterQueue{}
	if err := r.Client.Get(ctx, request.NamespacedName, queue); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	missing, err := r.missingFlavors(ctx, queue)
	if err != nil {
		return ctrl.Result{}, err
	}
	is := standing{missing: missing}
	if is.noCohort, err = r.missingCohort(ctx, queue); err != nil {
		return ctrl.Result{}, err
	}
	after := queue.DeepCopy()
	if view := r.views.View(); view != nil {
		is.summary = view.Queues[batch.QueueName(queue.Name)]
		count(&after.Status, is.summary, queue.Spec.CohortName != "")
	}
	setActive(after, is, r.Clock.Now())
	if !equality.Semantic.DeepEqual(queue.Status, after.Status) {
		err = r.Client.Status().Patch(ctx, after, client.MergeFrom(queue))
		if client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("write status of ClusterQueue %s: %w", queue.Name, err)
		}
	}
	again, err := r.keepWhileUsed(ctx, queue)
	return ctrl.Result{RequeueAfter: again}, err
}

func (r *Reconciler) missingFlavors(ctx context.Context, queue *v1alpha1.ClusterQueue) ([]string, error) {
	var missing []string
	for _, flavor := range queue.Spec.Flavors {
		err := r.Client.Get(ctx, types.NamespacedName{Name: flavor.Name}, &v1alpha1.ResourceFlavor{})
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, flavor.Name)
		case err != nil:
			return nil, fmt.Errorf("read ResourceFlavor %s: %w", flavor.Name, err)
		}
	}
	return missing, nil
}

// missingCohort says whether the queue's cohort does not exist.
func (r *Reconciler) missingCohort(ctx context.Context, queue *v1alpha1.ClusterQueue) (bool, error) {
	name := queue.Spec.CohortName
	if name == "" {
		return false, nil
	}
	err := r.Client.Get(ctx, types.NamespacedName{Name: name}, &v1alpha1.Cohort{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("read Cohort %s: %w", name, err)
	}
	return false, nil
}

// noFlavor stands for the flavor of a queue that has none.
const noFlavor = "-"

func count(status *v1alpha1.ClusterQueueStatus, summary batch.QueueSummary, inCohort bool) {
	status.Pending = new(int32(summary.Pending))
	status.Running = new(int32(summary.Running))
	status.PlannedNext = nil
	if !summary.PlannedNext.IsZero() {
		at := metav1.NewTime(summary.PlannedNext)
		status.PlannedNext = &at
	}
	status.Usage = convert.Usage(summary.Quotas, inCohort)
	bounded := map[batch.FlavorName]batch.Resources{}
	for _, s := range summary.Quotas {
		bounded[s.Flavor] = bounded[s.Flavor].Plus(batch.Resources{s.Resource: 1})
	}
	for _, flavor := range slices.Sorted(maps.Keys(summary.Used)) {
		used := summary.Used[flavor]
		for _, resource := range used.Names() {
			if used[resource] == 0 || bounded[flavor][resource] > 0 {
				continue
			}
			status.Usage = append(status.Usage, v1alpha1.QueueUsage{
				Flavor:   cmp.Or(string(flavor), noFlavor),
				Resource: string(resource),
				Used:     convert.Quantity(resource, used[resource]),
			})
		}
	}
	status.Lingering = convert.Lingering(summary.Lingering)
	slices.SortFunc(status.Usage, func(a, b v1alpha1.QueueUsage) int {
		return cmp.Or(cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Resource, b.Resource))
	})
	status.GPUs = convert.GPUs(status.Usage)
}

// standing is what the condition of a queue is made of.
type standing struct {
	missing  []string // flavors that do not exist
	noCohort bool     // its cohort does not exist
	summary  batch.QueueSummary
}

// setActive says whether work sent to the queue can start, and if not, why.
func setActive(queue *v1alpha1.ClusterQueue, is standing, now time.Time) {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue, Reason: "Up",
		Message: "work can start", ObservedGeneration: queue.Generation,
	}
	stop := func(reason, message string) {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason, message
	}
	switch state, missing := queue.Spec.State, is.missing; {
	case queue.DeletionTimestamp != nil:
		stop("Terminating", fmt.Sprintf("the queue is being deleted; nothing new starts; %d still run and %d still wait here", is.summary.Running, is.summary.Pending))
	case state == v1alpha1.QueueDown:
		stop("Down", "spec.state is Down: work is accepted and none starts")
	case state == v1alpha1.QueueInactive:
		stop("Inactive", "spec.state is Inactive: no new work is accepted and none starts")
	case state == v1alpha1.QueueDrain:
		stop("Drain", "spec.state is Drain: no new work is accepted; what was queued before still starts")
	case len(is.summary.Circle) > 0:
		stop("CohortCircle", convert.CircleMessage(is.summary.Circle)+"; nothing starts until one of them has another spec.parentName")
	case len(missing) > 0 && len(missing) == len(queue.Spec.Flavors):
		stop("FlavorNotFound", "no ResourceFlavor of this queue exists: "+strings.Join(missing, ", "))
	case len(missing) > 0:
		condition.Message = "work can start, but these ResourceFlavors do not exist: " + strings.Join(missing, ", ")
	}
	if condition.Status == metav1.ConditionTrue {
		condition.Message += notes(queue, is)
	}
	// The time of the last change of state, not only of True and False: work
	// that was queued before a drain began is still started.
	if old := meta.FindStatusCondition(queue.Status.Conditions, v1alpha1.ConditionActive); old == nil || old.Reason != condition.Reason {
		meta.RemoveStatusCondition(&queue.Status.Conditions, v1alpha1.ConditionActive)
		condition.LastTransitionTime = metav1.NewTime(now)
	}
	meta.SetStatusCondition(&queue.Status.Conditions, condition)
}

// notes are what an admin should know of a queue whose work can start.
func notes(queue *v1alpha1.ClusterQueue, is standing) string {
	text := ""
	if is.noCohort {
		text = fmt.Sprintf("; Cohort %s does not exist, so that nothing is borrowed or lent", queue.Spec.CohortName)
	}
	return text + convert.Overcommitted(is.summary.Quotas)
}
