package quota

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// Bill is what something takes of its queue's quotas. The zero value takes
// nothing.
type Bill struct {
	node  int
	items []item // by cell; each more than nothing
}

type item struct {
	cell   int
	amount batch.Amount
}

// Free says whether the bill takes nothing: the nodes alone bound it.
func (b Bill) Free() bool { return len(b.items) == 0 }

// Equal says whether two bills take the same.
func (b Bill) Equal(other Bill) bool {
	return b.node == other.node && slices.Equal(b.items, other.items)
}

// Bill returns what a request takes of a queue's quotas in a flavor. What
// nobody has a quota for is not on it.
func (t *Tree) Bill(queue batch.QueueName, flavor batch.FlavorName, request batch.Resources) Bill {
	if t == nil {
		return Bill{}
	}
	i, ok := t.queues[queue]
	if !ok {
		return Bill{}
	}
	b := Bill{node: i}
	first, _ := slices.BinarySearchFunc(t.cells, Cell{Flavor: flavor}, compareCells)
	for k := first; k < len(t.cells) && t.cells[k].Flavor == flavor; k++ {
		if amount := request[t.cells[k].Resource]; amount > 0 && t.nodes[i].shares[k].bounded {
			b.items = append(b.items, item{cell: k, amount: amount})
		}
	}
	return b
}

// Meets says whether two bills may take of the same quota: they are of one tree
// and have a cell in common.
func (t *Tree) Meets(a, b Bill) bool {
	if a.Free() || b.Free() || t.root(a.node) != t.root(b.node) {
		return false
	}
	return slices.ContainsFunc(a.items, func(i item) bool {
		return slices.ContainsFunc(b.items, func(k item) bool { return i.cell == k.cell })
	})
}

// Usage is how much is used of a tree, at one time.
type Usage struct {
	tree *Tree
	used []batch.Amount // by node, then cell: of a cohort, what reaches it
}

// Usage returns a tree of which nothing is used.
func (t *Tree) Usage() *Usage {
	return &Usage{tree: t, used: make([]batch.Amount, len(t.nodes)*len(t.cells))}
}

// Clone returns a usage that can be changed without changing u.
func (u *Usage) Clone() *Usage { return &Usage{tree: u.tree, used: slices.Clone(u.used)} }

// Add takes a bill into account, whether it fits or not.
func (u *Usage) Add(b Bill) {
	for _, is := range b.items {
		u.set(b.node, is.cell, plus(*u.at(b.node, is.cell), is.amount))
	}
}

// Remove takes a bill that was added out of account again.
func (u *Usage) Remove(b Bill) {
	for _, is := range b.items {
		u.set(b.node, is.cell, max(0, *u.at(b.node, is.cell)-is.amount))
	}
}

func (u *Usage) at(node, cell int) *batch.Amount { return &u.used[node*len(u.tree.cells)+cell] }

// set changes what is used of a node, and what of it reaches the cohorts above.
// These are summed anew, so that sums are exact also after one was too large.
func (u *Usage) set(node, cell int, used batch.Amount) {
	*u.at(node, cell) = used
	for _, i := range u.tree.nodes[node].path[1:] {
		sum := batch.Amount(0)
		for _, child := range u.tree.nodes[i].children {
			sum = plus(sum, u.tree.nodes[child].shares[cell].reach(*u.at(child, cell)))
		}
		*u.at(i, cell) = sum
	}
}

// free is how much more a node may take: of a path, from the node up, with what
// is used of each node on it.
func (t *Tree) free(path []int, cell int, used []batch.Amount) batch.Amount {
	top := len(path) - 1
	room := max(0, t.nodes[path[top]].shares[cell].all-used[top])
	for level := top - 1; level >= 0; level-- {
		s := &t.nodes[path[level]].shares[cell]
		if s.quota.Borrow.Bounded {
			room = min(room, max(0, s.borrowed()-s.reach(used[level])))
		}
		room = plus(room, max(0, s.kept-used[level]))
	}
	return room
}

// depthUsual is as deep as most trees are at most.
const depthUsual = 8

