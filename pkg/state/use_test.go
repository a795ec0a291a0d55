package state_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/state"
)

// drawReorganization draws an edit, a move or a deletion of a queue or cohort.
func drawReorganization(t *rapid.T) batch.Event {
	queue := batch.QueueName(rapid.SampledFrom([]string{"main", "other"}).Draw(t, "queue"))
	cohort := batch.CohortName(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "cohort"))
	quotas := batch.Quotas{"f": {batch.ResourceGPU: {Nominal: batch.Amount(rapid.IntRange(0, 9).Draw(t, "nominal"))}}}
	if rapid.Bool().Draw(t, "no quota") {
		quotas = nil
	}
	switch rapid.IntRange(0, 5).Draw(t, "reorganization") {
	case 0:
		return batch.QueueGone{Name: queue}
	case 1:
		return batch.CohortGone{Name: cohort}
	case 2:
		return batch.CohortObserved{Cohort: batch.Cohort{Name: cohort, Parent: "b", Quotas: quotas}}
	default:
		return batch.QueueObserved{Queue: batch.Queue{Name: queue, Cohort: cohort, Quotas: quotas}}
	}
}

// What is used of quotas is, after any sequence of events, what a state made
// from its image says, and what is taken of the nodes: nothing leaks, and
// nothing is forgotten, whatever becomes of the queues meanwhile.
func TestUsesAreThoseOfAStateMadeAnew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := state.New()
		quotas := batch.QueueObserved{Queue: batch.Queue{Name: "main", Quotas: batch.Quotas{"f": {batch.ResourceGPU: {Nominal: 1}}}}}
		if rapid.Bool().Draw(t, "has quotas from the beginning") {
			s.Step(quotas)
		}
		for _, e := range drawEvents(t) {
			if observed, ok := e.event.(batch.PodObserved); ok && rapid.Bool().Draw(t, "released by us") {
				observed.Pod.Queue, observed.Pod.Flavor = "main", "f"
				e.event = observed
			}
			s.Step(e.event)
			if rapid.IntRange(0, 2).Draw(t, "reorganize") == 0 {
				s.Step(drawReorganization(t))
			}
			switch rapid.IntRange(0, 5).Draw(t, "quotas come and go") {
			case 0:
				s.Step(quotas)
			case 1:
				s.Step(batch.QueueObserved{Queue: batch.Queue{Name: "main"}})
			}
			if rapid.Bool().Draw(t, "look") {
				s.Snapshot() // what is worked out now must not be taken for what is later
			}
		}
		s.Step(quotas)
		for i := range nodeCount {
			s.Step(batch.NodeObserved{Node: batch.Node{Name: batch.NodeName(fmt.Sprintf("n%d", i))}})
		}
		uses := s.Snapshot().Uses
		if diff := cmp.Diff(state.Restore(s.Image()).Snapshot().Uses, uses, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-made anew +grown):\n%s", diff)
		}
		counted := map[batch.WorkloadID]batch.Resources{}
		for _, u := range uses {
			counted[u.By] = counted[u.By].Plus(u.Requests)
		}
		charged := map[batch.WorkloadID]batch.Resources{}
		for _, view := range s.Snapshot().Nodes {
			for _, c := range view.Charges {
				charged[c.By] = charged[c.By].Plus(c.Requests)
			}
		}
		for id, sum := range counted { //order:any each by itself
			if w, ok := s.Workload(id); ok && w.Allocation != nil && !charged[id].Equal(sum) {
				t.Fatalf("%s takes %v of its quota and %v of the nodes", id, sum, charged[id])
			}
		}
	})
}
