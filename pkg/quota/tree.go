package quota

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// Cell is one resource of one flavor: each has a tree of its own, of the same
// queues and cohorts.
type Cell struct {
	Flavor   batch.FlavorName
	Resource batch.ResourceName
}

// Tree is queues and cohorts with their quotas. It is frozen.
type Tree struct {
	cells   []Cell
	nodes   []node // cohorts, each after its parent, then queues
	queues  map[batch.QueueName]int
	cohorts map[batch.CohortName]int
	circles map[batch.CohortName][]batch.CohortName
}

// node is a queue or a cohort.
type node struct {
	queue    batch.QueueName // empty: a cohort
	cohort   batch.CohortName
	parent   int   // below zero: none
	path     []int // from here up to the root
	children []int // by kind and name
	shares   []share
}

// share is what a node has in one cell.
type share struct {
	quota batch.Quota
	set   bool // somebody has set quota
	// bounded says that the queue, or a cohort above it, has a quota: else the
	// nodes alone bound what the queue takes, and none of it counts.
	bounded bool
	all     batch.Amount // its own and what its members lend it
	kept    batch.Amount // of all, what it does not lend
}

// lent is what the node lends its cohort.
func (s *share) lent() batch.Amount { return s.all - s.kept }

// borrowed is how much of the node may reach its cohort where borrowing is
// bounded: what it lends, and what it may borrow.
func (s *share) borrowed() batch.Amount { return plus(s.lent(), max(0, s.quota.Borrow.Amount)) }

// reach is how much of a use of the node reaches its cohort.
func (s *share) reach(used batch.Amount) batch.Amount { return max(0, used-s.kept) }

// New returns the tree of queues and cohorts; nil if none of them has a quota,
// and no cohort is above itself.
//
// A queue or cohort whose cohort does not exist is without one. So is a cohort
// that is part of a circle, or below one: see Circle.
func New(queues map[batch.QueueName]*batch.Queue, cohorts map[batch.CohortName]*batch.Cohort) *Tree {
	t := &Tree{
		cells: cellsOf(queues, cohorts), queues: map[batch.QueueName]int{},
		cohorts: map[batch.CohortName]int{}, circles: Circles(cohorts),
	}
	if len(t.cells)+len(t.circles) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(cohorts)) {
		t.addCohort(name, cohorts)
	}
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		q := queues[name]
		t.queues[name] = t.add(node{queue: name, parent: t.cohortOf(q.Cohort)}, q.Quotas)
	}
	for i := range slices.Backward(t.nodes) {
		slices.SortFunc(t.nodes[i].children, t.byName)
		t.sum(i)
	}
	return t
}

// byName orders members of a cohort: cohorts before queues, then by name.
func (t *Tree) byName(a, b int) int {
	return cmp.Or(cmp.Compare(t.nodes[a].queue, t.nodes[b].queue), cmp.Compare(t.nodes[a].cohort, t.nodes[b].cohort))
}

// cellsOf are all cells that anybody has a quota in, in order.
func cellsOf(queues map[batch.QueueName]*batch.Queue, cohorts map[batch.CohortName]*batch.Cohort) []Cell {
	seen := map[Cell]bool{}
	note := func(quotas batch.Quotas) {
		for flavor, resources := range quotas { //order:any a set, sorted below
			for resource := range resources { //order:any a set, sorted below
				seen[Cell{Flavor: flavor, Resource: resource}] = true
			}
		}
	}
	for _, q := range queues { //order:any a set
		note(q.Quotas)
	}
	for _, c := range cohorts { //order:any a set
		note(c.Quotas)
	}
	cells := make([]Cell, 0, len(seen))
	for cell := range seen { //order:any sorted below
		cells = append(cells, cell)
	}
	slices.SortFunc(cells, compareCells)
	return cells
}

func compareCells(a, b Cell) int {
	return cmp.Or(cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Resource, b.Resource))
}

// addCohort adds a cohort behind its parents.
func (t *Tree) addCohort(name batch.CohortName, cohorts map[batch.CohortName]*batch.Cohort) int {
	if i, ok := t.cohorts[name]; ok {
		return i
	}
	c := cohorts[name]
	parent := -1
	if _, ok := cohorts[c.Parent]; ok && t.circles[name] == nil {
		parent = t.addCohort(c.Parent, cohorts)
	}
	i := t.add(node{cohort: name, parent: parent}, c.Quotas)
	t.cohorts[name] = i
	return i
}

// cohortOf is the node of a cohort that can be used; below zero: there is none.
func (t *Tree) cohortOf(name batch.CohortName) int {
	if i, ok := t.cohorts[name]; ok && t.circles[name] == nil {
		return i
	}
	return -1
}

func (t *Tree) add(n node, quotas batch.Quotas) int {
	i := len(t.nodes)
	n.path = []int{i}
	if n.parent >= 0 {
		n.path = append(n.path, t.nodes[n.parent].path...)
		t.nodes[n.parent].children = append(t.nodes[n.parent].children, i)
	}
	n.shares = make([]share, len(t.cells))
	for k, cell := range t.cells {
		s := &n.shares[k]
		s.quota, s.set = quotas[cell.Flavor][cell.Resource]
		s.bounded = s.set
		s.quota.Nominal = max(0, s.quota.Nominal)
		if n.parent >= 0 && t.nodes[n.parent].shares[k].bounded {
			s.bounded = true
		}
	}
	t.nodes = append(t.nodes, n)
	return i
}

// sum adds up what a node has; its members must have been summed.
func (t *Tree) sum(i int) {
	n := &t.nodes[i]
	for k := range n.shares {
		s := &n.shares[k]
		s.all = s.quota.Nominal
		for _, child := range n.children {
			s.all = plus(s.all, t.nodes[child].shares[k].lent())
		}
		if s.quota.Lend.Bounded {
			s.kept = max(0, s.all-max(0, s.quota.Lend.Amount))
		}
	}
}

// Has says whether the tree bounds anything of a queue.
func (t *Tree) Has(queue batch.QueueName) bool {
	if t == nil {
		return false
	}
	i, ok := t.queues[queue]
	return ok && slices.ContainsFunc(t.nodes[i].shares, func(s share) bool { return s.bounded })
}

// Root tells apart the trees that queues are in: queues of one root share what
// they have, others don't. Below zero: a queue that is not known.
func (t *Tree) Root(queue batch.QueueName) int {
	if t == nil {
		return -1
	}
	i, ok := t.queues[queue]
	if !ok {
		return -1
	}
	return t.root(i)
}

func (t *Tree) root(i int) int { return t.nodes[i].path[len(t.nodes[i].path)-1] }

// Equal says whether two trees are the same.
func (t *Tree) Equal(other *Tree) bool {
	if t == nil || other == nil {
		return t == other
	}
	return slices.Equal(t.cells, other.cells) && maps.EqualFunc(t.circles, other.circles, slices.Equal) && slices.EqualFunc(t.nodes, other.nodes, func(a, b node) bool {
		return a.queue == b.queue && a.cohort == b.cohort && a.parent == b.parent && slices.Equal(a.shares, b.shares)
	})
}

// shared is the lowest cohort that two nodes are in; below zero: none.
func (t *Tree) shared(a, b int) int {
	for _, i := range t.nodes[a].path {
		if i != a && i != b && slices.Contains(t.nodes[b].path, i) {
			return i
		}
	}
	return -1
}

// plus adds amounts that are not negative, without wrapping.
func plus(a, b batch.Amount) batch.Amount {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
