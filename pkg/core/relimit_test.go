package core_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

// TestB25DeadlineFollowsAnEditOfARun: it is decided once, survives what the API
// server still says of before, and a restart from the image.
func TestB25DeadlineFollowsAnEditOfARun(t *testing.T) {
	t.Parallel()
	c := core.New()
	c.Step(batch.QueueObserved{Queue: batch.Queue{Name: "main", State: batch.QueueUp, WalltimeMax: batch.Walltime(4 * time.Hour)}})
	c.Step(batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{Name: "ns/main", Queues: []batch.QueueName{"main"}}})
	c.Step(batch.NodeObserved{Node: batch.Node{Name: "n0", Ready: true, Capacity: requests(8)}})
	w := batch.Workload{
		ID: "ns/r", UID: "r", Namespace: "ns", Name: "r", LocalQueue: "ns/main", QueuedAt: zero, Walltime: batch.Walltime(time.Hour),
		PodSets: []batch.PodSet{{Name: "main", Count: 1, Requests: requests(8)}},
	}
	c.Step(batch.WorkloadObserved{Workload: w})
	c.Step(batch.OwnerObserved{ID: w.ID, Owner: batch.Owner{Suspended: true}})
	start := c.Plan(zero)
	c.Step(batch.PlanIssued{Plan: start})
	w.Allocation = &start.Start[0].Allocation
	c.Step(batch.WorkloadObserved{Workload: w})
	c.Step(batch.OwnerObserved{ID: w.ID, Owner: batch.Owner{Started: true}})

	for _, edit := range []struct {
		walltime batch.Walltime
		want     time.Duration
		refused  bool
	}{
		{batch.Walltime(2 * time.Hour), 2 * time.Hour, false},
		{batch.Walltime(5 * time.Hour), 2 * time.Hour, true},
		{batch.Walltime(30 * time.Minute), 30 * time.Minute, false},
		{0, 4 * time.Hour, false}, // removed: the queue's
	} {
		w.Walltime = edit.walltime // and the allocation is what it was at first: no write has come back
		c.Step(batch.WorkloadObserved{Workload: w})
		plan := c.Plan(zero.Add(time.Minute))
		if len(plan.Relimit) != 1 || !plan.Relimit[0].Deadline.Equal(zero.Add(edit.want)) || (plan.Relimit[0].Refused != "") != edit.refused {
			t.Fatalf("walltime %v: %+v, want a deadline after %v", edit.walltime, plan.Relimit, edit.want)
		}
		c.Step(batch.PlanIssued{Plan: plan})
		c.Step(batch.WorkloadObserved{Workload: w})
		restored := core.Restore(c.Image())
		for name, is := range map[string]*core.Core{"this": c, "restored": restored} {
			again := is.Plan(zero.Add(time.Minute))
			got, _ := is.Workload(w.ID)
			if !again.Empty() || !got.Allocation.Deadline.Equal(zero.Add(edit.want)) {
				t.Fatalf("walltime %v, %s core: deadline %v, and another plan %+v", edit.walltime, name, got.Allocation.Deadline, again.Relimit)
			}
		}
	}
}

// TestB25AnEditIsAnsweredByWhoeverComesNext: the record of a run says that its
// walltime was edited, and that its deadline does not follow from that yet.
func TestB25AnEditIsAnsweredByWhoeverComesNext(t *testing.T) {
	t.Parallel()
	c := core.New()
	c.Step(batch.QueueObserved{Queue: batch.Queue{Name: "main", State: batch.QueueUp}})
	c.Step(batch.NodeObserved{Node: batch.Node{Name: "n0", Ready: true, Capacity: requests(8)}})
	w := batch.Workload{
		ID: "ns/r", UID: "r", Namespace: "ns", Name: "r", LocalQueue: "ns/main", QueuedAt: zero, Walltime: batch.Walltime(2 * time.Hour),
		PodSets: []batch.PodSet{{Name: "main", Count: 1, Requests: requests(8)}},
		Allocation: &batch.Allocation{
			Queue: "main", Start: zero, Deadline: zero.Add(time.Hour), PodSets: []batch.Placement{{PodSet: "main", Hosts: []batch.NodeName{"n0"}}},
		},
		Relimited: true,
	}
	c.Step(batch.WorkloadObserved{Workload: w})
	c.Step(batch.OwnerObserved{ID: w.ID, Owner: batch.Owner{Started: true}})
	plan := c.Plan(zero.Add(time.Minute))
	want := []batch.RelimitDecision{{ID: w.ID, Walltime: w.Walltime, Deadline: zero.Add(2 * time.Hour)}}
	if diff := cmp.Diff(want, plan.Relimit); diff != "" {
		t.Fatalf("the first plan (-want +got):\n%s", diff)
	}
	c.Step(batch.PlanIssued{Plan: plan})
	c.Step(batch.WorkloadObserved{Workload: w}) // as it was: no write has come back
	if again := c.Plan(zero.Add(time.Minute)); len(again.Relimit) > 0 {
		t.Errorf("it is answered again: %+v", again.Relimit)
	}
}
