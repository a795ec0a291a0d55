// Package cohort writes the status of Cohorts: what their members use, borrow
// and lend together, and whether they share quota at all.
package cohort

import (
	"context"
	"fmt"
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

// Reconciler is the controller of Cohorts.
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
		Named("cohort").
		For(&v1alpha1.Cohort{}).
		Watches(&v1alpha1.Cohort{}, handler.EnqueueRequestsFromMapFunc(r.below)).
		WatchesRawSource(source.Channel(r.views.Events(), &handler.EnqueueRequestForObject{})).
		Complete(r)
}

// changed lists the cohorts that stand otherwise than before.
func changed(before, after *live.View) []client.Object {
	return published.Differing(before.Cohorts, after.Cohorts, func(name batch.CohortName) client.Object {
		return &v1alpha1.Cohort{ObjectMeta: metav1.ObjectMeta{Name: string(name)}}
	})
}

// below are the members of a cohort that came or went: their conditions say
// whether it exists.
func (r *Reconciler) below(ctx context.Context, parent client.Object) []reconcile.Request {
	cohorts := &v1alpha1.CohortList{}
	if err := r.Client.List(ctx, cohorts); err != nil {
		return nil // the cache answers; it fails only while shutting down
	}
	var out []reconcile.Request
	for i := range cohorts.Items {
		if cohorts.Items[i].Spec.ParentName == parent.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&cohorts.Items[i])})
		}
	}
	return out
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cohort := &v1alpha1.Cohort{}
	if err := r.Client.Get(ctx, request.NamespacedName, cohort); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	orphan, err := r.orphan(ctx, cohort)
	if err != nil {
		return ctrl.Result{}, err
	}
	var summary batch.CohortSummary
	after := cohort.DeepCopy()
	if view := r.views.View(); view != nil {
		summary = view.Cohorts[batch.CohortName(cohort.Name)]
		after.Status.Usage = convert.Usage(summary.Quotas, cohort.Spec.ParentName != "")
		after.Status.GPUs = convert.GPUs(after.Status.Usage)
	}
	setActive(after, summary, orphan, r.Clock.Now())
	if equality.Semantic.DeepEqual(cohort.Status, after.Status) {
		return ctrl.Result{}, nil
	}
	err = r.Client.Status().Patch(ctx, after, client.MergeFrom(cohort))
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("write status of Cohort %s: %w", cohort.Name, err)
	}
	return ctrl.Result{}, nil
}

// parentage says whether a cohort's parent exists.
type parentage string

const (
	complete      parentage = ""
	parentMissing parentage = "ParentNotFound"
)

func (r *Reconciler) orphan(ctx context.Context, cohort *v1alpha1.Cohort) (parentage, error) {
	name := cohort.Spec.ParentName
	if name == "" {
		return complete, nil
	}
	err := r.Client.Get(ctx, types.NamespacedName{Name: name}, &v1alpha1.Cohort{})
	switch {
	case apierrors.IsNotFound(err):
		return parentMissing, nil
	case err != nil:
		return complete, fmt.Errorf("read Cohort %s: %w", name, err)
	}
	return complete, nil
}

// setActive says whether the members share quota, and if not, why.
func setActive(cohort *v1alpha1.Cohort, summary batch.CohortSummary, orphan parentage, now time.Time) {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue, Reason: "Active",
		Message:            "its members lend each other what they leave idle" + convert.Overcommitted(summary.Quotas),
		ObservedGeneration: cohort.Generation, LastTransitionTime: metav1.NewTime(now),
	}
	switch {
	case len(summary.Circle) > 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, "CohortCircle"
		condition.Message = convert.CircleMessage(summary.Circle) + "; its queues start nothing until one of them has another spec.parentName"
	case orphan == parentMissing:
		condition.Reason = string(parentMissing)
		condition.Message = fmt.Sprintf("Cohort %s does not exist: the members share with each other, and with nobody above%s",
			cohort.Spec.ParentName, convert.Overcommitted(summary.Quotas))
	}
	meta.SetStatusCondition(&cohort.Status.Conditions, condition)
}
