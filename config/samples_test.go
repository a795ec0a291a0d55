package config_test

import (
	"os"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/config"
)

// `kubectl create -f config/samples/` works: the README says so. Every object
// has the fields of its kind and no others, and every Job is let in and queued.
func TestSamplesAreAdmitted(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	files, err := os.ReadDir("samples")
	if err != nil {
		t.Fatal(err)
	}
	queued := 0
	for _, file := range files {
		objects, err := config.Sample(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			typed, err := s.scheme.New(object.GroupVersionKind())
			if err != nil {
				t.Errorf("%s: %s: %v", file.Name(), name(object), err)
				continue
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
				t.Errorf("%s: %s: %v", file.Name(), name(object), err)
			}
			sample, isJob := typed.(*batchv1.Job)
			if !isJob {
				continue
			}
			sample.Namespace = free
			if err := s.admit(alice, admission.Create, nil, sample); err != nil {
				t.Errorf("%s: %s: %v", file.Name(), name(object), err)
			}
			if sample.Spec.Suspend == nil || !*sample.Spec.Suspend || sample.Annotations[v1alpha1.WalltimeAnnotation] == "" {
				t.Errorf("%s: %s is not queued, or says not how long it runs", file.Name(), name(object))
			}
			queued++
		}
	}
	if queued < 5 {
		t.Errorf("%d Jobs in the samples", queued)
	}
}
