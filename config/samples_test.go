package config_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// The samples of two teams that lend to each other.
func TestTeamSamplesAreAdmitted(t *testing.T) {
	t.Parallel()
	mustBeAdmitted(t, newServer(t), "two-teams", 2)
}

// What a sample mounts is among the samples of its folder.
func TestClaimsOfSamplesAreThere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("samples/checkpoint/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	made, used := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		objects, err := config.Sample(path.Join("checkpoint", filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			if object.GetKind() == "PersistentVolumeClaim" {
				made[object.GetName()] = true
			}
			volumes, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "volumes")
			for _, volume := range volumes {
				if name, is, _ := unstructured.NestedString(volume.(map[string]any), "persistentVolumeClaim", "claimName"); is {
					used[name] = true
				}
			}
		}
	}
	if diff := cmp.Diff(used, made); diff != "" || len(used) == 0 {
		t.Errorf("(-used +made):\n%s", diff)
	}
}

// TestTheReadmeCanBeCopied: the block that sets up queues has the fields of its
// kinds and no others, and all that its objects refer to.
func TestTheReadmeCanBeCopied(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(readme), "\n## Set up queues\n")
	_, block, begins := strings.Cut(after, "```yaml\n")
	block, _, ends := strings.Cut(block, "\n```\n")
	if !found || !begins || !ends {
		t.Fatal("there is no block")
	}
	s := newServer(t)
	made, wanted := map[string]bool{}, map[string]bool{}
	for _, object := range decoded(t, []byte(block)) {
		typed, err := s.scheme.New(object.GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
			t.Errorf("%s: %v", name(object), err)
		}
		made[object.GetKind()+"/"+object.GetName()] = true
		if namespace := object.GetNamespace(); namespace != "" && !made["Namespace/"+namespace] {
			t.Errorf("%s comes before its namespace", name(object))
		}
		switch is := typed.(type) {
		case *v1alpha1.ClusterQueue:
			for _, flavor := range is.Spec.Flavors {
				wanted["ResourceFlavor/"+flavor.Name] = true
			}
		case *v1alpha1.LocalQueue:
			for _, queue := range is.Spec.ClusterQueueNames {
				wanted["ClusterQueue/"+queue] = true
			}
		}
	}
	for what := range wanted {
		if !made[what] {
			t.Errorf("%s is named, and not made", what)
		}
	}
	if len(wanted) < 2 {
		t.Errorf("only %v are named", wanted)
	}
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
