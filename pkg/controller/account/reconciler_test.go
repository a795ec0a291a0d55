package account

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

func account(name, parent string) *v1alpha1.Account {
	return &v1alpha1.Account{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.AccountSpec{ParentName: parent}}
}

func newReconciler(t *testing.T, accounts ...client.Object) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return &Reconciler{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(accounts...).WithStatusSubresource(&v1alpha1.Account{}).Build(),
		Clock:  clocktesting.NewFakeClock(time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)),
	}
}

// answers goes over all accounts and says what each answers.
func answers(t *testing.T, r *Reconciler) map[string]string {
	t.Helper()
	said := map[string]string{}
	list := &v1alpha1.AccountList{}
	if err := r.Client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		key := client.ObjectKeyFromObject(&list.Items[i])
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		is := &v1alpha1.Account{}
		if err := r.Client.Get(t.Context(), key, is); err != nil {
			t.Fatal(err)
		}
		active := meta.FindStatusCondition(is.Status.Conditions, v1alpha1.ConditionActive)
		said[key.Name] = string(active.Status) + " " + active.Reason
		if active.Status == metav1.ConditionTrue && !strings.Contains(active.Message, "shares have no effect") {
			t.Errorf("%s does not say that shares have no effect: %s", key.Name, active.Message)
		}
	}
	return said
}

// others are the names of the accounts that are looked at because of another.
func others(t *testing.T, r *Reconciler, name string) []string {
	t.Helper()
	var out []string
	for _, request := range r.others(t.Context(), account(name, "")) {
		out = append(out, request.Name)
	}
	slices.Sort(out)
	return out
}

// A circle that is made, and broken, changes what all accounts in it and below
// say, and no others.
func TestACircleIsToldAndForgotten(t *testing.T) {
	t.Parallel()
	r := newReconciler(t, account("a", "b"), account("b", ""), account("below", "a"), account("alone", "gone"))
	fine := map[string]string{"a": "True Active", "b": "True Active", "below": "True Active", "alone": "True ParentNotFound"}
	if diff := cmp.Diff(fine, answers(t, r)); diff != "" {
		t.Errorf("a tree (-want +got):\n%s", diff)
	}
	edit := func(parent string) {
		b := &v1alpha1.Account{}
		if err := r.Client.Get(t.Context(), client.ObjectKey{Name: "b"}, b); err != nil {
			t.Fatal(err)
		}
		b.Spec.ParentName = parent
		if err := r.Client.Update(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	edit("a")
	if diff := cmp.Diff([]string{"a", "b", "below"}, others(t, r, "b")); diff != "" {
		t.Errorf("looked at because a circle was made (-want +got):\n%s", diff)
	}
	circle := map[string]string{"a": "False AccountCircle", "b": "False AccountCircle", "below": "False AccountCircle", "alone": "True ParentNotFound"}
	if diff := cmp.Diff(circle, answers(t, r)); diff != "" {
		t.Errorf("a circle (-want +got):\n%s", diff)
	}
	edit("")
	if diff := cmp.Diff([]string{"a", "b", "below"}, others(t, r, "b")); diff != "" {
		t.Errorf("looked at because a circle was broken (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(fine, answers(t, r)); diff != "" {
		t.Errorf("a tree again (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"alone"}, others(t, r, "gone")); diff != "" {
		t.Errorf("looked at because a parent came (-want +got):\n%s", diff)
	}
}
