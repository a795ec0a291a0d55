package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

const (
	hostnameLabel = "kubernetes.io/hostname"
	podsDefault   = 110 // pods a node takes unless it says otherwise
	nodesLimit    = 1_000_000
)

// nodeGroup makes the nodes of a group. Groups of one prefix count on.
func (l *loader) nodeGroup(path string, g *v1alpha1.NodeGroup) []batch.Node {
	count := 1
	if g.Count != nil {
		count = *g.Count
	}
	switch {
	case (g.Name == "") == (g.Prefix == ""):
		l.wrong(path, "needs either name (one node) or prefix (count nodes: prefix: n gives n0, n1, ...)")
		return nil
	case g.Name != "" && count != 1:
		l.wrong(path+".count", "is %d for the one node %q: give a prefix instead of a name", count, g.Name)
		return nil
	case count < 1 || count > nodesLimit:
		l.wrong(path+".count", "is %d: a group has 1 to %d nodes", count, nodesLimit)
		return nil
	}
	capacity := l.resources(path+".resources", g.Resources)
	if _, given := capacity[batch.ResourcePods]; !given {
		capacity[batch.ResourcePods] = podsDefault
	}
	l.resourceNames(path+".resources", FormKey, g.Resources)
	l.labels(path+".labels", g.Labels)
	taints := l.taints(path+".taints", g.Taints)
	l.spread(path, g)
	nodes := make([]batch.Node, 0, count)
	for i := range count {
		name := g.Name
		if name == "" {
			name = fmt.Sprintf("%s%d", g.Prefix, l.numbered[g.Prefix])
			l.numbered[g.Prefix]++
		}
		if i == 0 || i+1 == count { // the last is the longest
			l.name(path, name)
		}
		if l.nodes[batch.NodeName(name)] {
			l.wrong(path, "a node %q is already there", name)
			return nil
		}
		l.nodes[batch.NodeName(name)] = true
		labels := batch.Labels{hostnameLabel: name}
		maps.Copy(labels, g.Labels)
		for label, each := range g.Spread { //order:any each sets its own label
			labels[label] = fmt.Sprintf("%s%d", spreadLetter(label), i/max(each, 1))
		}
		nodes = append(nodes, batch.Node{Name: batch.NodeName(name), Labels: labels, Taints: taints, Capacity: capacity, Ready: true})
	}
	return nodes
}

func (l *loader) spread(path string, g *v1alpha1.NodeGroup) {
	for _, label := range slices.Sorted(maps.Keys(g.Spread)) {
		where := join(path+".spread", label)
		l.form(where, FormKey, label)
		if g.Spread[label] < 1 {
			l.wrong(where, "is %d: say how many nodes share a value, 1 or more", g.Spread[label])
		}
		if _, both := g.Labels[label]; both {
			l.wrong(where, "stands in labels too")
		}
	}
}

// spreadLetter begins the values of a label: r0, r1 for rack.
func spreadLetter(label string) string {
	word := label[strings.LastIndex(label, "/")+1:]
	if word == "" {
		return "v"
	}
	return strings.ToLower(word[:1])
}

func (l *loader) taints(path string, taints []v1alpha1.Taint) []batch.Taint {
	var out []batch.Taint
	for i, t := range taints {
		l.taint(fmt.Sprintf("%s[%d]", path, i), t)
		switch t.Effect {
		case "NoSchedule", "NoExecute":
			out = append(out, batch.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
		case "PreferNoSchedule":
		default:
			l.wrong(fmt.Sprintf("%s[%d].effect", path, i), "%q is not one of NoSchedule, NoExecute, PreferNoSchedule", t.Effect)
		}
	}
	return out
}

func (l *loader) taint(path string, t v1alpha1.Taint) {
	l.form(path+".key", FormKey, t.Key)
	l.form(path+".value", FormValue, t.Value)
}

// resources reads amounts by resource.
func (l *loader) resources(path string, in map[string]v1alpha1.Quantity) batch.Resources {
	out := make(batch.Resources, len(in)+1)
	for _, name := range slices.Sorted(maps.Keys(in)) {
		n, err := amount(batch.ResourceName(name), in[name])
		if err != nil {
			l.wrong(join(path, name), "%v", err)
		}
		out[batch.ResourceName(name)] = n
	}
	return out
}
