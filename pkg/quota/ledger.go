package quota

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// Time is a second since 1970.
type Time int64

// Never is after every time.
const Never Time = math.MaxInt64

// plus is the time so many seconds later; Never: it never comes.
func (t Time) plus(long Time) Time {
	if long == Never || t > Never-long {
		return Never
	}
	return t + long
}

// Span is the time from From up to, but without, Till.
type Span struct{ From, Till Time }

// Charge is a bill that is paid from the begin of a ledger until it ends.
type Charge struct {
	Bill
	Till Time
}

// Ledger is how much is used of a tree over time.
type Ledger struct {
	tree  *Tree
	from  Time
	lines []line // by node, then cell: of a cohort, what reaches it
	trial trial
}

// line is what is used of one node in one cell: used[i] from at[i] until
// at[i+1]; the last step holds for ever. A line without steps is nothing for
// ever.
type line struct {
	at     []Time
	used   []batch.Amount
	shared bool // with a clone: copy before writing
	trial  int  // the last one that has written it
}

// NewLedger returns the ledger of what runs, from a time on. Charges are taken
// into account whether there is room for them or not: quotas may have been
// lowered under them.
func NewLedger(tree *Tree, from Time, charges []Charge) *Ledger {
	l := &Ledger{tree: tree, from: from, lines: make([]line, len(tree.nodes)*len(tree.cells))}
	ends := map[int][]end{}
	for _, c := range charges {
		for _, is := range c.items {
			if c.Till > from {
				k := c.node*len(tree.cells) + is.cell
				ends[k] = append(ends[k], end{at: c.Till, amount: is.amount})
			}
		}
	}
	for k, all := range ends { //order:any each line by itself
		l.lines[k] = lineOf(from, all)
	}
	for i := range slices.Backward(tree.nodes) {
		for cell := range tree.cells {
			if len(tree.nodes[i].children) > 0 {
				*l.line(i, cell) = l.reaching(i, cell)
			}
		}
	}
	return l
}

func (l *Ledger) line(node, cell int) *line { return &l.lines[node*len(l.tree.cells)+cell] }

// end is when an amount is free again.
type end struct {
	at     Time
	amount batch.Amount
}

// lineOf sums amounts by when they end. It adds from the last end backwards, so
// that a sum too large to count is exact again as soon as it can be.
func lineOf(from Time, ends []end) line {
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(b.at, a.at) })
	var out line
	used := batch.Amount(0)
	if ends[0].at != Never {
		out.at, out.used = []Time{ends[0].at}, []batch.Amount{0}
	}
	for i, e := range ends {
		used = plus(used, e.amount)
		if i+1 < len(ends) && ends[i+1].at == e.at {
			continue
		}
		at := from
		if i+1 < len(ends) {
			at = ends[i+1].at
		}
		out.at, out.used = append(out.at, at), append(out.used, used)
	}
	slices.Reverse(out.at)
	slices.Reverse(out.used)
	return out
}

// reaching is what reaches a cohort from its members.
func (l *Ledger) reaching(node, cell int) line {
	var borders []Time
	for _, child := range l.tree.nodes[node].children {
		borders = append(borders, l.line(child, cell).at...)
	}
	slices.Sort(borders)
	var out line
	for _, at := range slices.Compact(borders) {
		sum := batch.Amount(0)
		for _, child := range l.tree.nodes[node].children {
			sum = plus(sum, l.tree.nodes[child].shares[cell].reach(l.line(child, cell).usedAt(at)))
		}
		if n := len(out.used); n == 0 || out.used[n-1] != sum {
			out.at, out.used = append(out.at, at), append(out.used, sum)
		}
	}
	return out
}

// Clone returns a ledger that can be changed without changing l. It costs a
// header for each line; steps are copied when they are written.
func (l *Ledger) Clone() *Ledger {
	if l == nil {
		return nil
	}
	l.Freeze()
	return &Ledger{tree: l.tree, from: l.from, lines: slices.Clone(l.lines), trial: trial{number: l.trial.number}}
}

// Freeze makes the steps of l be copied before they are written: cloning a
// frozen ledger writes nothing.
func (l *Ledger) Freeze() {
	if l == nil {
		return
	}
	for i := range l.lines {
		if !l.lines[i].shared {
			l.lines[i].shared = true
		}
	}
}

// Tree is the tree of the ledger.
func (l *Ledger) Tree() *Tree {
	if l == nil {
		return nil
	}
	return l.tree
}

