package localqueue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestADoorIsActiveWhereWorkCanStart: in one of its queues at least, also for
// what the queue thinks of the namespace.
func TestADoorIsActiveWhereWorkCanStart(t *testing.T) {
	t.Parallel()
	queue := func(name string, edit func(*v1alpha1.ClusterQueue)) *v1alpha1.ClusterQueue {
		q := &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}}
		edit(q)
		return q
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lab", Labels: map[string]string{"team": "a"}}},
		&v1alpha1.Account{ObjectMeta: metav1.ObjectMeta{Name: "found"}},
		queue("open", func(q *v1alpha1.ClusterQueue) { q.Spec.Preemption = &v1alpha1.QueuePreemption{Grace: "2m"} }),
		queue("others", func(q *v1alpha1.ClusterQueue) {
			q.Spec.Access = &v1alpha1.QueueAccess{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}}
		}),
		queue("ours", func(q *v1alpha1.ClusterQueue) {
			q.Spec.Access = &v1alpha1.QueueAccess{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}
		}),
		queue("down", func(q *v1alpha1.ClusterQueue) {
			q.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionFalse, Reason: "Down", Message: "none starts"}}
		}),
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	const refused = "namespace lab may not use ClusterQueue others, which takes namespaces with the labels team=b (access.namespaceSelector)"
	type answer struct {
		Status          metav1.ConditionStatus
		Reason, Message string
		Grace           string
	}
	r := &Reconciler{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
		Clock:  clocktesting.NewFakeClock(time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)),
	}
	for _, c := range []struct {
		name    string
		queues  []string
		hold    v1alpha1.HoldPolicy
		want    answer
		account string
	}{
		{"let in", []string{"ours"}, "", answer{metav1.ConditionTrue, "Up", "work can start", ""}, ""},
		{"refused", []string{"others"}, "", answer{metav1.ConditionFalse, "AccessDenied", refused, ""}, ""},
		{"refused by one of two", []string{"others", "open"}, "", answer{metav1.ConditionTrue, "Up", "work can start, but not everywhere: " + refused, "2m"}, ""},
		{"shut and refused", []string{"down", "others"}, "", answer{metav1.ConditionFalse, "Down", "ClusterQueue down: none starts; " + refused, ""}, ""},
		{"nowhere", []string{"nobody"}, "", answer{metav1.ConditionFalse, "QueueNotFound", "ClusterQueue nobody does not exist; work waits until somebody makes it", ""}, ""},
		{"held", []string{"open"}, v1alpha1.HoldAll, answer{metav1.ConditionFalse, "Held", "spec.hold is Hold: nothing new starts", "2m"}, ""},
		{"charged to nobody that exists", []string{"open"}, "", answer{metav1.ConditionFalse, "AccountNotFound", "Account lost does not exist; work that names no other waits until somebody makes it", "2m"}, "lost"},
		{"charged to an account", []string{"open"}, "", answer{metav1.ConditionTrue, "Up", "work can start", "2m"}, "found"},
	} {
		door := &v1alpha1.LocalQueue{
			ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "door"},
			Spec:       v1alpha1.LocalQueueSpec{ClusterQueueNames: c.queues, Hold: c.hold, AccountName: c.account},
		}
		if err := r.behind(t.Context(), door); err != nil {
			t.Fatal(err)
		}
		is := meta.FindStatusCondition(door.Status.Conditions, v1alpha1.ConditionActive)
		if diff := cmp.Diff(c.want, answer{is.Status, is.Reason, is.Message, door.Status.Grace}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
