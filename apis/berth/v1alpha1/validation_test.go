package v1alpha1_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/berth-dev/berth/config"
)

// kind validates objects of one kind as an API server does: unknown fields,
// defaults, schema, list keys, CEL.
type kind struct {
	structural *schema.Structural
	schema     apiextensionsserver.SchemaValidator
	rules      *cel.Validator
}

// kinds reads the CRDs that are installed, and has them accepted as an API
// server would: that includes the estimated cost of their rules.
func kinds(t *testing.T) map[string]kind {
	t.Helper()
	objects, err := config.Objects()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.RegisterConversions(scheme); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.RegisterDefaults(scheme); err != nil {
		t.Fatal(err)
	}
	found := map[string]kind{}
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			name, k := accepted(t, scheme, object)
			found[name] = k
		}
	}
	return found
}

func accepted(t *testing.T, scheme *runtime.Scheme, object *unstructured.Unstructured) (string, kind) {
	t.Helper()
	versioned := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, versioned, true); err != nil {
		t.Fatalf("%s: %v", object.GetName(), err)
	}
	scheme.Default(versioned)
	versioned.Status.StoredVersions = []string{versioned.Spec.Versions[0].Name}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(versioned, crd, nil); err != nil {
		t.Fatalf("%s: %v", object.GetName(), err)
	}
	if errs := apiextensionsvalidation.ValidateCustomResourceDefinition(t.Context(), crd); len(errs) > 0 {
		t.Fatalf("%s is not accepted: %v", object.GetName(), errs.ToAggregate())
	}
	// With one version an API server keeps the schema at the top.
	props := crd.Spec.Validation
	if props == nil {
		props = crd.Spec.Versions[0].Schema
	}
	structural, err := schema.NewStructural(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatalf("%s: %v", object.GetName(), err)
	}
	validator, _, err := apiextensionsserver.NewSchemaValidator(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatalf("%s: %v", object.GetName(), err)
	}
	return crd.Spec.Names.Kind, kind{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

// submit returns the object as it would be stored, and what is wrong with it.
// Unknown fields are errors, as kubectl asks for it.
func (k kind) submit(t *testing.T, object map[string]any) []string {
	t.Helper()
	var errs field.ErrorList
	unknown := pruning.PruneWithOptions(object, k.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		errs = append(errs, field.Forbidden(field.NewPath(path), "unknown field"))
	}
	defaulting.Default(object, k.structural)
	errs = append(errs, apiextensionsserver.ValidateCustomResource(nil, object, k.schema)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, object)...)
	if k.rules != nil && len(errs) == 0 {
		broken, _ := k.rules.Validate(t.Context(), nil, k.structural, object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	var words []string
	for _, err := range errs {
		words = append(words, err.Error())
	}
	slices.Sort(words)
	return words
}

// object reads YAML without apiVersion; the name is "x" unless it says another.
func object(t *testing.T, kindName, text string) map[string]any {
	t.Helper()
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	o["apiVersion"], o["kind"] = "berth.dev/v1alpha1", kindName
	if o["metadata"] == nil {
		o["metadata"] = map[string]any{"name": "x"}
	}
	converted := &unstructured.Unstructured{}
	encoded, err := (&unstructured.Unstructured{Object: o}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := converted.UnmarshalJSON(encoded); err != nil {
		t.Fatal(err)
	}
	return converted.Object
}

func TestEveryKindIsAccepted(t *testing.T) {
	t.Parallel()
	got := kinds(t)
	for _, name := range []string{"ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "QueuedWorkload", "SchedulingPolicy"} {
		if _, found := got[name]; !found {
			t.Errorf("no CRD of kind %s", name)
		}
	}
}

func TestGoodObjects(t *testing.T) {
	t.Parallel()
	all := kinds(t)
	for _, test := range []struct{ kind, text string }{
		{"ClusterQueue", `{}`},
		{"ClusterQueue", `spec: {}`},
		{"ClusterQueue", `spec: {state: Drain, priorityTier: 0}`},
		{"ClusterQueue", `spec: {state: Inactive, priorityTier: 65535}`},
		{"ClusterQueue", `spec: {flavors: [{name: h100}, {name: a100.big}]}`},
		{"ClusterQueue", `spec: {cohortName: all}`},
		{"ClusterQueue", `spec: {flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: "64"}, {name: cpu, nominalQuota: 1500m}, {name: memory, nominalQuota: 10Gi}]}]}`},
		{"ClusterQueue", `spec: {flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 64}]}]}`},
		{"ClusterQueue", `spec: {cohortName: all, flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: "64", borrowingLimit: "32", lendingLimit: "64"}]}]}`},
		{"ClusterQueue", `spec: {cohortName: all, flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 0, borrowingLimit: 0, lendingLimit: 0}]}]}`},
		{"Cohort", `{}`},
		{"Cohort", `spec: {parentName: all}`},
		{"Cohort", `spec: {flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: "64"}]}]}`},
		{"Cohort", `spec: {parentName: all, flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: "9223372036854775807", lendingLimit: "9223372036854775807"}, {name: memory, nominalQuota: 7Ei}]}]}`},
		{"Cohort", `spec: {parentName: all, flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: "0", borrowingLimit: "32", lendingLimit: "64"}]}]}`},
		{"ClusterQueue", `spec: {walltime: {default: 1h}}`},
		{"ClusterQueue", `spec: {walltime: {max: 7d}}`},
		{"ClusterQueue", `spec: {walltime: {default: 7d, max: 7d}}`},
		{"ClusterQueue", `spec: {walltime: {default: 7d, max: 168h}}`},
		{"ClusterQueue", `spec: {walltime: {default: 168h, max: 7d}}`},
		{"ClusterQueue", `spec: {walltime: {default: 36h, max: 1d12h}}`},
		{"ClusterQueue", `spec: {walltime: {default: 23h59m59s, max: 1d}}`},
		{"ClusterQueue", `spec: {walltime: {default: 1d2h3m4s, max: 9999d}}`},
		{"ClusterQueue", `spec: {walltime: {default: 10s, max: 999999999s}}`},
		{"ClusterQueue", `spec: {size: {minNodes: 2, maxNodes: 2, maxPods: 1}}`},
		{"ClusterQueue", `spec: {access: {namespaceSelector: {matchLabels: {team: a}, matchExpressions: [{key: x, operator: In, values: [a]}, {key: zone, operator: Exists}]}}}`},
		{"ClusterQueue", `spec: {preemption: {grace: 0s}}`},
		{"ClusterQueue", `spec: {preemption: {grace: 2m}}`},
		{"ClusterQueue", `spec: {preemption: {mode: Requeue, grace: 2m, exempt: 10m, withinQueue: LowerPriority, reclaimWithinCohort: Any, borrowWithinCohort: LowerPriority}}`},
		{"ClusterQueue", `spec: {preemption: {mode: Cancel}}`},
		{"LocalQueue", `spec: {clusterQueueNames: [gpu]}`},
		{"LocalQueue", `spec: {clusterQueueNames: [gpu.big], hold: Hold}`},
		{"ResourceFlavor", `{}`},
		{"ResourceFlavor", `spec: {nodeSelector: {matchLabels: {gpu: h100}}, tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}, {operator: Exists}, {key: a, value: b}, {key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]}`},
		{"SchedulingPolicy", `metadata: {name: default}`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {preemption: {tiers: Disabled, victims: Youngest}, requeueDelay: 2m}}`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {backfill: {mode: None, depth: 1}, startTimeout: 90s}}`},
		{"Account", `{}`},
		{"ResourceFlavor", `spec: {topologyName: room}`},
		{"Topology", `spec: {levels: [{name: block, nodeLabel: topology.berth.dev/block}, {name: rack, nodeLabel: topology.berth.dev/rack}, {name: host, nodeLabel: kubernetes.io/hostname}]}`},
		{"QueuedWorkload", `spec: {queueName: q, podSets: [{name: a, count: 1, topology: {required: rack}}]}`},
		{"Account", `spec: {parentName: physics, shares: 0, users: [{name: ann, shares: 3}, {name: "system:serviceaccount:ci:runner"}]}`},
		{"ClusterQueue", `spec: {access: {allowAccounts: [], denyAccounts: [guests]}}`},
		{"ClusterQueue", `spec: {access: {allowAccounts: [lab], denyAccounts: [lab]}}`},
		{"LocalQueue", `spec: {clusterQueueNames: [a], accountName: lab}`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {priority: {weights: {age: 0, fairShare: 0, size: 0, queue: 0, qos: 0}}}}`},
		{"QueuedWorkload", `spec: {queueName: default, podSets: [{name: main, count: 0}]}`},
		{"QueuedWorkload", `spec: {queueName: default, podSets: [{name: main, count: 4, requests: {cpu: 1500m, nvidia.com/gpu: 8}}], walltime: UNLIMITED, priority: -5, hold: Hold}`},
		{"QueuedWorkload", `spec: {queueName: default, podSets: [{name: main, count: 1}], walltime: "30:60"}`},
		{"QueuedWorkload", `{spec: {queueName: q, podSets: [{name: main, count: 2}]}, status: {allocation: {clusterQueue: gpu, via: Backfill, startTime: "2026-01-01T00:00:00Z", podSets: [{name: main, count: 2, domains: [{host: n1, pods: 2}]}]}, runs: [{start: "2026-01-01T00:00:00Z", end: "2026-01-01T00:00:00Z", state: Completed}]}}`},
	} {
		t.Run(test.kind+" "+test.text, func(t *testing.T) {
			if errs := all[test.kind].submit(t, object(t, test.kind, test.text)); len(errs) > 0 {
				t.Errorf("refused: %s", strings.Join(errs, "\n"))
			}
		})
	}
}

func TestBadObjects(t *testing.T) {
	t.Parallel()
	all := kinds(t)
	long := strings.Repeat("x", 64)
	for _, test := range []struct{ kind, text, want string }{
		{"ClusterQueue", `spec: {state: Stopped}`, `spec.state: Unsupported value: "Stopped": supported values: "Up", "Drain", "Down", "Inactive"`},
		{"ClusterQueue", `spec: {priorityTier: -1}`, `spec.priorityTier: Invalid value: -1: spec.priorityTier in body should be greater than or equal to 0`},
		{"ClusterQueue", `spec: {priorityTier: 65536}`, `spec.priorityTier: Invalid value: 65536`},
		{"ClusterQueue", `spec: {priorityTier: high}`, `spec.priorityTier: Invalid value: "string"`},
		{"ClusterQueue", `spec: {cohortName: GPU}`, `spec.cohortName: Invalid value: "GPU"`},
		{"ClusterQueue", `spec: {flavors: [{name: a, resources: [{name: cpu, nominalQuota: "1", borrowingLimit: "2"}]}]}`, `spec.flavors: Invalid value: borrowingLimit and lendingLimit need a cohort to borrow from and to lend to: set spec.cohortName, or leave them out`},
		{"ClusterQueue", `spec: {flavors: [{name: a, resources: [{name: cpu, nominalQuota: "1e1.5"}]}]}`, `spec.flavors[0].resources[0].nominalQuota: Invalid value: "1e1.5"`},
		{"ClusterQueue", `spec: {cohortName: c, flavors: [{name: a, resources: [{name: cpu, nominalQuota: "1", lendingLimit: "1E5."}]}]}`, `spec.flavors[0].resources[0].lendingLimit: Invalid value: "1E5."`},
		{"Cohort", `spec: {flavors: [{name: a, resources: [{name: example.com/x, nominalQuota: "9223372036854775808"}]}]}`, `spec.flavors[0].resources[0].nominalQuota: Invalid value: "9223372036854775808"`},
		{"Cohort", `spec: {parentName: all, flavors: [{name: a, resources: [{name: memory, nominalQuota: "1", borrowingLimit: "9999999999999999999"}]}]}`, `spec.flavors[0].resources[0].borrowingLimit: Invalid value: "9999999999999999999"`},
		{"Cohort", `spec: {parentName: all, flavors: [{name: a, resources: [{name: memory, nominalQuota: "1", lendingLimit: "1000000000000000000000000"}]}]}`, `spec.flavors[0].resources[0].lendingLimit: Invalid value: "1000000000000000000000000"`},
		{"Cohort", `spec: {flavors: [{name: a, resources: [{name: cpu, nominalQuota: "1e-2147483648"}]}]}`, `spec.flavors[0].resources[0].nominalQuota: Invalid value: "1e-2147483648"`},
		{"ClusterQueue", `spec: {flavors: [{name: a, resources: [{name: cpu, nominalQuota: "-1"}]}]}`, `spec.flavors[0].resources[0].nominalQuota: Invalid value: nominalQuota is -1: it must not be below 0`},
		{"ClusterQueue", `spec: {flavors: [{name: a, resources: [{name: nvidia.com/gpu, nominalQuota: 1500m}]}]}`, `nominalQuota: nvidia.com/gpu is counted in whole units`},
		{"ClusterQueue", `spec: {flavors: [{name: a, resources: [{name: cpu, nominalQuota: -1}]}]}`, `nominalQuota is -1: it must not be below 0`},
		{"ClusterQueue", `spec: {cohortName: c, flavors: [{name: a, resources: [{name: cpu, nominalQuota: "1", lendingLimit: -2}]}]}`, `lendingLimit is -2: it must not be below 0; 0 lends nothing, leave it out to lend all`},
		{"ClusterQueue", `spec: {flavors: [{name: a, resources: [{name: cpu, nominalQuota: many}]}]}`, `spec.flavors[0].resources[0].nominalQuota: Invalid value: "many"`},
		{"ClusterQueue", `spec: {flavors: [{name: a, resources: [{name: cpu}]}]}`, `spec.flavors[0].resources[0].nominalQuota: Required value`},
		{"ClusterQueue", `spec: {flavors: [{name: a, resources: [{name: cpu, nominalQuota: "1"}, {name: cpu, nominalQuota: "2"}]}]}`, `spec.flavors[0].resources[1]: Duplicate value: {"name":"cpu"}`},
		{"ClusterQueue", `spec: {cohortName: c, flavors: [{name: a, resources: [{name: cpu, nominalQuota: "1", borrowingLimit: "-1"}]}]}`, `borrowingLimit is -1: it must not be below 0; 0 lets nothing be borrowed, leave it out for no limit`},
		{"Cohort", `spec: {parentName: x}`, `spec.parentName: Invalid value: Cohort x cannot be its own parent: name another one, or leave parentName out at the top of the tree`},
		{"Cohort", `spec: {flavors: [{name: a, resources: [{name: cpu, nominalQuota: "1", lendingLimit: "1"}]}]}`, `spec.flavors: Invalid value: borrowingLimit and lendingLimit need a cohort above to borrow from and to lend to: set spec.parentName, or leave them out`},
		{"Cohort", `spec: {flavors: [{name: a}]}`, `spec.flavors[0].resources: Required value`},
		{"Cohort", `spec: {rebalance: {interval: 15m}}`, `spec.rebalance: Forbidden: unknown field`},
		{"ClusterQueue", `spec: {preemption: {mode: Suspend}}`, `spec.preemption.mode: Unsupported value: "Suspend": supported values: "Never", "Requeue", "Cancel"`},
		{"ClusterQueue", `spec: {preemption: {withinQueue: Any}}`, `spec.preemption.withinQueue: Unsupported value: "Any": supported values: "Never", "LowerPriority"`},
		{"ClusterQueue", `spec: {preemption: {reclaimWithinCohort: Always}}`, `spec.preemption.reclaimWithinCohort: Unsupported value: "Always": supported values: "Never", "LowerPriority", "Any"`},
		{"ClusterQueue", `spec: {preemption: {borrowWithinCohort: Any}}`, `spec.preemption.borrowWithinCohort: Unsupported value: "Any": supported values: "Never", "LowerPriority"`},
		{"ClusterQueue", `spec: {preemption: {exempt: 10}}`, `spec.preemption.exempt: Invalid value: "integer"`},
		{"ClusterQueue", `spec: {preemption: {exempt: 1h1d}}`, `"1h1d" is not a duration`},
		{"ClusterQueue", `spec: {flavors: [{name: a}, {name: a}]}`, `spec.flavors[1]: Duplicate value: {"name":"a"}`},
		{"ClusterQueue", `spec: {flavors: [{name: Big}]}`, `spec.flavors[0].name: Invalid value: "Big"`},
		{"ClusterQueue", `spec: {flavors: [{}]}`, `spec.flavors[0].name: Required value`},
		{"ClusterQueue", `spec: {walltime: {default: 2h, max: 1h}}`, `spec.walltime.default: Invalid value: default 2h is longer than max 1h: lower spec.walltime.default or raise spec.walltime.max`},
		{"ClusterQueue", `spec: {walltime: {default: 8d, max: 7d}}`, `default 8d is longer than max 7d`},
		{"ClusterQueue", `spec: {walltime: {default: 169h, max: 7d}}`, `default 169h is longer than max 7d`},
		{"ClusterQueue", `spec: {walltime: {default: 7d1s, max: 168h}}`, `default 7d1s is longer than max 168h`},
		{"ClusterQueue", `spec: {walltime: {default: 1d12h1m, max: 36h}}`, `default 1d12h1m is longer than max 36h`},
		{"ClusterQueue", `spec: {walltime: {default: 0s}}`, `spec.walltime.default: Invalid value: "0s": default is 0s: work can not run for no time`},
		{"ClusterQueue", `spec: {walltime: {max: 0d0h}}`, `spec.walltime.max: Invalid value: "0d0h": max is 0d0h`},
		{"ClusterQueue", `spec: {walltime: {max: "90"}}`, `"90" is not a duration: write days, hours, minutes and seconds such as 90s, 30m, 2h, 7d or 1d12h`},
		{"ClusterQueue", `spec: {walltime: {max: 1h1d}}`, `"1h1d" is not a duration`},
		{"ClusterQueue", `spec: {walltime: {max: 1.5h}}`, `"1.5h" is not a duration`},
		{"ClusterQueue", `spec: {walltime: {max: "2-12:00:00"}}`, `"2-12:00:00" is not a duration`},
		{"ClusterQueue", `spec: {walltime: {max: -5h}}`, `"-5h" is not a duration`},
		{"ClusterQueue", `spec: {walltime: {max: 10000d}}`, `at most 9999d`},
		{"ClusterQueue", `spec: {walltime: {max: 90}}`, `spec.walltime.max: Invalid value: "integer"`},
		{"ClusterQueue", `spec: {walltime: {max: ""}}`, `spec.walltime.max: Invalid value: ""`},
		{"ClusterQueue", `spec: {size: {minNodes: 3, maxNodes: 2}}`, `spec.size.minNodes: Invalid value: minNodes is above maxNodes, so nothing could use the queue`},
		{"ClusterQueue", `spec: {size: {maxPods: 0}}`, `spec.size.maxPods: Invalid value: 0`},
		{"ClusterQueue", `spec: {access: {namespaceSelector: {matchExpressions: [{key: x, operator: Is, values: [a]}]}}}`, `spec.access.namespaceSelector.matchExpressions: Invalid value: an operator must be In, NotIn, Exists or DoesNotExist`},
		{"ClusterQueue", `spec: {access: {namespaceSelector: {matchExpressions: [{key: x, operator: In}]}}}`, `In and NotIn need values`},
		{"ClusterQueue", `spec: {preemption: {grace: 2 minutes}}`, `"2 minutes" is not a duration`},
		{"ClusterQueue", `metadata: {name: ` + long + `}`, `a ClusterQueue's name has at most 63 characters`},
		{"ClusterQueue", `spec: {access: {allowAccounts: [lab, lab]}}`, `spec.access.allowAccounts[1]: Duplicate value: "lab"`},
		{"ClusterQueue", `spec: {access: {denyAccounts: [Lab]}}`, `spec.access.denyAccounts[0]: Invalid value: "Lab"`},
		{"ClusterQueue", `spec: {access: {allowQoS: [high]}}`, `spec.access.allowQoS: Forbidden: unknown field`},
		{"Account", `spec: {limits: {maxRunning: 3}}`, `spec.limits: Forbidden: unknown field`},
		{"Account", `spec: {budget: {period: 30d, gpuHours: 100}}`, `spec.budget: Forbidden: unknown field`},
		{"Account", `spec: {users: [{name: ann, limits: {maxRunning: 3}}]}`, `spec.users[0].limits: Forbidden: unknown field`},
		{"Account", `spec: {users: [{name: ann}, {name: ann}]}`, `spec.users[1]: Duplicate value`},
		{"Account", `spec: {users: [{shares: 1}]}`, `spec.users[0].name: Required value`},
		{"Account", `spec: {shares: -1}`, `spec.shares: Invalid value: -1`},
		{"Account", `spec: {parentName: x}`, `Account x cannot be its own parent: name another one`},
		{"Account", `metadata: {name: ` + long + `}`, `an Account's name has at most 63 characters`},
		{"LocalQueue", `spec: {clusterQueueNames: [a], accountName: Lab}`, `spec.accountName: Invalid value: "Lab"`},
		{"LocalQueue", `{}`, `spec: Required value`},
		{"LocalQueue", `spec: {}`, `spec.clusterQueueNames: Required value`},
		{"LocalQueue", `spec: {clusterQueueNames: []}`, `spec.clusterQueueNames: Invalid value`},
		{"LocalQueue", `spec: {clusterQueueNames: [a, b, c, d, e, f, g, h, i]}`, `spec.clusterQueueNames: Too many: 9: must have at most 8 items`},
		{"LocalQueue", `spec: {clusterQueueNames: [A]}`, `spec.clusterQueueNames[0]: Invalid value: "A"`},
		{"LocalQueue", `spec: {clusterQueueNames: [a], hold: "true"}`, `spec.hold: Unsupported value: "true": supported values: "None", "Hold"`},
		{"LocalQueue", `{metadata: {name: ` + long + `}, spec: {clusterQueueNames: [a]}}`, `a LocalQueue's name has at most 63 characters, because Jobs name it in a label`},
		{"ResourceFlavor", `metadata: {name: ` + long + `}`, `a ResourceFlavor's name has at most 63 characters`},
		{"ResourceFlavor", `spec: {nodeSelector: {matchExpressions: [{key: x, operator: Exists, values: [a]}]}}`, `Exists and DoesNotExist take none`},
		{"ResourceFlavor", `spec: {tolerations: [{key: a, operator: Has}]}`, `spec.tolerations[0].operator: Invalid value: operator is Has: it must be Exists or Equal`},
		{"ResourceFlavor", `spec: {tolerations: [{key: a, operator: Exists, effect: Never}]}`, `effect is Never: it must be NoSchedule`},
		{"ResourceFlavor", `spec: {tolerations: [{value: a}]}`, `without a key, which stands for all taints, operator must be Exists`},
		{"ResourceFlavor", `spec: {tolerations: [{key: a, operator: Exists, value: b}]}`, `with operator Exists there is no value`},
		{"ResourceFlavor", `spec: {tolerations: [{key: a, operator: Exists, tolerationSeconds: 5}]}`, `tolerationSeconds needs effect NoExecute`},
		{"ResourceFlavor", `spec: {topologyName: Racks}`, `spec.topologyName: Invalid value: "Racks"`},
		{"Topology", `{}`, `spec: Required value`},
		{"Topology", `spec: {levels: []}`, `spec.levels: Invalid value`},
		{"Topology", `spec: {levels: [{name: rack}]}`, `spec.levels[0].nodeLabel: Required value`},
		{"Topology", `spec: {levels: [{name: a b, nodeLabel: x}]}`, `spec.levels[0].name: Invalid value: "a b"`},
		{"Topology", `spec: {levels: [{name: rack, nodeLabel: x}, {name: rack, nodeLabel: y}]}`, `spec.levels[1]: Duplicate value`},
		{"Topology", `spec: {levels: [{name: rack, nodeLabel: x}, {name: host, nodeLabel: x}]}`, `two levels have the same nodeLabel`},
		{"SchedulingPolicy", `metadata: {name: mine}`, `the SchedulingPolicy is named default: there is one for the whole cluster`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {backfill: {mode: Greedy}}}`, `spec.backfill.mode: Unsupported value: "Greedy": supported values: "Conservative", "EASY", "None", "Strict"`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {backfill: {depth: 0}}}`, `spec.backfill.depth: Invalid value: 0`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {preemption: {tiers: "Off"}}}`, `spec.preemption.tiers: Unsupported value: "Off": supported values: "Enabled", "Disabled"`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {preemption: {victims: Oldest}}}`, `spec.preemption.victims: Unsupported value: "Oldest": supported values: "LeastLost", "Youngest", "SmallestFirst"`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {preemption: {qos: Enabled}}}`, `spec.preemption.qos: Forbidden: unknown field`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {priority: {weights: {age: 1000}}}}`, `spec.priority.weights.age: Invalid value: 1000: this version does not have priority by age yet; the only weight is 0`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {priority: {weights: {fairShare: -1}}}}`, `spec.priority.weights.fairShare: Invalid value: -1: this version does not have fair share yet`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {priority: {weights: {size: 1}}}}`, `spec.priority.weights.size: Invalid value: 1: this version does not have priority by size yet`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {priority: {weights: {queue: 1}}}}`, `spec.priority.weights.queue: Invalid value: 1: this version does not have priority by queue yet (priorityTier ranks queues)`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {priority: {weights: {qos: 1}}}}`, `spec.priority.weights.qos: Invalid value: 1: this version does not have service classes yet`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {priority: {weights: {resources: [{name: nvidia.com/gpu, weight: 1}]}}}}`, `spec.priority.weights.resources: Forbidden: unknown field`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {priority: {maxAge: 7d}}}`, `spec.priority.maxAge: Forbidden: unknown field`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {startTimeout: 0s}}`, `startTimeout is 0s: no pod is bound in no time`},
		{"QueuedWorkload", `spec: {queueName: default}`, `spec.podSets: Required value`},
		{"QueuedWorkload", `spec: {queueName: default, podSets: [{name: a, count: 1}, {name: a, count: 1}]}`, `spec.podSets[1]: Duplicate value`},
		{"QueuedWorkload", `spec: {queueName: default, podSets: [{name: a, count: -1}]}`, `spec.podSets[0].count: Invalid value: -1`},
		{"QueuedWorkload", `spec: {queueName: default, podSets: [{name: a}]}`, `spec.podSets[0].count: Required value`},
		{"QueuedWorkload", `spec: {queueName: ` + long + `, podSets: [{name: a, count: 1}]}`, `spec.queueName: Too long: may not be more than 63 bytes`},
		{"QueuedWorkload", `{spec: {queueName: q, podSets: [{name: a, count: 1}]}, status: {allocation: {clusterQueue: gpu}}}`, `status.allocation.startTime: Required value`},
	} {
		t.Run(test.kind+" "+test.text, func(t *testing.T) {
			errs := all[test.kind].submit(t, object(t, test.kind, test.text))
			if !slices.ContainsFunc(errs, func(e string) bool { return strings.Contains(e, test.want) }) {
				t.Errorf("got %q\nwant %q", errs, test.want)
			}
		})
	}
}

// What is left out has the value that the field's comment promises.
func TestDefaults(t *testing.T) {
	t.Parallel()
	all := kinds(t)
	for _, test := range []struct{ kind, text, want string }{
		{"ClusterQueue", `spec: {}`, `spec: {state: Up, priorityTier: 1, exclusive: None}`},
		{"ClusterQueue", `spec: {priorityTier: 0, walltime: {}}`, `spec: {state: Up, priorityTier: 0, walltime: {}, exclusive: None}`},
		{"LocalQueue", `spec: {clusterQueueNames: [a]}`, `spec: {clusterQueueNames: [a], hold: None}`},
		{"Account", `spec: {users: [{name: ann}]}`, `spec: {shares: 1, users: [{name: ann, shares: 1}]}`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {backfill: {}}}`, `{metadata: {name: default}, spec: {backfill: {mode: Conservative, depth: 1000}}}`},
		{"SchedulingPolicy", `{metadata: {name: default}, spec: {preemption: {}}}`, `{metadata: {name: default}, spec: {preemption: {tiers: Enabled, victims: LeastLost}}}`},
		{"ClusterQueue", `spec: {preemption: {}}`, `spec: {state: Up, priorityTier: 1, exclusive: None, preemption: {mode: Never, withinQueue: Never, reclaimWithinCohort: Never, borrowWithinCohort: Never}}`},
	} {
		got := object(t, test.kind, test.text)
		if errs := all[test.kind].submit(t, got); len(errs) > 0 {
			t.Errorf("%s %s: %v", test.kind, test.text, errs)
		}
		if diff := cmp.Diff(object(t, test.kind, test.want), got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.kind, test.text, diff)
		}
	}
}
