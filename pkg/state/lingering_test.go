package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/state"
)

// Queues tell of the pods that were removed by force, and of no others.
func TestQueuesTellOfPodsThatLinger(t *testing.T) {
	t.Parallel()
	s := state.New()
	s.Step(batch.QueueObserved{Queue: batch.Queue{Name: "main"}})
	s.Step(batch.QueueObserved{Queue: batch.Queue{Name: "other"}})
	until := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	for _, p := range []struct {
		name string
		by   time.Time
	}{{"late", until.Add(time.Minute)}, {"soon", until}, {"gone", time.Time{}}} {
		pod := batch.Pod{UID: batch.PodUID(p.name), Name: "ns/" + p.name, Workload: "ns/w", Node: "n1", Phase: batch.PodBound, Queue: "main"}
		s.Step(batch.PodObserved{Pod: pod})
		s.Step(batch.PodGone{UID: pod.UID, By: p.by})
	}
	s.Step(batch.PodObserved{Pod: batch.Pod{UID: "there", Name: "ns/there", Workload: "ns/w", Node: "n1", Phase: batch.PodBound, Queue: "main"}})
	names := map[batch.QueueName][]string{}
	for queue, sum := range s.Summaries() {
		for _, pod := range sum.Lingering {
			names[queue] = append(names[queue], pod.Name)
		}
	}
	if diff := cmp.Diff(map[batch.QueueName][]string{"main": {"ns/soon", "ns/late"}}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
