package scenarios_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/pkg/scenario"
)

// A gang should take as few domains of a topology as it can, which is not built:
// a file in which that would decide where one goes is refused, and no other.
func TestAFileInWhichPackingByTopologyWouldDecideIsRefused(t *testing.T) {
	t.Parallel()
	const (
		racks  = "kind: Topology\nmetadata: {name: room}\nspec: {levels: [{name: rack, nodeLabel: rack}, {name: host, nodeLabel: kubernetes.io/hostname}]}\n---\n"
		blocks = "kind: Topology\nmetadata: {name: room}\nspec: {levels: [{name: block, nodeLabel: block}, {name: rack, nodeLabel: rack}]}\n---\n"
		flavor = "kind: ResourceFlavor\nmetadata: {name: f}\nspec: {topologyName: room}\n---\n"
		bare   = "kind: ResourceFlavor\nmetadata: {name: f}\nspec: {}\n---\n"
		later  = "{at: 1h, apply: {apiVersion: berth.dev/v1alpha1, kind: ResourceFlavor, metadata: {name: f}, spec: {topologyName: room}}}"
		packs  = "this version does not have packing by topology yet"
	)
	for _, test := range []struct{ name, objects, rest, refused string }{
		{"a gang that requires nothing", racks + flavor, "jobs: [{name: a, pods: 2}]", packs},
		{"a gang in two pod sets", racks + flavor, "jobs: [{name: a, podSets: [{name: x}, {name: y}]}]", packs},
		{"a flavor that gets a topology later", racks + bare, "jobs: [{name: a, pods: 2}]\n  events: [" + later + "]", packs},
		{"a log", racks + flavor, "trace: {file: x.swf, format: swf}", packs},
		{"a level with narrower ones below it", blocks + flavor, "jobs: [{name: a, pods: 2, topology: {required: block}}]", packs + ", and would play the file wrongly without: job a requires one block"},
		{"the narrowest level", blocks + flavor, "jobs: [{name: a, pods: 2, topology: {required: rack}}]", ""},
		{"the level above the host", racks + flavor, "jobs: [{name: a, pods: 2, topology: {required: rack}}]", ""},
		{"single pods", racks + flavor, "jobs: [{name: a}, {name: b, array: {count: 3}}]", ""},
		{"a flavor without a topology", racks + bare, "jobs: [{name: a, pods: 2}]", ""},
		{"what is preferred", racks + flavor, "jobs: [{name: a, pods: 2, topology: {preferred: rack}}]", "this version does not have topology.preferred yet"},
		{"slices", racks + flavor, "jobs: [{name: a, pods: 2, topology: {required: rack, slice: {size: 1, level: host}}}]", "this version does not have topology.slice yet"},
		{"a topology of one pod set", racks + flavor, "jobs: [{name: a, podSets: [{name: x, topology: {required: rack}}]}]", "this version does not have topology of single pod sets (topology) yet"},
		{"a topology that says nothing", racks + flavor, "jobs: [{name: a, pods: 2, topology: {}}]", "spec.jobs[0].topology: says nothing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(test.objects, "kind: ", "apiVersion: berth.dev/v1alpha1\nkind: ") +
				"apiVersion: sim.berth.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n  nodes: [{prefix: n, count: 2}]\n  " + test.rest + "\n"
			_, err := scenario.Load("x.yaml", []byte(text), scenario.Options{Admitter: server(t)})
			switch {
			case test.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("got %v, want %s", err, test.refused)
			}
		})
	}
}
