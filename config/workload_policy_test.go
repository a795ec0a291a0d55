package config_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

func workload(changes ...func(*v1alpha1.QueuedWorkload)) *v1alpha1.QueuedWorkload {
	w := &v1alpha1.QueuedWorkload{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "QueuedWorkload"},
		ObjectMeta: metav1.ObjectMeta{Namespace: free, Name: "job-train"},
		Spec: v1alpha1.QueuedWorkloadSpec{
			QueueName: "default",
			PodSets:   []v1alpha1.PodSet{{Name: "main", Count: new(int32(2))}},
		},
	}
	for _, change := range changes {
		change(w)
	}
	return w
}

func TestWorkloadGuard(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	admitted := func(w *v1alpha1.QueuedWorkload) {
		w.Status.Allocation = &v1alpha1.Allocation{ClusterQueue: "gpu", PodSets: []v1alpha1.PodSetAllocation{{Name: "main", Count: new(int32(2))}}}
	}
	finished := func(w *v1alpha1.QueuedWorkload) {
		w.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: "Completed"}}
	}
	urgent := func(w *v1alpha1.QueuedWorkload) { w.Spec.Priority = new(int32(1000)) }
	queuedAt := func(at string) func(*v1alpha1.QueuedWorkload) {
		return func(w *v1alpha1.QueuedWorkload) { set(&w.Annotations, "berth.dev/queued-at", at) }
	}
	marked := func(w *v1alpha1.QueuedWorkload) { w.Labels = map[string]string{"mine": "1"} }
	for _, test := range []struct {
		name      string
		by        string
		operation admission.Operation
		old, new  *v1alpha1.QueuedWorkload
		want      string // a part of the message; empty: admitted
	}{
		{"Berth makes one", berth, admission.Create, nil, workload(), ""},
		{"a person makes one", alice, admission.Create, nil, workload(), "create a Job with the label berth.dev/queue-name"},
		{"Berth follows its owner", berth, admission.Update, workload(), workload(urgent), ""},
		{"a person raises its priority", alice, admission.Update, workload(), workload(urgent), "the spec of a QueuedWorkload follows its owner"},
		{"a person labels one", alice, admission.Update, workload(), workload(marked), ""},
		{"Berth notes when it was queued", berth, admission.Update, workload(), workload(queuedAt("2026-01-01T00:00:00Z")), ""},
		{"a person moves it to the front", alice, admission.Update, workload(queuedAt("2026-01-01T00:00:00Z")), workload(queuedAt("2001-01-01T00:00:00Z")), "annotations of a QueuedWorkload are written by Berth only"},
		{"a person takes its place away", alice, admission.Update, workload(queuedAt("2026-01-01T00:00:00Z")), workload(), "annotations of a QueuedWorkload are written by Berth only"},
		{"a person labels one that was noted", alice, admission.Update, workload(queuedAt("2026-01-01T00:00:00Z")), workload(queuedAt("2026-01-01T00:00:00Z"), marked), ""},
		{"a person deletes one that waits", alice, admission.Delete, workload(), nil, ""},
		{"a person deletes one that holds nodes", alice, admission.Delete, workload(admitted), nil, "this workload holds nodes, and its pods run: delete the Job (or Pod) that owns it instead"},
		{"a person deletes the record of one that has ended", alice, admission.Delete, workload(admitted, finished), nil, ""},
		{"the garbage collector, whose owner is gone", collector, admission.Delete, workload(admitted), nil, ""},
		{"a namespace goes", namespaces, admission.Delete, workload(admitted), nil, ""},
		{"Berth itself", berth, admission.Delete, workload(admitted), nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var old, object client
			if test.old != nil {
				old = test.old
			}
			if test.new != nil {
				object = test.new
			}
			got := message(s.admit(test.by, test.operation, old, object))
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Only pkg/apply writes the status; a status that somebody else wrote would
// start a Job on nodes that are taken.
func TestWorkloadGuardProtectsTheStatus(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, by := range []string{alice, jobs, berth} {
		plain, err := s.request(by, admission.Update, workload(), workload())
		if err != nil {
			t.Fatal(err)
		}
		status := admission.NewAttributesRecord(plain.GetObject(), plain.GetOldObject(), plain.GetKind(), plain.GetNamespace(), plain.GetName(),
			plain.GetResource(), "status", admission.Update, nil, false, plain.GetUserInfo())
		if got := message(s.validate(status)); (got == "") != (by == berth) {
			t.Errorf("by %s: %q", by, got)
		}
	}
}
