package convert_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

func TestUseIsSaidWithItsQuota(t *testing.T) {
	t.Parallel()
	bounded := func(flavor batch.FlavorName, resource batch.ResourceName, used, nominal batch.Amount) batch.Standing {
		return batch.Standing{Flavor: flavor, Resource: resource, Used: used, Nominal: batch.LimitOf(nominal)}
	}
	for _, c := range []struct {
		name      string
		standings []batch.Standing
		want      string
	}{
		{"two flavors", []batch.Standing{bounded("h100", batch.ResourceGPU, 12, 64), bounded("a100", batch.ResourceGPU, 3, 2000), bounded("a100", "cpu", 5000, 9000)}, "15/2064"},
		{"used without a quota", []batch.Standing{{Flavor: "h100", Resource: batch.ResourceGPU, Used: 2}}, "2"},
		{"no GPUs", []batch.Standing{bounded("a", "cpu", 5000, 9000)}, ""},
	} {
		if got := convert.GPUs(convert.Usage(c.standings, true)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	want := []v1alpha1.QueueUsage{{Flavor: "a", Resource: "cpu", Used: "5", Nominal: "9"}}
	if diff := cmp.Diff(want, convert.Usage([]batch.Standing{bounded("a", "cpu", 5000, 9000)}, false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Pods that were removed by force are read back as what they were, until their
// time is over; never for less than it.
func TestLingeringPodsAreReadBack(t *testing.T) {
	t.Parallel()
	now := at(0)
	pod := batch.Pod{
		UID: "u", Name: "lab/a-0", Workload: "lab/job-a-1", Node: "n1", Phase: batch.PodBound, Queue: "gpu", Flavor: "h100",
		GoneBy: now.Add(1500 * time.Millisecond), Requests: batch.Resources{batch.ResourceCPU: 1500, "memory": 3 << 30, batch.ResourceGPU: 8, batch.ResourcePods: 1},
	}
	queue := &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	queue.Status.Lingering = convert.Lingering([]batch.Pod{pod})
	pod.GoneBy = now.Add(2 * time.Second)
	if diff := cmp.Diff([]batch.Pod{pod}, convert.LingeringPods(queue, now)); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if left := convert.LingeringPods(queue, pod.GoneBy); left != nil {
		t.Errorf("after its time there is %+v", left)
	}
	if n := len(convert.Lingering(make([]batch.Pod, 300))); n != 256 {
		t.Errorf("%d of 300 are named, 256 may be", n)
	}
}
