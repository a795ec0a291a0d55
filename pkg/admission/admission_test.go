package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/batch"
)

func admit(t *testing.T, text string) (seen batch.Event, err error) {
	t.Helper()
	server, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	raw := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
		t.Fatal(err)
	}
	object, err := server.Admit(raw, nil)
	return object.Seen, err
}

func TestWhatIsAdmittedHasItsDefaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		want batch.Event
	}{
		{"{apiVersion: berth.dev/v1alpha1, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueueNames: [c]}}", batch.LocalQueueObserved{
			LocalQueue: batch.LocalQueue{Name: "default/q", Queues: []batch.QueueName{"c"}},
		}},
		{"{apiVersion: berth.dev/v1alpha1, kind: SchedulingPolicy, metadata: {name: default}}", batch.PolicyObserved{Policy: batch.DefaultPolicy()}},
		{"{apiVersion: berth.dev/v1alpha1, kind: ResourceFlavor, metadata: {name: f}, spec: {nodeSelector: {matchLabels: {a: b}}}}", batch.FlavorObserved{
			Flavor: batch.Flavor{Name: "f", Selector: batch.LabelSelector{All: []batch.Requirement{{Key: "a", Op: batch.OpIn, Values: []string{"b"}}}}},
		}},
	} {
		got, err := admit(t, test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
	}
	seen, err := admit(t, "{apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: c}}")
	queue, _ := seen.(batch.QueueObserved)
	if err != nil || queue.Queue.State != batch.QueueUp || queue.Queue.Tier != 1 {
		t.Errorf("%+v, %v", seen, err)
	}
}

// The words are the server's own.
func TestWhatAClusterRefusesIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{
			"an unknown field", "{apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: c}, spec: {walltme: 1}}",
			`ClusterQueue in version "v1alpha1" cannot be handled as a ClusterQueue: strict decoding error: unknown field "spec.walltme"`,
		},
		{
			"a value out of range", "{apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: c}, spec: {priorityTier: -1}}",
			`ClusterQueue.berth.dev "c" is invalid: spec.priorityTier: Invalid value: -1`,
		},
		{
			"a rule", "{apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: c}, spec: {walltime: {default: 3h, max: 2h}}}",
			"default 3h is longer than max 2h",
		},
		{
			"a name that is too long", "{apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: " + strings.Repeat("a", 64) + "}}",
			`is invalid: metadata: Invalid value: a ClusterQueue's name has at most 63 characters`,
		},
		{
			"its own parent", "{apiVersion: berth.dev/v1alpha1, kind: Cohort, metadata: {name: c}, spec: {parentName: c}}",
			"is invalid: spec.parentName: Invalid value: Cohort c cannot be its own parent",
		},
		{
			"a list key twice", "{apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: c}, spec: {flavors: [{name: a}, {name: a}]}}",
			"spec.flavors[1]: Duplicate value",
		},
		{
			"a bad name", "{apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: C}}",
			"a lowercase RFC 1123 subdomain must consist of",
		},
		{
			"no name", "{apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {}}",
			"metadata.name: Required value",
		},
		{
			"a namespace where there is none", "{apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: c, namespace: x}}",
			"metadata.namespace: Forbidden",
		},
		{
			"another name of the policy", "{apiVersion: berth.dev/v1alpha1, kind: SchedulingPolicy, metadata: {name: other}}",
			"the SchedulingPolicy is named default",
		},
		{
			"a kind of later versions", "{apiVersion: berth.dev/v1alpha1, kind: QualityOfService, metadata: {name: c}}",
			"kind QualityOfService: this version does not have service classes yet",
		},
		{
			"an unknown kind", "{apiVersion: berth.dev/v1alpha1, kind: Queue, metadata: {name: c}}",
			`no matches for kind "Queue" in version "berth.dev/v1alpha1": a scenario has Account, ClusterQueue, Cohort, LocalQueue, ResourceFlavor, SchedulingPolicy, Topology`,
		},
		{
			"what Berth makes itself", "{apiVersion: berth.dev/v1alpha1, kind: QueuedWorkload, metadata: {name: c}, spec: {queueName: q, podSets: [{name: main, count: 1}]}}",
			"",
		},
		{
			"a system class", "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: system-x}, value: 1}",
			"prefix are reserved for system use only",
		},
		{
			"a class out of range", "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: x}, value: 2000000000}",
			"maximum allowed value of a user defined priority is 1000000000",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := admit(t, test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestAdmittingChangesNothingThatItIsGiven(t *testing.T) {
	t.Parallel()
	server, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	raw := map[string]any{"apiVersion": "berth.dev/v1alpha1", "kind": "ClusterQueue", "metadata": map[string]any{"name": "c"}, "spec": map[string]any{}}
	object, err := server.Admit(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw["spec"].(map[string]any)) != 0 {
		t.Errorf("the object that was given has changed: %v", raw)
	}
	if spec := object.Raw["spec"].(map[string]any); spec["state"] != "Up" {
		t.Errorf("the object that came out has no defaults: %v", spec)
	}
	if again, err := server.Admit(object.Raw, object.Raw); err != nil || !cmp.Equal(again.Seen, object.Seen) {
		t.Errorf("admitted again it is %+v, %v", again.Seen, err)
	}
}

// The value of a class is for ever, as in a cluster.
func TestThePriorityOfAClassIsNotEdited(t *testing.T) {
	t.Parallel()
	server, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	class := func(value int64, text string) map[string]any {
		return map[string]any{
			"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": "urgent"}, "value": value, "description": text,
		}
	}
	if _, err := server.Admit(class(1000, "in words"), class(1000, "")); err != nil {
		t.Errorf("another description is refused: %v", err)
	}
	if _, err := server.Admit(class(3000, ""), class(1000, "")); err == nil || !strings.Contains(err.Error(), "may not be changed in an update") {
		t.Errorf("another value: %v", err)
	}
}
