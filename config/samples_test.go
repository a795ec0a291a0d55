package config_test

import (
	"os"
	"path"
	"path/filepath"
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
	mustBeAdmitted(t, newServer(t), ".", 5)
}

// The samples of site/how-to/checkpoint.md, of which some run commands in pods.
func TestCheckpointSamplesAreAdmitted(t *testing.T) {
	t.Parallel()
	mustBeAdmitted(t, newServer(t, granted), "checkpoint", 4)
}

func mustBeAdmitted(t *testing.T, s *server, folder string, least int) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join("samples", folder))
	if err != nil {
		t.Fatal(err)
	}
	queued := 0
	for _, file := range files {
		if file.IsDir() {
			continue
		}
		objects, err := config.Sample(path.Join(folder, file.Name()))
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
	if queued < least {
		t.Errorf("%d Jobs in the samples", queued)
	}
}
