package config_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/yaml"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	inprocess "github.com/berth-dev/berth/pkg/admission"
)

func withQuotas(t *testing.T, kind, quotas string) *unstructured.Unstructured {
	t.Helper()
	above := map[string]string{"ClusterQueue": "cohortName", "Cohort": "parentName"}[kind]
	text := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: q}, spec: {%s: all, flavors: [{name: a, resources: [%s]}]}}",
		v1alpha1.GroupVersion, kind, above, quotas)
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(data); err != nil { // whole numbers stay whole
		t.Fatal(err)
	}
	return out
}

// TestQuotaGuard: an amount that is too large to be counted is refused where it is
// written, in a cluster and in a scenario, in the same words.
func TestQuotaGuard(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	scenarios, err := inprocess.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ kind, quotas, want string }{
		{"ClusterQueue", `{name: nvidia.com/gpu, nominalQuota: "9223372036854775807"}, {name: cpu, nominalQuota: 64}, {name: memory, nominalQuota: 7Ei}`, ""},
		{"ClusterQueue", `{name: memory, nominalQuota: 9007199254740991Ki}, {name: cpu, nominalQuota: "9223372036854775"}`, ""},
		{"ClusterQueue", `{name: memory, nominalQuota: 922337203685477580Gi}`, "nominalQuota of memory in flavor a is 922337203685477580Gi: memory is counted up to 9223372036854775807; write that, or less"},
		{"Cohort", `{name: memory, nominalQuota: 8Ei}`, "nominalQuota of memory in flavor a is 8Ei: memory is counted up to 9223372036854775807; write that, or less"},
		{"Cohort", `{name: memory, nominalQuota: 9007199254740992Ki}`, "is 9007199254740992Ki: memory is counted up to 9223372036854775807"},
		{"Cohort", `{name: cpu, nominalQuota: "9223372036854775807"}`, "nominalQuota of cpu in flavor a is 9223372036854775807: cpu is counted up to 9223372036854775; write that, or less"},
		{"Cohort", `{name: cpu, nominalQuota: 9223372036854776}`, "nominalQuota of cpu in flavor a is 9223372036854776: cpu is counted up to 9223372036854775; write that, or less"},
		{
			"ClusterQueue", `{name: memory, nominalQuota: "1", borrowingLimit: 10E}, {name: cpu, nominalQuota: "1", lendingLimit: 9999.9T}`,
			"borrowingLimit of memory in flavor a is 10E: memory is counted up to 9223372036854775807; write that, or less, lendingLimit of cpu in flavor a is 9999.9T: cpu",
		},
	} {
		t.Run(test.quotas, func(t *testing.T) {
			t.Parallel()
			object := withQuotas(t, test.kind, test.quotas)
			got := message(s.admit(alice, admission.Create, nil, object))
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got != "" {
				marked := object.DeepCopy()
				marked.SetLabels(map[string]string{"a": "b"})
				if again := message(s.admit(alice, admission.Update, object, marked)); again != "" {
					t.Errorf("what was there before is refused with another edit: %q", again)
				}
			}
			_, err := scenarios.Admit(object.Object, nil)
			if said := ""; err != nil {
				if said = err.Error(); said != got {
					t.Errorf("a scenario is told %q, a cluster %q", said, got)
				}
			} else if got != "" {
				t.Errorf("a scenario may have it, and a cluster says %q", got)
			}
		})
	}
}
