package planner

import (
	"slices"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// A node of a kept place that is not ready moves nothing until it is lost: the
// place stays kept, and nobody else is told to go. It can't be had before the
// node is back, or is lost.

// silent is the first node of a kept place that is not ready and not lost yet,
// and when the last of them will be; 0: all are ready, or nothing else would let
// the workload there.
func (p *pass) silent(n *batch.Nomination) (first batch.NodeName, till timeline.Time) {
	for _, placement := range n.Allocation.PodSets {
		for _, host := range placement.Hosts {
			i, known := p.fleet.index[host]
			if !known || p.Nodes[i].LostAt.IsZero() {
				continue
			}
			if first == "" || host < first {
				first = host
			}
			till = max(till, secondOf(p.Nodes[i].LostAt), p.from+1)
		}
	}
	return first, till
}

// optionsOfAll are the options of a contender in a flavor, with the nodes that
// would do if they were ready.
func (p *pass) optionsOfAll(c *contender, name batch.FlavorName) []option {
	var flavor *batch.Flavor
	if name != "" {
		if flavor = p.Flavors[name]; flavor == nil {
			return nil
		}
	}
	w := c.workload()
	r := request{shape: c.waiting.Shape, sets: w.PodSets, queue: c.queue, whole: wantsWhole(w, c.queue)}
	bill := p.billOf(c.queue, name, w.PodSets, func(set int) int { return w.PodSets[set].Least() })
	var options []option
	for _, a := range p.tryIn(r, flavor) {
		if !a.fitsAll {
			continue
		}
		o := option{flavor: name, sets: slices.Clone(a.all), bill: bill, domain: a.domain.Name()}
		for i := range o.sets {
			o.sets[i].Nodes = slices.DeleteFunc(slices.Clone(o.sets[i].Nodes), func(node int32) bool {
				return !p.openWhenReady(&w.PodSets[i], flavor, p.Nodes[node])
			})
		}
		options = append(options, o)
	}
	return options
}

// openWhenReady says whether a node takes pods of a set, or will when it is
// ready again: nobody has cordoned it.
func (p *pass) openWhenReady(set *batch.PodSet, flavor *batch.Flavor, view *batch.NodeView) bool {
	if view.Lost {
		return false
	}
	tolerations := set.Tolerations
	if flavor != nil {
		tolerations = append(slices.Clone(tolerations), flavor.Tolerations...)
	}
	taints := view.Node.Taints
	if !view.Node.Ready {
		taints = slices.DeleteFunc(slices.Clone(taints), func(t batch.Taint) bool {
			return strings.HasPrefix(t.Key, "node.kubernetes.io/not-ready") || strings.HasPrefix(t.Key, "node.kubernetes.io/unreachable")
		})
	}
	return batch.Tolerates(tolerations, taints)
}
