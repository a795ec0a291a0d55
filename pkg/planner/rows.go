package planner

import (
	"cmp"
	"math"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// rows are like nodes taken together, where a node has one slot: whatever waits
// takes a whole one for each of its pods, or cannot use it at all. Then what
// matters is how many are free, and not which. A hold may change places with
// another until it begins, so that a stretch of time that is free on one node
// up to some moment, and on another from there on, is as good as one node. The
// rounds count slots; nodes are named when they are over, in the order of
// starts, which always finds one: of spans that overlap at no time more often
// than there are nodes, each finds a node that is free when it begins.
//
// Where nodes are shared, that does not hold, and each is a line of its own.
type rows struct {
	of      []int32        // the row of each node; noRow: nobody asks for it
	nodes   [][]int32      // of each row, ascending
	slots   []batch.Vector // what a node of each row has when it is free
	options map[*shape][]option
}

// noRow is the row of nodes for which nobody asks.
const noRow = -1

// findRows finds rows for all that take part; nil: some nodes are shared.
func (p *pass) findRows() *rows {
	if p.fleet.whole >= 0 || p.growsNominated() != nil {
		return nil // who grows has its nodes, and takes others beside them
	}
	if !p.mayHaveSlots(p.shapesOf(p.order[:p.reached])) {
		return nil // as it mostly is where nodes are shared
	}
	shapes := p.shapesOf(p.order)
	r := &rows{options: map[*shape][]option{}}
	r.gather(p, divide(p.line.nodes.Len(), shapes))
	for row := range r.nodes {
		if !r.slotted(p, row, shapes) {
			return nil
		}
	}
	if len(r.nodes) == 0 {
		return nil
	}
	about := p.about
	if !r.same(about) {
		about = nil
	}
	for _, s := range shapes {
		r.options[s] = r.optionsOf(s, about)
	}
	return r
}

// same says whether what is known about other rows is known about these.
func (r *rows) same(other *rows) bool {
	if r == nil || other == nil {
		return r == other
	}
	return slices.Equal(r.of, other.of) && slices.EqualFunc(r.slots, other.slots, slices.Equal)
}

// shapesOf are the shapes of those that wait for a start.
func (p *pass) shapesOf(contenders []*contender) (shapes []*shape) {
	seen := map[*shape]bool{}
	var last *shape
	for _, c := range contenders {
		if s := c.key.shape; s != last && !c.started && !seen[s] {
			seen[s], last = true, s
			shapes = append(shapes, s)
		}
	}
	return shapes
}

// mayHaveSlots looks at the first node of each request alone: false if it is
// shared.
func (p *pass) mayHaveSlots(shapes []*shape) bool {
	r := &rows{}
	for _, s := range shapes {
		for _, o := range s.options {
			for i := range o.sets {
				nodes := o.sets[i].Nodes
				if len(nodes) == 0 || slices.ContainsFunc(r.nodes, func(row []int32) bool { return row[0] == nodes[0] }) {
					continue
				}
				r.nodes = append(r.nodes, nodes[:1])
				r.slots = append(r.slots, p.idle(nodes[0]))
				if !r.slotted(p, len(r.nodes)-1, shapes) {
					return false
				}
			}
		}
	}
	return true
}

// idle is what a node has free once nothing runs on it.
func (p *pass) idle(node int32) batch.Vector {
	free, _ := p.line.nodes.InTheEnd(int(node))
	return slices.Clone(free)
}

// divide gives nodes the same number that are open to the same requests; 0:
// nobody asks for them.
func divide(nodes int, shapes []*shape) (open []int32) {
	open = make([]int32, nodes)
	numbers := int32(0)
	seen := map[nodesKey]bool{}
	for _, s := range shapes {
		for _, o := range s.options {
			for i := range o.sets {
				nodes := o.sets[i].Nodes
				if len(nodes) == 0 || seen[nodesKey{first: &nodes[0], nodes: len(nodes)}] {
					continue
				}
				seen[nodesKey{first: &nodes[0], nodes: len(nodes)}] = true
				renumbered := map[int32]int32{}
				for _, node := range nodes {
					if _, ok := renumbered[open[node]]; !ok {
						numbers++
						renumbered[open[node]] = numbers
					}
					open[node] = renumbered[open[node]]
				}
			}
		}
	}
	return open
}

// gather puts nodes with the same number into a row that have the same free
// once nothing runs on them.
func (r *rows) gather(p *pass, open []int32) {
	r.of = make([]int32, len(open))
	alike := map[int32][]int32{} // the rows of a number
	for node, number := range open {
		r.of[node] = noRow
		if number == 0 {
			continue
		}
		free, _ := p.line.nodes.InTheEnd(node)
		i := slices.IndexFunc(alike[number], func(row int32) bool { return slices.Equal(r.slots[row], free) })
		if i < 0 {
			i = len(alike[number])
			alike[number] = append(alike[number], int32(len(r.nodes)))
			r.nodes = append(r.nodes, nil)
			r.slots = append(r.slots, slices.Clone(free))
		}
		row := alike[number][i]
		r.of[node] = row
		r.nodes[row] = append(r.nodes[row], int32(node))
	}
}

// slotted says whether whoever can use the nodes of a row takes all that one
// has of some resource, and nothing of that is left while something runs there.
func (r *rows) slotted(p *pass, row int, shapes []*shape) bool {
	var whole []int // resources of which everybody takes all
	for i, amount := range r.slots[row] {
		if amount > math.MaxInt64/batch.Amount(4*len(r.nodes[row])) {
			return false // sums would be beyond numbers
		}
		if amount > 0 {
			whole = append(whole, i)
		}
	}
	asked := false
	for _, s := range shapes {
		for _, o := range s.options {
			for i := range o.sets {
				if set := &o.sets[i]; r.open(row, set) {
					asked = true
					whole = slices.DeleteFunc(whole, func(k int) bool { return set.Each[k] != r.slots[row][k] })
				}
			}
		}
	}
	return !asked || slices.ContainsFunc(whole, func(k int) bool {
		return !slices.ContainsFunc(r.nodes[row], func(node int32) bool { return !p.line.nodes.AllOrNone(int(node), k) })
	})
}

// open says whether pods of a set could ever run on the nodes of a row.
func (r *rows) open(row int, set *timeline.Set) bool {
	_, usable := slices.BinarySearch(set.Nodes, r.nodes[row][0])
	return usable && r.slots[row].PodsUpTo(set.Each, 1) > 0
}

// line is what is free of each row.
func (r *rows) line(p *pass) *timeline.Timeline {
	free := make([]timeline.Slots, len(r.nodes))
	for row, nodes := range r.nodes {
		free[row].Each = r.slots[row]
		for _, node := range nodes {
			_, since := p.line.nodes.InTheEnd(int(node))
			free[row].Since = append(free[row].Since, since)
		}
	}
	return timeline.OfSlots(free, p.from)
}

// optionsOf are the options of a shape, on rows; where the rows before were the
// same, in the same memory: questions are told apart by it.
func (r *rows) optionsOf(s *shape, before *rows) []option {
	if before != nil && before.options[s] != nil {
		return before.options[s]
	}
	options := make([]option, len(s.options))
	for i, o := range s.options {
		options[i] = o
		options[i].sets = slices.Clone(o.sets)
		for k := range options[i].sets {
			set := &options[i].sets[k]
			named := *set
			set.PerNode, set.Nodes = 0, nil // a slot takes one pod anyhow
			for row := range r.nodes {
				if r.open(row, &named) {
					set.Nodes = append(set.Nodes, int32(row))
				}
			}
		}
	}
	return options
}

// place is a place on rows for one on nodes; false if a node is in no row, or has
// less in the end than a pod asks for: two such nodes taken together would seem
// to have room for it.
func (r *rows) place(named timeline.Place) (timeline.Place, bool) {
	place := timeline.Place{Span: named.Span}
	for _, seat := range named.Seats {
		row := r.of[seat.Node]
		if row == noRow || r.slots[row].PodsUpTo(seat.Each, 1) == 0 {
			return timeline.Place{}, false
		}
		seat.Node = int(row)
		if i, known := slices.BinarySearchFunc(place.Seats, seat, compareSeats); known {
			place.Seats[i].Pods += seat.Pods
		} else {
			place.Seats = slices.Insert(place.Seats, i, seat)
		}
	}
	return place, true
}

func compareSeats(a, b timeline.Seat) int {
	return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(a.Node, b.Node))
}