// upwards is what is used of each node from one up to its root.
func (u *Usage) upwards(buffer []batch.Amount, node, cell int) []batch.Amount {
	for _, i := range u.tree.nodes[node].path {
		buffer = append(buffer, *u.at(i, cell))
	}
	return buffer
}

func (u *Usage) free(node, cell int) batch.Amount {
	var buffer [depthUsual]batch.Amount
	return u.tree.free(u.tree.nodes[node].path, cell, u.upwards(buffer[:0], node, cell))
}

// Available is how much more a queue may take; unbounded where the nodes alone
// bound it.
func (u *Usage) Available(queue batch.QueueName, cell Cell) batch.Limit {
	node, k, ok := u.tree.find(queue, cell)
	if !ok {
		return batch.Limit{}
	}
	return batch.LimitOf(u.free(node, k))
}

// find finds where a queue is bounded in a cell.
func (t *Tree) find(queue batch.QueueName, cell Cell) (node, k int, bounded bool) {
	if t == nil {
		return 0, 0, false
	}
	node, ok := t.queues[queue]
	if !ok {
		return 0, 0, false
	}
	k, ok = slices.BinarySearchFunc(t.cells, cell, compareCells)
	return node, k, ok && t.nodes[node].shares[k].bounded
}

// Fits says whether there is room for all of a bill.
func (u *Usage) Fits(b Bill) bool {
	for _, is := range b.items {
		if u.free(b.node, is.cell) < is.amount {
			return false
		}
	}
	return true
}

// Borrows says whether a queue, with all of a bill added, has more than its
// nominal quota of anything that is on it.
func (u *Usage) Borrows(b Bill) bool {
	return slices.ContainsFunc(b.items, func(is item) bool {
		return plus(*u.at(b.node, is.cell), is.amount) > u.tree.nodes[b.node].shares[is.cell].quota.Nominal
	})
}

// Exceeds says whether the queue of a bill has, with what is in the usage, more
// than its nominal quota of anything on it.
func (u *Usage) Exceeds(b Bill) bool {
	return slices.ContainsFunc(b.items, func(is item) bool {
		return *u.at(b.node, is.cell) > u.tree.nodes[b.node].shares[is.cell].quota.Nominal
	})
}

// AboveNominal says whether a queue has, with what is in the usage, more than
// its nominal quota of anything that a bill of a queue in the same tree asks
// for: then its work may be reclaimed for that bill.
func (u *Usage) AboveNominal(queue batch.QueueName, asked Bill) bool {
	node, ok := u.tree.queues[queue]
	if !ok || asked.Free() || u.tree.shared(node, asked.node) < 0 {
		return false
	}
	return slices.ContainsFunc(asked.items, func(is item) bool {
		s := &u.tree.nodes[node].shares[is.cell]
		return s.bounded && *u.at(node, is.cell) > s.quota.Nominal
	})
}

// WithinNominal says whether the queue of a bill, with what is in the usage,
// stands within its own: of each resource on the bill the queue itself is
// within its nominal quota, or a cohort above it, below the one that it shares
// with the victim's queue, is within what it and its members have. Whoever asks
// puts the preemptor in before, and takes its victims out.
func (u *Usage) WithinNominal(asked Bill, victim batch.QueueName) bool {
	other, ok := u.tree.queues[victim]
	if !ok {
		return false
	}
	shared := u.tree.shared(asked.node, other)
	return shared >= 0 && !slices.ContainsFunc(asked.items, func(is item) bool {
		return !u.withinBelow(asked.node, is.cell, shared)
	})
}

// withinBelow says whether a queue or a cohort above it, below another, is
// within its own.
func (u *Usage) withinBelow(node, cell, below int) bool {
	s := &u.tree.nodes[node].shares[cell]
	if *u.at(node, cell) <= s.quota.Nominal {
		return true
	}
	for _, i := range u.tree.nodes[node].path[1:] {
		if i == below {
			return false
		}
		if *u.at(i, cell) <= u.tree.nodes[i].shares[cell].all {
			return true
		}
	}
	return false
}
