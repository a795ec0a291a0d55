package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/scenario"
)

// A hold on like nodes may change places with another until it begins. So where
// a node has one slot, it makes no difference whether nodes are named or slots
// are counted.
func TestNamedNodesOfOneSlotArePlannedAsByCounting(t *testing.T) {
	t.Parallel()
	server, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]string{"Conservative", "Conservative", "Strict", "EASY"}).Draw(t, "policy")
		nodes := rapid.IntRange(2, 6).Draw(t, "nodes")
		log := drawLog(t, nodes)
		named := startsOf(t, server, sample{policy: policy, nodes: nodes, perNode: 1, log: log})
		counted := startsOf(t, server, sample{policy: policy, nodes: 1, perNode: nodes, log: log})
		if diff := cmp.Diff(counted, named); diff != "" {
			t.Fatalf("%s, %d nodes (-counted +named):\n%s%s", policy, nodes, log, diff)
		}
	})
}

func drawLog(t *rapid.T, procs int) string {
	var log strings.Builder
	at := 0
	for i := range rapid.IntRange(1, 20).Draw(t, "jobs") {
		at += rapid.SampledFrom([]int{0, 1, 5, 10}).Draw(t, "later")
		walltime := rapid.SampledFrom([]int{5, 10, 20, 30, 60}).Draw(t, "walltime")
		run := rapid.IntRange(1, walltime).Draw(t, "run")
		fmt.Fprintf(&log, "%d %d -1 %d %d -1 -1 -1 %d -1 1 1 1 1 1 1 -1 -1\n",
			i+1, at, run, rapid.IntRange(1, procs).Draw(t, "procs"), walltime)
	}
	return log.String()
}

// sample is a small log and what it runs on.
type sample struct {
	policy         string
	nodes, perNode int
	log            string
}

func startsOf(t tb, server scenario.Admitter, s sample) map[string]int64 {
	got := playLog(t, server, logOf{
		policy: s.policy, perNode: s.perNode,
		text: strings.NewReader(fmt.Sprintf("; MaxProcs: %d\n%s", s.nodes*s.perNode, s.log)),
	})
	if got.result.Breach != nil {
		t.Fatalf("an invariant is breached: %s\n%s", got.result.Breach, s.log)
	}
	return got.starts
}
