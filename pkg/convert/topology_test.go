package convert_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

func TestParseTopology(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"required=rack", "rack"}, {"required=", ""}, {"rack", ""}, {"preferred=rack", ""}, {"required=block,slice=8@rack", ""}, {"required=a b", ""},
	} {
		got, err := convert.ParseTopology(test.text)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q: %q, %v; want %q", test.text, got, err, test.want)
		}
	}
}

func TestATopologyIsRead(t *testing.T) {
	t.Parallel()
	got := convert.Topology(&v1alpha1.Topology{
		ObjectMeta: metav1.ObjectMeta{Name: "room"},
		Spec:       v1alpha1.TopologySpec{Levels: []v1alpha1.TopologyLevel{{Name: "rack", NodeLabel: "r"}, {Name: "host", NodeLabel: "h"}}},
	})
	want := batch.Topology{Name: "room", Levels: []batch.TopologyLevel{{Name: "rack", Label: "r"}, {Name: "host", Label: "h"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := convert.Flavor(&v1alpha1.ResourceFlavor{Spec: v1alpha1.ResourceFlavorSpec{TopologyName: "room"}}).Topology; got != "room" {
		t.Errorf("a flavor has topology %q", got)
	}
}

// What an old object may carry that no policy has seen never starts anywhere.
func TestADemandThatCannotBeReadIsInvalid(t *testing.T) {
	t.Parallel()
	workload := func(required string) batch.Workload {
		return convert.Workload(&v1alpha1.QueuedWorkload{Spec: v1alpha1.QueuedWorkloadSpec{PodSets: []v1alpha1.PodSet{
			{Name: "main", Count: new(int32(2)), Topology: &v1alpha1.PodSetTopology{Required: required}},
		}}})
	}
	if w := workload("rack"); w.Invalid != "" || w.PodSets[0].Domain != "rack" {
		t.Errorf("one rack: %q, invalid %q", w.PodSets[0].Domain, w.Invalid)
	}
	if w := workload("preferred=rack"); !strings.Contains(w.Invalid, "write required=LEVEL") {
		t.Errorf("preferred: %q", w.Invalid)
	}
}
