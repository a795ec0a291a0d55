package topology_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/topology"
)

func node(name string, labels batch.Labels) *batch.NodeView {
	return &batch.NodeView{Node: &batch.Node{Name: batch.NodeName(name), Labels: labels}}
}

func hall() *batch.Topology {
	return &batch.Topology{Name: "hall", Levels: []batch.TopologyLevel{{Name: "block", Label: "b"}, {Name: "rack", Label: "r"}, {Name: "host", Label: "h"}}}
}

func TestDomainsAreKnownByTheirPath(t *testing.T) {
	t.Parallel()
	nodes := []*batch.NodeView{
		node("0", batch.Labels{"b": "b2", "r": "r1", "h": "0"}),
		node("1", batch.Labels{"b": "b1", "r": "r2", "h": "1"}),
		node("2", batch.Labels{"b": "b1", "r": "r1", "h": "2"}),
		node("3", batch.Labels{"b": "b1", "r": "r2", "h": "3"}),
		node("no block", batch.Labels{"r": "r1", "h": "4"}),
		node("no rack", batch.Labels{"b": "b1", "h": "5"}),
		node("empty", batch.Labels{"b": "b1", "r": "", "h": "6"}),
	}
	for _, test := range []struct {
		level string
		want  []topology.Domain
		known bool
	}{
		{"block", []topology.Domain{{Path: []string{"b1"}, Nodes: []int32{1, 2, 3, 5, 6}}, {Path: []string{"b2"}, Nodes: []int32{0}}}, true},
		{"rack", []topology.Domain{
			{Path: []string{"b1", ""}, Nodes: []int32{6}},
			{Path: []string{"b1", "r1"}, Nodes: []int32{2}},
			{Path: []string{"b1", "r2"}, Nodes: []int32{1, 3}},
			{Path: []string{"b2", "r1"}, Nodes: []int32{0}},
		}, true},
		{"row", nil, false},
	} {
		got, known := topology.Domains(hall(), test.level, nodes)
		if diff := cmp.Diff(test.want, got); diff != "" || known != test.known {
			t.Errorf("%s: known %v, want %v (-want +got):\n%s", test.level, known, test.known, diff)
		}
	}
	if got, _ := topology.Domains(hall(), "rack", nil); len(got) > 0 {
		t.Errorf("no nodes have domains: %v", got)
	}
}

func TestOnlyTheNodesOfADomain(t *testing.T) {
	t.Parallel()
	d := &topology.Domain{Path: []string{"b1", "r2"}, Nodes: []int32{1, 3, 5}}
	for _, test := range []struct{ some, want []int32 }{
		{[]int32{0, 1, 2, 3, 4}, []int32{1, 3}},
		{[]int32{0, 2, 6}, nil},
		{nil, nil},
		{[]int32{5, 7}, []int32{5}},
	} {
		if diff := cmp.Diff(test.want, d.Only(test.some)); diff != "" {
			t.Errorf("of %v (-want +got):\n%s", test.some, diff)
		}
	}
	if diff := cmp.Diff([]int32{2, 4}, (*topology.Domain)(nil).Only([]int32{2, 4})); diff != "" {
		t.Errorf("no domain (-want +got):\n%s", diff)
	}
	if d.Name() != "b1/r2" {
		t.Errorf("its name is %q", d.Name())
	}
}
