package config_test

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/berth-dev/berth/config"
)

// What the sandbox installs is what `kubectl apply -k config/default` installs,
// but for the Deployment.
func TestObjectsAreThoseOfTheDefaultInstallation(t *testing.T) {
	t.Parallel()
	objects, err := config.Objects()
	if err != nil {
		t.Fatal(err)
	}
	mustBeBuilt(t, "config/default", objects)
}

// With the component an installation has a role more, and one word of a policy is
// another.
func TestObjectsWithExecAreThoseOfTheOverlay(t *testing.T) {
	t.Parallel()
	objects, err := config.ObjectsWithExec()
	if err != nil {
		t.Fatal(err)
	}
	mustBeBuilt(t, "config/with-exec", objects)
}

// decoded are the objects of a file.
func decoded(t *testing.T, content []byte) (objects []*unstructured.Unstructured) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var document runtime.RawExtension
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(document.Raw); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
}

// mustBeBuilt compares objects with those that kustomize makes of a folder.
func mustBeBuilt(t *testing.T, folder string, objects []*unstructured.Unstructured) {
	t.Helper()
	build := exec.Command("go", "tool", "-modfile=tools/go.mod", "kustomize", "build", folder)
	build.Dir = ".."
	var complaints bytes.Buffer
	build.Stderr = &complaints
	output, err := build.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", build, err, complaints.String())
	}
	want := map[string]any{}
	for _, object := range decoded(t, output) {
		if object.GetKind() != "Deployment" {
			want[name(object)] = object.Object
		}
	}
	got := map[string]any{}
	for _, object := range objects {
		got[name(object)] = object.Object
	}
	// kustomize folds long lines in its own way.
	sameWords := cmp.Comparer(func(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) })
	if diff := cmp.Diff(want, got, sameWords); diff != "" {
		t.Errorf("(-kustomize +config.Objects):\n%s", diff)
	}
	if len(got) != len(objects) {
		t.Errorf("%d objects have %d names", len(objects), len(got))
	}
}

// An object comes after what it refers to.
func TestObjectsAreInApplyOrder(t *testing.T) {
	t.Parallel()
	objects, err := config.Objects()
	if err != nil {
		t.Fatal(err)
	}
	first := func(kind string) int {
		return slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	}
	for _, pair := range [][2]string{
		{"Namespace", "CustomResourceDefinition"},
		{"CustomResourceDefinition", "MutatingAdmissionPolicy"},
		{"Namespace", "ServiceAccount"},
		{"ServiceAccount", "ValidatingAdmissionPolicy"},
	} {
		before, after := first(pair[0]), first(pair[1])
		if before < 0 || after < 0 || before > after {
			t.Errorf("%s at %d, %s at %d", pair[0], before, pair[1], after)
		}
	}
	for i, object := range objects {
		if kind := object.GetKind(); kind == "MutatingAdmissionPolicyBinding" || kind == "ValidatingAdmissionPolicyBinding" {
			policy, _, _ := unstructured.NestedString(object.Object, "spec", "policyName")
			if previous := objects[i-1]; previous.GetName() != policy || previous.GetKind()+"Binding" != kind {
				t.Errorf("%s follows %s, not its policy", name(object), name(previous))
			}
		}
	}
}

// Every policy fails closed, or a broken one would let work run beside the
// queue in silence; and every one is bound, or it does nothing.
func TestPoliciesFailClosedAndAreBound(t *testing.T) {
	t.Parallel()
	bound := map[string]bool{}
	for _, object := range policies(t) {
		if policy, found, _ := unstructured.NestedString(object.Object, "spec", "policyName"); found {
			bound[policy] = true
		}
	}
	for _, object := range policies(t) {
		if _, isBinding, _ := unstructured.NestedString(object.Object, "spec", "policyName"); isBinding {
			continue
		}
		if !bound[object.GetName()] {
			t.Errorf("%s is not bound", name(object))
		}
		if failure, _, _ := unstructured.NestedString(object.Object, "spec", "failurePolicy"); failure != "Fail" {
			t.Errorf("%s has failurePolicy %q", name(object), failure)
		}
		if conditions, _, _ := unstructured.NestedSlice(object.Object, "spec", "matchConditions"); len(conditions) == 0 {
			t.Errorf("%s has no matchConditions: it would be evaluated for every object of its kind", name(object))
		}
	}
}

// The controller's rights are written out, none by a wildcard; nobody is given
// QueuedWorkloads to write but the controller.
func TestRightsAreLeast(t *testing.T) {
	t.Parallel()
	objects, err := config.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if kind := object.GetKind(); kind != "ClusterRole" && kind != "Role" {
			continue
		}
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, words := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
				if slices.Contains(words, "*") || len(words) == 0 {
					t.Errorf("%s: rule %v is not written out", name(object), rule)
				}
			}
			for _, resource := range rule.Resources {
				checkRight(t, role.Name, resource, rule.Verbs)
			}
		}
	}
}

func checkRight(t *testing.T, role, resource string, verbs []string) {
	t.Helper()
	reads := []string{"get", "list", "watch"}
	for _, verb := range verbs {
		if slices.Contains(reads, verb) {
			continue
		}
		switch {
		case slices.Contains([]string{"secrets", "configmaps", "nodes", "roles", "clusterroles"}, resource):
			t.Errorf("%s may %s %s", role, verb, resource)
		case role != "berth-controller" && resource == "queuedworkloads":
			t.Errorf("%s may %s QueuedWorkloads, which Berth alone writes", role, verb)
		case resource == "pods" && verb == "delete" && role == "berth-controller":
			// A pod that is a workload of its own can't be suspended.
		case resource == "pods/exec":
			t.Errorf("%s may %s %s, which an installation grants by a component of its own", role, verb, resource)
		case resource == "pods" && verb != "patch":
			t.Errorf("%s may %s pods: they belong to their Jobs", role, verb)
		case resource == "jobs" && verb != "patch" && verb != "update":
			t.Errorf("%s may %s Jobs: they belong to their authors", role, verb)
		}
	}
	if resource == "secrets" {
		t.Errorf("%s may read secrets", role)
	}
}

func name(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}
