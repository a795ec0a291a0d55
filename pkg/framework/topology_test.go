package framework_test

import (
	"testing"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/framework"
)

func TestAJobSaysWhereItsPodsLie(t *testing.T) {
	t.Parallel()
	job := waitingJob()
	if got := (framework.Job{}).Spec(job, convert.PodDefaults{}).PodSets[0].Topology; got != nil {
		t.Errorf("without a word it requires one %s", got.Required)
	}
	for text, want := range map[string]string{"required=rack": "rack", "preferred=rack": "preferred=rack"} { //order:any each by itself
		job.Annotations[v1alpha1.TopologyAnnotation] = text
		if got := (framework.Job{}).Spec(job, convert.PodDefaults{}).PodSets[0].Topology; got == nil || got.Required != want {
			t.Errorf("%s: %v, want %q", text, got, want)
		}
	}
}
