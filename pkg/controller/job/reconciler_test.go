package job

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/metrics"
)

// measures register themselves, which a process can do once.
var measures = metrics.New()

// TestASuspendedJobWhoseEndIsDecidedMayEnd: the Job controller can't end it while
// it is suspended. So it is resumed, with its author's template, and not
// suspended again though its workload waits.
func TestASuspendedJobWhoseEndIsDecidedMayEnd(t *testing.T) {
	t.Parallel()
	for kind, want := range map[batchv1.JobConditionType]bool{ //order:any each by itself
		batchv1.JobSuccessCriteriaMet: false, // is it suspended?
		batchv1.JobFailureTarget:      false,
		batchv1.JobSuspended:          true,
	} {
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "lab", Name: "train", UID: "u-1", Labels: map[string]string{v1alpha1.QueueLabel: "gpu"},
				Annotations: map[string]string{v1alpha1.RestoreAnnotation: `{"run":0}`},
			},
			Spec:   batchv1.JobSpec{Suspend: new(true), Completions: new(int32(1)), Parallelism: new(int32(1))},
			Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}, {Type: kind, Status: corev1.ConditionTrue}}},
		}
		c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(job).WithStatusSubresource(job).Build()
		r := &Reconciler{Client: c, Reader: c, Metrics: measures}
		waits := &v1alpha1.QueuedWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "train"}}
		for range 2 { // the second time there is nothing to do
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
				t.Fatal(err)
			}
			if err := r.obey(t.Context(), job, waits); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
			t.Fatal(err)
		}
		if *job.Spec.Suspend != want {
			t.Errorf("%s: the Job is suspended: %t, want %t", kind, *job.Spec.Suspend, want)
		}
		if mark, marked := job.Annotations[v1alpha1.RestoreAnnotation]; marked {
			t.Errorf("%s: its template was not restored: %s", kind, mark)
		}
	}
}
