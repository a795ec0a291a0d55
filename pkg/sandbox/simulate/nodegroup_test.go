package simulate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

type place struct{ Name, Rack, Block string }

func placesOf(nodes []*corev1.Node) []place {
	places := make([]place, 0, len(nodes))
	for _, node := range nodes {
		places = append(places, place{node.Name, node.Labels[RackLabel], node.Labels[BlockLabel]})
	}
	return places
}

func TestNodesStandInOrder(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		group NodeGroup
		base  Place
		want  []place
	}{
		{
			name:  "neighbours share a rack, and racks a block",
			group: NodeGroup{Prefix: "node", Count: 6, Racks: 3, Blocks: 2},
			want: []place{
				{"node-00", "rack-0", "block-0"},
				{"node-01", "rack-0", "block-0"},
				{"node-02", "rack-1", "block-0"},
				{"node-03", "rack-1", "block-0"},
				{"node-04", "rack-2", "block-1"},
				{"node-05", "rack-2", "block-1"},
			},
		},
		{
			name:  "a group without racks and blocks has neither label",
			group: NodeGroup{Prefix: "cpu", Count: 2},
			want:  []place{{Name: "cpu-00"}, {Name: "cpu-01"}},
		},
		{
			name:  "blocks without racks are spread over the nodes",
			group: NodeGroup{Prefix: "n", Count: 2, Blocks: 2},
			want:  []place{{"n-00", "", "block-0"}, {"n-01", "", "block-1"}},
		},
		{
			name:  "a second group's racks are numbered on, padded so that their order is that of numbers",
			group: NodeGroup{Prefix: "n", Count: 2, Racks: 2, Blocks: 1},
			base:  Place{Racks: 9, Blocks: 1},
			want:  []place{{"n-00", "rack-09", "block-1"}, {"n-01", "rack-10", "block-1"}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			nodes, err := Nodes(c.group, c.base)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, placesOf(nodes)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestANodeIsWhatItsGroupSays(t *testing.T) {
	t.Parallel()
	nodes, err := Nodes(NodeGroup{
		Prefix:    "gpu",
		Count:     1,
		Resources: map[string]Amount{GPUResource: "8", "cpu": "12"},
		Labels:    map[string]string{"kind": "fast", corev1.LabelArchStable: "arm64"},
		Taints:    []Taint{{Key: "only", Value: "us", Effect: "NoSchedule"}},
	}, Place{})
	if err != nil {
		t.Fatal(err)
	}
	node := nodes[0]
	wantLabels := map[string]string{"kind": "fast", corev1.LabelArchStable: "arm64", corev1.LabelOSStable: "linux", corev1.LabelHostname: "gpu-00"}
	if diff := cmp.Diff(wantLabels, node.Labels); diff != "" {
		t.Errorf("labels (-want +got)\n%s", diff)
	}
	wantTaints := []corev1.Taint{{Key: "only", Value: "us", Effect: corev1.TaintEffectNoSchedule}}
	if diff := cmp.Diff(wantTaints, node.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got)\n%s", diff)
	}
	got := map[string]string{}
	for name, amount := range node.Status.Allocatable { //order:any a map again
		got[string(name)] = amount.String()
	}
	want := map[string]string{GPUResource: "8", "cpu": "12", "memory": "1Ti", "pods": "110", "ephemeral-storage": "2Ti"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("allocatable (-want +got)\n%s", diff)
	}
}

// Every group fills its racks evenly and its blocks with whole racks, and its
// names sort as its numbers do.
func TestNodesAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := NodeGroup{Prefix: "n", Count: rapid.IntRange(1, 300).Draw(t, "count")}
		g.Racks = rapid.IntRange(1, g.Count).Draw(t, "racks")
		g.Blocks = rapid.IntRange(1, g.Racks).Draw(t, "blocks")
		base := Place{Racks: rapid.IntRange(0, 20).Draw(t, "racks before"), Blocks: rapid.IntRange(0, 20).Draw(t, "blocks before")}
		nodes, err := Nodes(g, base)
		if err != nil {
			t.Fatal(err)
		}
		inRack, blockOfRack := map[string]int{}, map[string]string{}
		blocks := map[string]bool{}
		for _, p := range placesOf(nodes) {
			inRack[p.Rack]++
			blocks[p.Block] = true
			if other, known := blockOfRack[p.Rack]; known && other != p.Block {
				t.Fatalf("%s stands in %s and in %s", p.Rack, other, p.Block)
			}
			blockOfRack[p.Rack] = p.Block
		}
		least, most := g.Count, 0
		for _, n := range inRack { //order:any least and most
			least, most = min(least, n), max(most, n)
		}
		if len(inRack) != g.Racks || len(blocks) != g.Blocks || most-least > 1 {
			t.Fatalf("%d racks of %d to %d nodes in %d blocks, want %d racks of equal size in %d", len(inRack), least, most, len(blocks), g.Racks, g.Blocks)
		}
		inOrder := func(a, b place) int {
			for _, c := range [][2]string{{a.Name, b.Name}, {a.Rack, b.Rack}, {a.Block, b.Block}} {
				if c[0] > c[1] {
					return 1
				}
			}
			return -1
		}
		if places := placesOf(nodes); !slices.IsSortedFunc(places, inOrder) {
			t.Fatalf("names, racks or blocks do not sort: %v", places)
		}
	})
}
