package simulate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAProfileIsRead(t *testing.T) {
	t.Parallel()
	got, err := ParseProfile([]byte(`
nodeGroups:
- prefix: h100
  count: 32
  resources: {nvidia.com/gpu: 8, memory: 2Ti, cpu: "192"}
  labels: {pool: fast}
  racks: 8
  blocks: 2
- prefix: cpu
  count: 4
  taints: [{key: dedicated, value: cpu, effect: NoSchedule}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Profile{NodeGroups: []NodeGroup{
		{
			Prefix: "h100", Count: 32, Racks: 8, Blocks: 2,
			Resources: map[string]Amount{"nvidia.com/gpu": "8", "memory": "2Ti", "cpu": "192"},
			Labels:    map[string]string{"pool": "fast"},
		},
		{Prefix: "cpu", Count: 4, Taints: []Taint{{Key: "dedicated", Value: "cpu", Effect: "NoSchedule"}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAProfileThatIsWrongIsRefusedByFieldAndValue(t *testing.T) {
	t.Parallel()
	group := func(fields string) string { return "nodeGroups: [{prefix: w, count: 4, " + fields + "}]" }
	cases := []struct {
		name, profile string
		want          []string
	}{
		{"no groups", "nodeGroups: []", []string{"nodeGroups: empty"}},
		{"nothing at all", "", []string{"nodeGroups: empty"}},
		{"not YAML", "nodeGroups: [", []string{"yaml"}},
		{"a field that does not exist", group("gpus: 8"), []string{"nodeGroups[0].gpus", "prefix, count, resources"}},
		{"a field twice", "nodeGroups: [{prefix: w, count: 1, count: 2}]", []string{"count", "already"}},
		{"a number that is none", "nodeGroups: [{prefix: w, count: many}]", []string{"count"}},
		{"a prefix that YAML takes for a boolean", "nodeGroups: [{prefix: n, count: 4}]", []string{"prefix", "quotes"}},
		{"a label's value that YAML takes for a boolean", group("labels: {fast: yes}"), []string{"labels", "quotes"}},
		{"no prefix", "nodeGroups: [{count: 4}]", []string{"nodeGroups[0].prefix", `""`}},
		{"a prefix that is no name", "nodeGroups: [{prefix: My_Node, count: 4}]", []string{"nodeGroups[0].prefix", "My_Node"}},
		{"a prefix that is too long", "nodeGroups: [{prefix: " + strings.Repeat("n", 55) + ", count: 4}]", []string{"prefix", "55", "50"}},
		{"no nodes", "nodeGroups: [{prefix: w, count: 0}]", []string{"nodeGroups[0].count", "0"}},
		{"too many nodes", "nodeGroups: [{prefix: w, count: 20001}]", []string{"count", "20001", "20000"}},
		{"too many nodes together", "nodeGroups: [{prefix: a, count: 15000}, {prefix: b, count: 15000}]", []string{"30000"}},
		{"the same prefix twice", "nodeGroups: [{prefix: w, count: 1}, {prefix: w, count: 1}]", []string{"nodeGroups[1].prefix", `"w"`, "nodeGroups[0]"}},
		{"more racks than nodes", group("racks: 5"), []string{"nodeGroups[0].racks", "5", "4"}},
		{"fewer than no racks", group("racks: -1"), []string{"racks", "-1"}},
		{"more blocks than racks", group("racks: 2, blocks: 3"), []string{"blocks", "3", "2"}},
		{"more blocks than nodes", group("blocks: 5"), []string{"blocks", "5", "4"}},
		{"fewer than no blocks", group("blocks: -2"), []string{"blocks", "-2"}},
		{"an amount that is none", group("resources: {nvidia.com/gpu: eight}"), []string{"resources[nvidia.com/gpu]", "eight"}},
		{"half a GPU", group("resources: {nvidia.com/gpu: 0.5}"), []string{"resources[nvidia.com/gpu]", "0.5", "whole"}},
		{"less than nothing", group("resources: {cpu: -1}"), []string{"resources[cpu]", "-1"}},
		{"a resource that is no name", group("resources: {'a b': 1}"), []string{"resources[a b]"}},
		{"a label that is none", group("labels: {'a b': c}"), []string{"labels[a b]"}},
		{"a label's value that is none", group("labels: {a: 'b c'}"), []string{"labels[a]", "b c"}},
		{"a label that is the node's name", group("labels: {kubernetes.io/hostname: x}"), []string{"kubernetes.io/hostname"}},
		{"a taint's effect that does not exist", group("taints: [{key: a, effect: Never}]"), []string{"taints[0].effect", "Never", "NoSchedule"}},
		{"a taint without a key", group("taints: [{effect: NoSchedule}]"), []string{"taints[0].key"}},
		{"a taint's value that is none", group("taints: [{key: a, value: 'b c', effect: NoSchedule}]"), []string{"taints[0].value", "b c"}},
		{"two mistakes are both told", group("racks: 9, resources: {cpu: x}"), []string{"racks", "9", "resources[cpu]"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseProfile([]byte(c.profile))
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in: %v", want, err)
				}
			}
		})
	}
}

func TestAProblemIsPutInTheWordsOfTheFlags(t *testing.T) {
	t.Parallel()
	err := FirstProblem(NodeGroup{Prefix: "n", Count: 2, Racks: 3}, map[string]string{"racks": "--racks"})
	if err == nil || !strings.HasPrefix(err.Error(), "--racks: 3") {
		t.Errorf("got %v", err)
	}
	if err := FirstProblem(NodeGroup{Prefix: "n", Count: 2}, nil); err != nil {
		t.Errorf("a valid group is refused: %v", err)
	}
}
