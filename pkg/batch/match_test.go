package batch_test

import (
	"testing"

	"github.com/berth-dev/berth/pkg/batch"
)

func TestRequirements(t *testing.T) {
	t.Parallel()
	labels := batch.Labels{"gpu": "h100", "gen": "5", "odd": "five", "empty": ""}
	tests := []struct {
		name string
		req  batch.Requirement
		want bool
	}{
		{"In", batch.Requirement{Key: "gpu", Op: batch.OpIn, Values: []string{"a100", "h100"}}, true},
		{"In other", batch.Requirement{Key: "gpu", Op: batch.OpIn, Values: []string{"a100"}}, false},
		{"In missing key", batch.Requirement{Key: "no", Op: batch.OpIn, Values: []string{""}}, false},
		{"NotIn", batch.Requirement{Key: "gpu", Op: batch.OpNotIn, Values: []string{"a100"}}, true},
		{"NotIn same", batch.Requirement{Key: "gpu", Op: batch.OpNotIn, Values: []string{"h100"}}, false},
		{"NotIn missing key", batch.Requirement{Key: "no", Op: batch.OpNotIn, Values: []string{"a"}}, true},
		{"Exists", batch.Requirement{Key: "empty", Op: batch.OpExists}, true},
		{"Exists missing key", batch.Requirement{Key: "no", Op: batch.OpExists}, false},
		{"DoesNotExist", batch.Requirement{Key: "no", Op: batch.OpNotExists}, true},
		{"DoesNotExist there", batch.Requirement{Key: "empty", Op: batch.OpNotExists}, false},
		{"Gt", batch.Requirement{Key: "gen", Op: batch.OpGreater, Values: []string{"4"}}, true},
		{"Gt equal", batch.Requirement{Key: "gen", Op: batch.OpGreater, Values: []string{"5"}}, false},
		{"Lt", batch.Requirement{Key: "gen", Op: batch.OpLess, Values: []string{"6"}}, true},
		{"Lt no number", batch.Requirement{Key: "odd", Op: batch.OpLess, Values: []string{"6"}}, false},
		{"Gt no bound", batch.Requirement{Key: "gen", Op: batch.OpGreater, Values: []string{"x"}}, false},
		{"Gt missing key", batch.Requirement{Key: "no", Op: batch.OpGreater, Values: []string{"1"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := (batch.LabelSelector{All: []batch.Requirement{tt.req}}).Matches(labels); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestNodeSelectors(t *testing.T) {
	t.Parallel()
	node := &batch.Node{Name: "n1", Labels: batch.Labels{"gpu": "h100", "rack": "r1"}}
	h100 := batch.Requirement{Key: "gpu", Op: batch.OpIn, Values: []string{"h100"}}
	a100 := batch.Requirement{Key: "gpu", Op: batch.OpIn, Values: []string{"a100"}}
	name := func(op batch.Operator, n string) batch.Requirement {
		return batch.Requirement{Key: "metadata.name", Op: op, Values: []string{n}}
	}
	tests := []struct {
		name     string
		selector batch.NodeSelector
		want     bool
	}{
		{"no demand", batch.NodeSelector{}, true},
		{"labels", batch.NodeSelector{Labels: batch.Labels{"gpu": "h100"}}, true},
		{"labels and affinity must both hold", batch.NodeSelector{Labels: batch.Labels{"gpu": "h100"}, AnyOf: []batch.NodeTerm{{Labels: []batch.Requirement{a100}}}}, false},
		{"terms are alternatives", batch.NodeSelector{AnyOf: []batch.NodeTerm{{Labels: []batch.Requirement{a100}}, {Labels: []batch.Requirement{h100}}}}, true},
		{"all of a term must hold", batch.NodeSelector{AnyOf: []batch.NodeTerm{{Labels: []batch.Requirement{h100, a100}}}}, false},
		{"a term without conditions matches nothing", batch.NodeSelector{AnyOf: []batch.NodeTerm{{}}}, false},
		{"no term at all matches nothing", batch.NodeSelector{AnyOf: []batch.NodeTerm{}}, false},
		{"by name", batch.NodeSelector{AnyOf: []batch.NodeTerm{{Names: []batch.Requirement{name(batch.OpIn, "n1")}}}}, true},
		{"by other name", batch.NodeSelector{AnyOf: []batch.NodeTerm{{Names: []batch.Requirement{name(batch.OpIn, "n2")}}}}, false},
		{"not by name", batch.NodeSelector{AnyOf: []batch.NodeTerm{{Names: []batch.Requirement{name(batch.OpNotIn, "n2")}}}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.selector.Matches(node); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestTolerations(t *testing.T) {
	t.Parallel()
	taint := func(effect string) []batch.Taint { return []batch.Taint{{Key: "team", Value: "a", Effect: effect}} }
	tests := []struct {
		name        string
		tolerations []batch.Toleration
		taints      []batch.Taint
		want        bool
	}{
		{"no taint", nil, nil, true},
		{"not tolerated", nil, taint("NoSchedule"), false},
		{"a wish is no taint", nil, taint("PreferNoSchedule"), true},
		{"NoExecute counts", nil, taint("NoExecute"), false},
		{"equal", []batch.Toleration{{Key: "team", Op: "Equal", Value: "a", Effect: "NoSchedule"}}, taint("NoSchedule"), true},
		{"no operator means equal", []batch.Toleration{{Key: "team", Value: "a"}}, taint("NoExecute"), true},
		{"other value", []batch.Toleration{{Key: "team", Value: "b"}}, taint("NoSchedule"), false},
		{"other effect", []batch.Toleration{{Key: "team", Op: "Exists", Effect: "NoExecute"}}, taint("NoSchedule"), false},
		{"exists", []batch.Toleration{{Key: "team", Op: "Exists"}}, taint("NoSchedule"), true},
		{"everything", []batch.Toleration{{Op: "Exists"}}, taint("NoExecute"), true},
		{"unknown operator", []batch.Toleration{{Key: "team", Op: "Like", Value: "a"}}, taint("NoSchedule"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := batch.Tolerates(tt.tolerations, tt.taints); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
