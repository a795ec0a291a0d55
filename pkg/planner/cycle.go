package planner

import (
	"maps"
	"slices"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
)

// vertex is a workload that waits, or all of a singleton's group up to a place
// in it: so that a group of n has as many edges and not their square.
type vertex struct {
	id    batch.WorkloadID
	group bool
}

// cycles finds strongly connected workloads among those that wait (Tarjan).
type cycles struct {
	edges map[vertex][]vertex
	index map[vertex]int
	low   map[vertex]int
	on    map[vertex]bool
	stack []vertex
	found [][]vertex
}

// findCycles puts each circle of workloads that wait for each other in words.
func (k *kin) findCycles(p *pass) {
	c := &cycles{edges: k.edges(p), index: map[vertex]int{}, low: map[vertex]int{}, on: map[vertex]bool{}}
	ids := slices.Sorted(maps.Keys(k.waiting))
	for _, id := range ids {
		if v := (vertex{id: id}); len(c.edges[v]) > 0 && c.index[v] == 0 {
			c.visit(v)
		}
	}
	for _, knot := range c.found {
		in := map[vertex]bool{}
		for _, v := range knot {
			in[v] = true
		}
		for _, v := range knot {
			if !v.group {
				k.cycles[v.id] = k.circle(c.edges, in, v)
			}
		}
	}
}

// edges lead from each that waits to what it still waits for, as far as that
// waits itself.
func (k *kin) edges(p *pass) map[vertex][]vertex {
	edges := map[vertex][]vertex{}
	for id, w := range k.waiting { //order:any each has its own edges
		for _, d := range w.After {
			if d.Kind == batch.Singleton {
				if v, ok := k.groupBefore(w, edges); ok {
					edges[vertex{id: id}] = append(edges[vertex{id: id}], v)
				}
				continue
			}
			if words, never := p.unmet(w, d); words == "" || never {
				continue
			}
			for _, f := range p.Fates[batch.DependencyName{Namespace: w.Namespace, Name: d.Name}] {
				if k.waiting[f.ID] != nil && (d.Kind != batch.After || !f.Started) {
					edges[vertex{id: id}] = append(edges[vertex{id: id}], vertex{id: f.ID})
				}
			}
		}
	}
	return edges
}

// groupBefore is the part of a singleton's group that is older than it, with
// the edges to its members.
func (k *kin) groupBefore(w *batch.Workload, edges map[vertex][]vertex) (vertex, bool) {
	group := k.groups[groupOf(w)]
	i, _ := slices.BinarySearchFunc(group, w, older)
	if i == 0 || k.before(w) == nil {
		return vertex{}, false
	}
	top := vertex{id: group[i-1].ID, group: true}
	for j := i - 1; j >= 0; j-- {
		v := vertex{id: group[j].ID, group: true}
		if len(edges[v]) > 0 {
			break // and all below it
		}
		edges[v] = []vertex{{id: group[j].ID}}
		if j > 0 {
			edges[v] = append(edges[v], vertex{id: group[j-1].ID, group: true})
		}
	}
	return top, true
}

func (c *cycles) visit(v vertex) {
	n := len(c.index) + 1
	c.index[v], c.low[v], c.on[v] = n, n, true
	c.stack = append(c.stack, v)
	itself := false
	for _, to := range c.edges[v] {
		switch {
		case c.index[to] == 0:
			c.visit(to)
			c.low[v] = min(c.low[v], c.low[to])
		case c.on[to]:
			c.low[v] = min(c.low[v], c.index[to])
			itself = itself || to == v
		}
	}
	if c.low[v] != c.index[v] {
		return
	}
	i := slices.Index(c.stack, v)
	knot := slices.Clone(c.stack[i:])
	c.stack = c.stack[:i]
	for _, member := range knot {
		c.on[member] = false
	}
	if len(knot) > 1 || itself {
		c.found = append(c.found, knot)
	}
}

// circleMax bounds how many names of a circle are told.
const circleMax = 10

// circle tells a way from a workload back to itself.
func (k *kin) circle(edges map[vertex][]vertex, in map[vertex]bool, from vertex) string {
	parent := map[vertex]vertex{}
	queue := []vertex{from}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, to := range edges[v] {
			if to == from {
				return k.tell(parent, from, v)
			}
			if _, seen := parent[to]; in[to] && !seen {
				parent[to] = v
				queue = append(queue, to)
			}
		}
	}
	return ""
}

func (k *kin) tell(parent map[vertex]vertex, from, last vertex) string {
	back := []string{k.waiting[from.id].Name}
	for v := last; v != from; v = parent[v] {
		if !v.group {
			back = append(back, k.waiting[v.id].Name)
		}
	}
	back = append(back, k.waiting[from.id].Name)
	slices.Reverse(back)
	if len(back) > circleMax {
		back = append(back[:circleMax], "…", back[len(back)-1])
	}
	return "it waits for itself: " + strings.Join(back, " waits for ")
}
