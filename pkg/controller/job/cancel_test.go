package job

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestACancelledArrayEndsMemberByMember: those that wait and those that run are
// told, once; what runs leaves the Job, which is suspended.
func TestACancelledArrayEndsMemberByMember(t *testing.T) {
	t.Parallel()
	sweep := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "lab", Name: "sweep", UID: "u-1", Labels: map[string]string{v1alpha1.QueueLabel: "gpu"},
			Annotations: map[string]string{v1alpha1.ArrayAnnotation: "true", v1alpha1.CancelAnnotation: "2m", v1alpha1.RestoreAnnotation: `{"run":0}`},
		},
		Spec: batchv1.JobSpec{Suspend: new(false), Completions: new(int32(9)), Parallelism: new(int32(3))},
	}
	member := func(name string, gated bool, phase corev1.PodPhase) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "lab", Name: name, UID: "p-" + sweep.UID, Labels: map[string]string{batchv1.ControllerUidLabel: "u-1"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(sweep, batchv1.SchemeGroupVersion.WithKind("Job"))},
		}, Status: corev1.PodStatus{Phase: phase}}
		if gated {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.PlacementGate}}
		}
		return pod
	}
	runs := member("sweep-0", false, corev1.PodRunning)
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(
		sweep, runs, member("sweep-1", true, corev1.PodPending), member("sweep-2", false, corev1.PodSucceeded)).Build()
	r := &Reconciler{Client: c, Reader: c, Metrics: measures}
	look := func(want ctrl.Result, suspended bool) {
		t.Helper()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(sweep), sweep); err != nil {
			t.Fatal(err)
		}
		got, err := r.array(t.Context(), sweep)
		if err != nil || got != want {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(sweep), sweep); err != nil {
			t.Fatal(err)
		}
		if *sweep.Spec.Suspend != suspended {
			t.Errorf("the Job is suspended: %t, want %t", *sweep.Spec.Suspend, suspended)
		}
	}
	look(ctrl.Result{}, true)
	for name, want := range map[string]string{"sweep-0": "2m", "sweep-1": "2m", "sweep-2": ""} { //order:any each by itself
		pod := &corev1.Pod{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "lab", Name: name}, pod); err != nil {
			t.Fatal(err)
		}
		if got := pod.Annotations[v1alpha1.CancelAnnotation]; got != want {
			t.Errorf("%s is told %q, want %q", name, got, want)
		}
		if left := metav1.GetControllerOf(pod) == nil; left != (name == "sweep-0") {
			t.Errorf("%s has left its Job: %t", name, left)
		}
	}
	look(ctrl.Result{}, true)
}
