package admission_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
)

// TestNamesThatAClusterRefusesAreRefused: each of these a server with Berth's policies
// was asked for, and refused.
func TestNamesThatAClusterRefusesAreRefused(t *testing.T) {
	t.Parallel()
	server, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 64)
	for _, test := range []struct{ name, lines, want string }{
		{"a job's name", "jobs: [{name: " + long + "}]", "spec.jobs[0].name: \"" + long + "\" is not a name: at most 63 small letters"},
		{"a job's name with two dots", "jobs: [{name: a..b}]", `spec.jobs[0].name: "a..b" is not a name`},
		{"an array's name with a dot", "jobs: [{name: a.b, array: {count: 11}}]", `spec.jobs[0].array: "a.b-10" is not the name of a member's pod: at most 63 small letters, digits and -`},
		{"an array's name that is too long for its members", "jobs: [{name: " + long[:61] + ", array: {count: 11}}]", "spec.jobs[0].array: \"" + long[:61] + "-10\" is not"},
		{"a namespace with a dot", "jobs: [{name: a, namespace: a.b}]", `spec.jobs[0].namespace: "a.b" is not the name of a namespace`},
		{"a queue", "jobs: [{name: a, queue: ü}]", `spec.jobs[0].queue: "ü" is not a name`},
		{"another queue", "jobs: [{name: a}], events: [{at: 1m, set: {job: a, queue: Up}}]", `spec.events[0].set.queue: "Up" is not a name`},
		{"a name for singleton", "jobs: [{name: a, jobName: " + long + "}]", "spec.jobs[0].jobName: \"" + long + "\" is not the value of a label: at most 63"},
		{"an account", "jobs: [{name: a, account: A_b}]", `spec.jobs[0].account: "A_b" is not a name`},
		{"a PriorityClass", "jobs: [{name: a, priorityClass: Hi_x}]", `spec.jobs[0].priorityClass: "Hi_x" is not the name of a PriorityClass`},
		{"a level", "jobs: [{name: a, topology: {required: a.b}}]", `spec.jobs[0].topology.required: "a.b" is not the name of a level`},
		{"a request without a domain", "jobs: [{name: a, requests: {gpu: 1}}]", `spec.jobs[0].requests.gpu: "gpu" is nothing that a pod can ask for: write cpu, memory, ephemeral-storage, hugepages-SIZE, or a name with its domain, such as nvidia.com/gpu`},
		{"a request of a quota", "jobs: [{name: a, requests: {requests.nvidia.com/gpu: 1}}]", `spec.jobs[0].requests[requests.nvidia.com/gpu]: "requests.nvidia.com/gpu" is nothing`},
		{"a request of a domain alone", "jobs: [{name: a, podSets: [{name: w, requests: {example.com/: 1}}]}]", `spec.jobs[0].podSets[0].requests[example.com/]: "example.com/" is nothing`},
		{"a request of storage", "jobs: [{name: a, requests: {storage: 1Gi}}]", `"storage" is nothing that a pod can ask for`},
		{"a selected value", "jobs: [{name: a, nodeSelector: {rack: " + long + "}}]", "spec.jobs[0].nodeSelector.rack: \"" + long + "\" is not the value of a label"},
		{"a selected key", `jobs: [{name: a, nodeSelector: {"a b": x}}]`, `spec.jobs[0].nodeSelector.a b: "a b" is not the key of a label: write NAME or DOMAIN/NAME`},
		{"a tolerated key", `jobs: [{name: a, tolerations: [{key: "a b", operator: Exists}]}]`, `spec.jobs[0].tolerations[0].key: "a b" is not the key`},
		{"a tolerated value", "jobs: [{name: a, tolerations: [{key: a, value: " + long + "}]}]", "spec.jobs[0].tolerations[0].value: \"" + long + "\" is not the value"},
		{"a node", "jobs: [{name: a}], nodes: [{name: a..b}]", `spec.nodes[0]: "a..b" is not a name`},
		{"a node whose number makes it too long", "jobs: [{name: a}], nodes: [{prefix: " + long[:62] + ", count: 11}]", "spec.nodes[0]: \"" + long[:62] + "10\" is not a name"},
		{"a label's value", "jobs: [{name: a}], nodes: [{name: n, labels: {rack: " + long + "}}]", "spec.nodes[0].labels.rack: \"" + long + "\" is not the value"},
		{"a label's key", `jobs: [{name: a}], nodes: [{name: n, labels: {"a b": x}}]`, `spec.nodes[0].labels.a b: "a b" is not the key`},
		{"a label that is spread", "jobs: [{name: a}], nodes: [{prefix: n, spread: {ü: 2}}]", `"ü" is not the key`},
		{"a taint's key", `jobs: [{name: a}], nodes: [{name: n, taints: [{key: "a b", effect: NoSchedule}]}]`, `spec.nodes[0].taints[0].key: "a b" is not the key`},
		{"a taint without a key", "jobs: [{name: a}], nodes: [{name: n, taints: [{effect: NoSchedule}]}]", "spec.nodes[0].taints[0].key: is missing"},
		{"a taint's value", "jobs: [{name: a}], nodes: [{name: n, taints: [{key: a, value: " + long + ", effect: PreferNoSchedule}]}]", "spec.nodes[0].taints[0].value: \"" + long + "\" is not the value"},
		{"what a node has", `jobs: [{name: a}], events: [{at: 1m, addNodes: {name: n, resources: {"a b": 1}}}]`, `spec.events[0].addNodes.resources.a b: "a b" is not the key`},
		{"a queue of a trace", "trace: {file: l.swf, format: swf, queues: {'1': Up}}", `spec.trace.queues.1: "Up" is not a name`},
		{"a trace's resource", "trace: {file: l.swf, format: swf, resource: gpu}", `spec.trace.resource: "gpu" is nothing that a pod can ask for`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := "{apiVersion: sim.berth.dev/v1alpha1, kind: Scenario, metadata: {name: x}, spec: {" + test.lines + "}}"
			_, err := scenario.Load("x.yaml", []byte(text), scenario.Options{Admitter: server})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// TestNamesThatAClusterTakesAreTaken: a server with Berth's policies took each of them.
func TestNamesThatAClusterTakesAreTaken(t *testing.T) {
	t.Parallel()
	server, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 63)
	for _, lines := range []string{
		"jobs: [{name: " + long + ", namespace: " + long + ", queue: " + long + "}]",
		"jobs: [{name: a.b, queue: a.b}]",
		"jobs: [{name: " + long[:60] + ", array: {count: 11}}]",
		"jobs: [{name: a, requests: {example.com/x_y: 1, kubernetes.io/x: 1, hugepages-2Mi: 2Mi, ephemeral-storage: 1Gi, cpu: 1, memory: 1}}]",
		"jobs: [{name: a, jobName: A_b, nodeSelector: {example.com/A: ''}, tolerations: [{operator: Exists}, {key: a, value: B}]}]",
	} {
		text := "{apiVersion: sim.berth.dev/v1alpha1, kind: Scenario, metadata: {name: x}, spec: {" + lines + "}}"
		if _, err := scenario.Load("x.yaml", []byte(text), scenario.Options{Admitter: server}); err != nil {
			t.Errorf("%s: %v", lines, err)
		}
	}
}

// TestNamesAreThoseOfKubernetes: the core has no Kubernetes, and its names are the same.
func TestNamesAreThoseOfKubernetes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-b0A.\-ü]{0,4}(a{58,62})?[a.\-]{0,3}`).Draw(t, "text")
		if want := len(validation.IsDNS1123Subdomain(text)) == 0 && len(validation.IsValidLabelValue(text)) == 0; batch.IsName(text) != want {
			t.Fatalf("%q is a name: %t, want %t", text, !want, want)
		}
		if want := len(validation.IsDNS1123Label(text)) == 0; batch.IsPlainName(text) != want {
			t.Fatalf("%q is a plain name: %t, want %t", text, !want, want)
		}
	})
}
