// Package simulate says what a simulated cluster is made of: groups of nodes
// with their places in the network, and the life of a pod on such a node. It
// computes; pkg/sandbox carries it into an API server.
package simulate

import (
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels that tell a node's place in the network.
const (
	BlockLabel = "topology.berth.dev/block"
	RackLabel  = "topology.berth.dev/rack"
)

// The annotation by which kwok knows the nodes that it plays.
const (
	fakeNodeAnnotation = "kwok.x-k8s.io/node"
	fakeNodeValue      = "fake"
)

// GPUResource is the resource that --gpus counts.
const GPUResource = "nvidia.com/gpu"

// NodeGroup is a number of like nodes.
type NodeGroup struct {
	// prefix begins the nodes' names: PREFIX-00, PREFIX-01, …
	Prefix string `json:"prefix"`
	// count is the number of nodes.
	Count int `json:"count"`
	// resources of each node. What is left out of cpu, memory, pods and
	// ephemeral-storage has the defaults of DefaultResources.
	Resources map[string]Amount `json:"resources,omitempty"`
	// labels of each node, besides those of its name and place.
	Labels map[string]string `json:"labels,omitempty"`
	// taints of each node.
	Taints []Taint `json:"taints,omitempty"`
	// racks over which the nodes are spread evenly, in order. Left out: the
	// nodes have no rack.
	Racks int `json:"racks,omitempty"`
	// blocks over which the racks are spread evenly, in order. Left out: the
	// nodes have no block.
	Blocks int `json:"blocks,omitempty"`
}

// Amount is a quantity as people write it: "96", "1Ti", also a bare number.
type Amount string

// UnmarshalJSON takes a string or a number.
func (a *Amount) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	*a = Amount(text)
	return nil
}

// Taint keeps pods without a toleration away.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// Place is how many racks and blocks there are already: a group's own are
// numbered on from there, so that no two groups share one.
type Place struct{ Racks, Blocks int }

// Add is the place after a group.
func (p Place) Add(g NodeGroup) Place {
	return Place{Racks: p.Racks + g.Racks, Blocks: p.Blocks + g.Blocks}
}

// DefaultResources are those of a node whose group does not say otherwise.
func DefaultResources() map[string]Amount {
	return map[string]Amount{"cpu": "96", "memory": "1Ti", "pods": "110", "ephemeral-storage": "2Ti"}
}

// Nodes are the nodes of a valid group.
func Nodes(g NodeGroup, base Place) ([]*corev1.Node, error) {
	if problems := g.Problems("group " + g.Prefix); len(problems) > 0 {
		return nil, fmt.Errorf("%s", problems[0])
	}
	capacity := g.capacity()
	nodes := make([]*corev1.Node, 0, g.Count)
	for i := range g.Count {
		name := g.NodeName(i)
		nodes = append(nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name:        name,
				Labels:      g.labels(i, base),
				Annotations: map[string]string{fakeNodeAnnotation: fakeNodeValue},
			},
			Spec: corev1.NodeSpec{Taints: g.taints()},
			// A node that is born ready spares a write of its "kubelet" and
			// the time until somebody notices it.
			Status: corev1.NodeStatus{
				Capacity:    capacity,
				Allocatable: capacity,
				Conditions:  readyConditions(),
				Addresses:   []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
				NodeInfo:    corev1.NodeSystemInfo{Architecture: "amd64", OperatingSystem: "linux"},
			},
		})
	}
	return nodes, nil
}

// NodeName is the name of the group's i-th node, padded so that the order of
// names is the order of numbers.
func (g NodeGroup) NodeName(i int) string { return g.Prefix + "-" + padded(i, g.Count, 2) }

func (g NodeGroup) labels(i int, base Place) map[string]string {
	labels := map[string]string{
		corev1.LabelHostname:   g.NodeName(i),
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
	}
	if g.Racks > 0 {
		rack := rackOf(i, g.Count, g.Racks)
		labels[RackLabel] = "rack-" + padded(base.Racks+rack, base.Racks+g.Racks, 1)
	}
	if g.Blocks > 0 {
		labels[BlockLabel] = "block-" + padded(base.Blocks+g.blockOf(i), base.Blocks+g.Blocks, 1)
	}
	maps.Copy(labels, g.Labels)
	return labels
}

// blockOf is the block of the i-th node: that of its rack, because a rack
// stands in one block.
func (g NodeGroup) blockOf(i int) int {
	if g.Racks == 0 {
		return rackOf(i, g.Count, g.Blocks)
	}
	return rackOf(rackOf(i, g.Count, g.Racks), g.Racks, g.Blocks)
}

// rackOf spreads n things over r places, evenly and in order: neighbours stay
// neighbours, and sizes differ by at most one.
func rackOf(i, n, r int) int { return i * r / n }

func (g NodeGroup) capacity() corev1.ResourceList {
	amounts := DefaultResources()
	maps.Copy(amounts, g.Resources)
	list := make(corev1.ResourceList, len(amounts))
	for name, amount := range amounts { //order:any a map again
		list[corev1.ResourceName(name)] = resource.MustParse(string(amount)) // checked by Problems
	}
	return list
}

func (g NodeGroup) taints() []corev1.Taint {
	taints := make([]corev1.Taint, 0, len(g.Taints))
	for _, t := range g.Taints {
		taints = append(taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return taints
}

func readyConditions() []corev1.NodeCondition {
	return []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "simulated node"},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "simulated node"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "simulated node"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "simulated node"},
		{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated", Message: "simulated node"},
	}
}

// padded is i with as many digits as the last of n numbers has, at least so many.
func padded(i, n, least int) string {
	width := max(len(strconv.Itoa(n-1)), least)
	return fmt.Sprintf("%0*d", width, i)
}
