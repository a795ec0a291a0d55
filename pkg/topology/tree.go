// Package topology knows which nodes are near each other in the network: the
// tree of domains that the labels of nodes draw, level by level.
//
// It says which nodes lie under one domain. Whether a gang fits there, and when,
// is for the timeline and the planner to say; where the tree stands in a
// cluster, for the Topology objects that an admin writes.
package topology

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
)

// Domain is a group of nodes under one domain of a level.
type Domain struct {
	// Path are the names from the widest level down to this one: racks of one
	// name in two blocks are two racks.
	Path []string
	// Nodes are their indexes, ascending.
	Nodes []int32
}

// Name is the path as people read it; empty for a nil domain.
func (d *Domain) Name() string {
	if d == nil {
		return ""
	}
	return strings.Join(d.Path, "/")
}

// Domains are those of a level, by path; false if there is no such level. A node
// that lacks the label of the level, or of one above it, is in none.
func Domains(topology *batch.Topology, level string, nodes []*batch.NodeView) ([]Domain, bool) {
	depth := slices.IndexFunc(topology.Levels, func(l batch.TopologyLevel) bool { return l.Name == level })
	if depth < 0 {
		return nil, false
	}
	at := map[string]int{}
	var domains []Domain
	for i, view := range nodes {
		path, ok := pathOf(view.Node, topology.Levels[:depth+1])
		if !ok {
			continue
		}
		key := strings.Join(path, "\x00")
		number, known := at[key]
		if !known {
			number = len(domains)
			at[key] = number
			domains = append(domains, Domain{Path: path})
		}
		domains[number].Nodes = append(domains[number].Nodes, int32(i))
	}
	slices.SortFunc(domains, func(a, b Domain) int { return slices.CompareFunc(a.Path, b.Path, cmp.Compare[string]) })
	return domains, true
}

// pathOf are the names of the domains that a node is in; false if it lacks one.
func pathOf(node *batch.Node, levels []batch.TopologyLevel) ([]string, bool) {
	path := make([]string, len(levels))
	for i, level := range levels {
		name, ok := node.Labels[level.Label]
		if !ok {
			return nil, false
		}
		path[i] = name
	}
	return path, true
}

// Only are those of some nodes that lie in a domain; both are ascending. A nil
// domain is all nodes.
func (d *Domain) Only(nodes []int32) []int32 {
	if d == nil {
		return nodes
	}
	var out []int32
	rest := d.Nodes
	for _, node := range nodes {
		for len(rest) > 0 && rest[0] < node {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0] == node {
			out = append(out, node)
		}
	}
	return out
}
