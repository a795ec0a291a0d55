package quota

import (
	"math"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// Since is a clone that begins at a later time.
func (l *Ledger) Since(from Time) *Ledger {
	if l == nil {
		return nil
	}
	clone := l.Clone()
	clone.from = from
	for i := range clone.lines {
		is := &clone.lines[i]
		if first := is.step(from); first > 0 { // what is over is of no use
			is.at, is.used = is.at[first:], is.used[first:]
		}
	}
	return clone
}

// Follow takes over of each queue what has changed from one ledger of the tree to
// another: what is held beside it stays. false, and l is of no more use: it can't be
// told by this whether there is room for all of it.
//
// Where less is used, there is room for what there was room for. Where more is, all
// must be within their limits.
func (l *Ledger) Follow(was, is *Ledger) bool {
	if l == nil {
		return true
	}
	for node := range l.tree.nodes {
		if len(l.tree.nodes[node].children) > 0 {
			continue // what reaches it follows from its members
		}
		for cell := range l.tree.cells {
			if !l.follow(node, cell, was.line(node, cell), is.line(node, cell)) {
				return false
			}
		}
	}
	return true
}

// follow is Follow for one line of a queue.
func (l *Ledger) follow(node, cell int, was, is *line) bool {
	if was.one(is) {
		return true
	}
	var changes []piece
	i, k := was.step(l.from), is.step(l.from)
	for at := l.from; at != Never; {
		before, after := was.usedIn(i), is.usedIn(k)
		if before == math.MaxInt64 || after == math.MaxInt64 {
			return false // too large to count: nobody knows by how much it has changed
		}
		till := min(was.end(i), is.end(k))
		if before != after {
			changes = pass(changes, piece{node: node, cell: cell, span: Span{From: at, Till: till}, amount: after - before})
		}
		at = till
		if was.end(i) == at {
			i++
		}
		if is.end(k) == at {
			k++
		}
	}
	for _, c := range changes {
		if !l.counted(node, cell) {
			return false
		}
		if l.add(c); !l.counted(node, cell) || (c.amount > 0 && l.overdrawn(node, cell, c.span)) {
			return false
		}
	}
	return true
}

// counted says whether no sum is too large to count, from a node up.
func (l *Ledger) counted(node, cell int) bool {
	return !slices.ContainsFunc(l.tree.nodes[node].path, func(i int) bool {
		return slices.Contains(l.line(i, cell).used, math.MaxInt64)
	})
}

// overdrawn says whether from a node up more is used than may be, at any time of
// a span.
func (l *Ledger) overdrawn(node, cell int, span Span) bool {
	path := l.tree.nodes[node].path
	for level, i := range path {
		s := &l.tree.nodes[i].shares[cell]
		most := batch.Amount(math.MaxInt64)
		switch {
		case level == len(path)-1:
			most = s.all
		case s.quota.Borrow.Bounded:
			most = plus(s.kept, s.borrowed())
		}
		if _, above := l.line(i, cell).above(most, span); above {
			return true
		}
	}
	return false
}

// one says whether two lines lie in the same memory.
func (l *line) one(other *line) bool {
	return len(l.at) == len(other.at) && (len(l.at) == 0 || &l.at[0] == &other.at[0])
}