// Hold takes a bill over a span. It panics if there is no room for it: whoever
// grants it must have looked.
func (l *Ledger) Hold(b Bill, span Span) {
	if b.Free() {
		return
	}
	if !l.Fits(b, span) {
		panic(fmt.Sprintf("quota: %v held for node %d during %v, for which there is no room", b.items, b.node, span))
	}
	l.Charge(b, span)
}

// Charge takes a bill into account over a span, whether it fits or not.
func (l *Ledger) Charge(b Bill, span Span) {
	for _, is := range b.items {
		l.add(piece{node: b.node, cell: is.cell, span: span, amount: is.amount})
	}
}

// Release gives a bill back that was held or charged over a span.
func (l *Ledger) Release(b Bill, span Span) {
	for _, is := range b.items {
		l.add(piece{node: b.node, cell: is.cell, span: span, amount: -is.amount})
	}
}

// piece is a change of what is used of a node.
type piece struct {
	node, cell int
	span       Span
	amount     batch.Amount
}

// add changes what is used of a node, and of the cohorts that it reaches.
func (l *Ledger) add(p piece) {
	if p.span.From = max(p.span.From, l.from); p.span.From >= p.span.Till {
		return
	}
	n := &l.tree.nodes[p.node]
	s := &n.shares[p.cell]
	is := l.line(p.node, p.cell)
	l.keep(p.node*len(l.tree.cells)+p.cell, is)
	is.own(l.from)
	first := is.split(p.span.From)
	last := len(is.at)
	if p.span.Till != Never {
		last = is.split(p.span.Till)
	}
	var buffer [2]piece // mostly it is one
	up := buffer[:0]
	next := piece{node: n.parent, cell: p.cell}
	for i := first; i < last; i++ {
		was, now := is.used[i], max(0, is.used[i]+p.amount)
		if p.amount > 0 {
			now = plus(was, p.amount)
		}
		is.used[i] = now
		reaches := now - was
		if s.kept > 0 {
			reaches = s.reach(now) - s.reach(was)
		}
		if reaches != next.amount {
			next.span.Till = is.at[i]
			up = next.upward(up)
			next.amount, next.span.From = reaches, is.at[i]
		}
	}
	next.span.Till = p.span.Till
	up = next.upward(up)
	is.join(last)
	is.join(first)
	for _, more := range up {
		l.add(more)
	}
}

// upward adds a piece to those that a cohort is to take into account, unless it is
// nothing to it.
func (p piece) upward(up []piece) []piece {
	if p.node < 0 || p.amount == 0 {
		return up
	}
	return append(up, p)
}

// pass adds a piece to those before it, as one with the last if it goes on.
func pass(up []piece, next piece) []piece {
	if n := len(up); n > 0 && up[n-1].span.Till == next.span.From && up[n-1].amount == next.amount {
		up[n-1].span.Till = next.span.Till
		return up
	}
	return append(up, next)
}

// own makes a line writable.
func (l *line) own(from Time) {
	switch {
	case len(l.at) == 0:
		l.at, l.used = []Time{from}, []batch.Amount{0}
	case l.shared:
		l.at, l.used = slices.Clone(l.at), slices.Clone(l.used)
	}
	l.shared = false
}

// step is the index of the step that a time lies in.
func (l *line) step(at Time) int {
	low, high := 0, len(l.at)
	if high <= 1 || at < l.at[1] {
		return 0
	}
	for high-low > 1 {
		if middle := (low + high) / 2; l.at[middle] <= at {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

func (l *line) usedAt(at Time) batch.Amount {
	if len(l.at) == 0 {
		return 0
	}
	return l.used[l.step(at)]
}

// end is when a step is over.
func (l *line) end(i int) Time {
	if i+1 < len(l.at) {
		return l.at[i+1]
	}
	return Never
}

// split makes a step begin at a time and returns its index.
func (l *line) split(at Time) int {
	i := l.step(at)
	if l.at[i] == at {
		return i
	}
	l.at = slices.Insert(l.at, i+1, at)
	l.used = slices.Insert(l.used, i+1, l.used[i])
	return i + 1
}

// join drops the border before a step where nothing changes any more.
func (l *line) join(i int) {
	if i > 0 && i < len(l.at) && l.used[i-1] == l.used[i] {
		l.at = slices.Delete(l.at, i, i+1)
		l.used = slices.Delete(l.used, i, i+1)
	}
}
