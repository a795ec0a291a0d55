// Package account writes the status of Accounts: whether work may be charged to
// them, and what of their spec has no effect yet.
package account

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// Reconciler is the controller of Accounts.
type Reconciler struct {
	Client client.Client
	Clock  clock.Clock
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("account").
		For(&v1alpha1.Account{}).
		Watches(&v1alpha1.Account{}, handler.EnqueueRequestsFromMapFunc(r.others)).
		Complete(r)
}

// others are the accounts whose condition may change with one that came, went or
// has another parent: those right below it, and all that are in a circle, or say
// so still.
func (r *Reconciler) others(ctx context.Context, changed client.Object) []reconcile.Request {
	list, all, err := r.all(ctx)
	if err != nil {
		return nil // the cache answers; it fails only while shutting down
	}
	var out []reconcile.Request
	for i := range list.Items {
		account := &list.Items[i]
		_, circle := all.Line(batch.AccountName(account.Name))
		active := meta.FindStatusCondition(account.Status.Conditions, v1alpha1.ConditionActive)
		said := active != nil && active.Status == metav1.ConditionFalse
		if account.Spec.ParentName == changed.GetName() || circle || said {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(account)})
		}
	}
	return out
}

func (r *Reconciler) all(ctx context.Context) (*v1alpha1.AccountList, batch.Accounts, error) {
	list := &v1alpha1.AccountList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil, nil, fmt.Errorf("list Accounts: %w", err)
	}
	all := batch.Accounts{}
	for i := range list.Items {
		account := convert.Account(&list.Items[i])
		all[account.Name] = &account
	}
	return list, all, nil
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	account := &v1alpha1.Account{}
	if err := r.Client.Get(ctx, request.NamespacedName, account); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	_, all, err := r.all(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	after := account.DeepCopy()
	condition := convert.AccountActive(account, all)
	condition.LastTransitionTime = metav1.NewTime(r.Clock.Now())
	meta.SetStatusCondition(&after.Status.Conditions, condition)
	if equality.Semantic.DeepEqual(account.Status, after.Status) {
		return ctrl.Result{}, nil
	}
	if err := r.Client.Status().Patch(ctx, after, client.MergeFrom(account)); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("write status of Account %s: %w", account.Name, err)
	}
	return ctrl.Result{}, nil
}
