package quota

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// stretch is a time in which what a queue may still take does not change.
type stretch struct {
	Span
	free batch.Amount
	used batch.Amount // by the queue itself
}

// walker goes through the stretches of one cell of a queue.
type walker struct {
	path  []int
	lines []*line
	steps []int
	used  []batch.Amount
}

// walk calls a function with each stretch from a time on, in order, until it
// says that it has seen enough.
func (l *Ledger) walk(node, cell int, from Time, visit func(stretch) (enough bool)) {
	var lines [depthUsual]*line
	var steps [depthUsual]int
	var used [depthUsual]batch.Amount
	w := walker{path: l.tree.nodes[node].path, lines: lines[:0], steps: steps[:0], used: used[:0]}
	from = max(from, l.from)
	for _, i := range w.path {
		is := l.line(i, cell)
		w.lines, w.steps, w.used = append(w.lines, is), append(w.steps, is.step(from)), append(w.used, is.usedAt(from))
	}
	for at := from; at != Never; {
		s := stretch{Span: Span{From: at, Till: w.border()}, free: l.tree.free(w.path, cell, w.used), used: w.used[0]}
		if visit(s) {
			return
		}
		at = s.Till
		w.moveTo(at)
	}
}

// border is when the next step begins on any line.
func (w *walker) border() Time {
	next := Never
	for level, is := range w.lines {
		next = min(next, is.end(w.steps[level]))
	}
	return next
}

func (w *walker) moveTo(at Time) {
	for level, is := range w.lines {
		if at != Never && is.end(w.steps[level]) == at {
			w.steps[level]++
			w.used[level] = is.used[w.steps[level]]
		}
	}
}

// Fits says whether there is room for a bill over all of a span.
func (l *Ledger) Fits(b Bill, span Span) bool {
	_, refused := l.refusedAt(b, span)
	return !refused
}

// refusedAt finds an item of a bill for which there is no room in a span.
func (l *Ledger) refusedAt(b Bill, span Span) (at Time, refused bool) {
	for _, is := range b.items {
		if at, refused = l.refuses(b.node, is, span); refused {
			return at, true
		}
	}
	return 0, false
}

// refuses is when there is first no room for an item in a span.
func (l *Ledger) refuses(node int, is item, span Span) (at Time, refused bool) {
	span.From = max(span.From, l.from)
	var buffer [depthUsual]ceiling
	ceilings, apart := l.ceilings(buffer[:0], node, is)
	if !apart {
		l.walk(node, is.cell, span.From, func(s stretch) bool {
			at, refused = s.From, s.From < span.Till && s.free < is.amount
			return refused || s.Till >= span.Till
		})
		return at, refused
	}
	for _, c := range ceilings {
		if first, above := c.above(c.most, span); above {
			at, refused, span.Till = first, true, first
		}
	}
	return at, refused
}

// Borrows says whether a queue, with all of a bill added, has more than its
// nominal quota of anything on it at any time of a span.
func (l *Ledger) Borrows(b Bill, span Span) bool {
	span.From = max(span.From, l.from)
	return slices.ContainsFunc(b.items, func(is item) bool {
		nominal := l.tree.nodes[b.node].shares[is.cell].quota.Nominal
		_, more := l.line(b.node, is.cell).above(nominal-is.amount, span)
		return more
	})
}

// Term is how long there must be room for a bill: for a number of seconds, Never
// for ever; and, since it is paid already from a time on, not beyond that.
type Term struct{ Long, Till Time }

// from is when a term ends that begins at a time.
func (t Term) from(start Time) Time { return min(start.plus(t.Long), t.Till) }

// Earliest is the first time in a span at which there is room for a bill, for a
// term from then on. False if there is none.
func (l *Ledger) Earliest(b Bill, term Term, in Span) (Time, bool) {
	start := max(in.From, l.from)
	for moved := true; moved; {
		moved = false
		for _, is := range b.items {
			at, ok := l.earliest(b.node, is, term, Span{From: start, Till: in.Till})
			if !ok {
				return 0, false
			}
			moved = moved || at > start
			start = at
		}
	}
	return start, start < in.Till
}

// earliest is Earliest for one item.
func (l *Ledger) earliest(node int, is item, term Term, in Span) (start Time, ok bool) {
	start = in.From
	var buffer [depthUsual]ceiling
	ceilings, apart := l.ceilings(buffer[:0], node, is)
	if !apart {
		l.walk(node, is.cell, in.From, func(s stretch) bool {
			if s.free < is.amount {
				start = s.Till
				return start >= in.Till
			}
			ok = s.Till >= term.from(start)
			return ok
		})
		return start, ok && start < in.Till
	}
	for i := 0; i < len(ceilings) && start < in.Till; {
		if first := ceilings[i].first(start, term); first > start {
			start, i = first, 0
		} else {
			i++
		}
	}
	return start, start < in.Till
}

// ceiling is the most that may be used of a node for an item to fit.
type ceiling struct {
	*line
	most batch.Amount
}

// first is the first time, from one on, from which no more than the most is used for
// a term; Never: there is none. It goes along the line once.
func (c *ceiling) first(start Time, term Term) Time {
	if len(c.at) == 0 {
		if c.most < 0 {
			return Never
		}
		return start
	}
	till := term.from(start)
	for i := c.step(start); i < len(c.at) && c.at[i] < till; i++ {
		if c.used[i] > c.most {
			start = c.end(i)
			till = term.from(start)
		}
	}
	return start
}

// ceilings are those on the way up from a node, where each stands by itself:
// where nothing on the way keeps a part, all that is used reaches the top. It
// is so of most trees, and a line is looked through far sooner than all lines
// of a path at once. False: it is not so.
func (l *Ledger) ceilings(buffer []ceiling, node int, is item) (all []ceiling, apart bool) {
	path := l.tree.nodes[node].path
	for level, i := range path {
		s := &l.tree.nodes[i].shares[is.cell]
		switch {
		case level == len(path)-1:
			buffer = append(buffer, ceiling{line: l.line(i, is.cell), most: s.all - is.amount})
		case s.kept > 0:
			return nil, false
		case s.quota.Borrow.Bounded:
			buffer = append(buffer, ceiling{line: l.line(i, is.cell), most: s.borrowed() - is.amount})
		}
	}
	return buffer, true
}

// above is when more than an amount is first used in a span.
func (l *line) above(most batch.Amount, in Span) (at Time, above bool) {
	if len(l.at) == 0 || in.From >= in.Till {
		return in.From, most < 0 && in.From < in.Till
	}
	for i := l.step(in.From); i < len(l.at) && l.at[i] < in.Till; i++ {
		if l.used[i] > most {
			return max(l.at[i], in.From), true
		}
	}
	return 0, false
}

// Gain is a time in which more is free of a cell than was, for the queues of
// one tree.
type Gain struct {
	Span
	Root int // of the tree: see Tree.Root
	cell int
}

// Gains are where a ledger has less used than another of the same tree had.
func Gains(was, is *Ledger) []Gain {
	if is == nil {
		return nil
	}
	var gains []Gain
	for node := range is.tree.nodes {
		for cell := range is.tree.cells {
			gains = append(gains, is.gains(was.line(node, cell), node, cell)...)
		}
	}
	return gains
}

// gains are those of one line over what it was.
func (l *Ledger) gains(was *line, node, cell int) (gains []Gain) {
	is := l.line(node, cell)
	if was.one(is) {
		return nil
	}
	i, k := was.step(l.from), is.step(l.from)
	for at := l.from; at != Never; {
		till := min(was.end(i), is.end(k))
		if is.usedIn(k) < was.usedIn(i) {
			if n := len(gains); n > 0 && gains[n-1].Till == at {
				gains[n-1].Till = till
			} else {
				gains = append(gains, Gain{Span: Span{From: at, Till: till}, Root: l.tree.root(node), cell: cell})
			}
		}
		at = till
		if was.end(i) == at {
			i++
		}
		if is.end(k) == at {
			k++
		}
	}
	return gains
}

// usedIn is what is used in a step.
func (l *line) usedIn(i int) batch.Amount {
	if len(l.at) == 0 {
		return 0
	}
	return l.used[i]
}

// GainsOf are the gains of giving a bill back over a span.
func (t *Tree) GainsOf(b Bill, span Span) []Gain {
	var gains []Gain
	for _, is := range b.items {
		gains = append(gains, Gain{Span: span, Root: t.root(b.node), cell: is.cell})
	}
	return gains
}

// Helps says whether a gain may make room for a bill.
func (t *Tree) Helps(g Gain, b Bill) bool {
	return !b.Free() && t.root(b.node) == g.Root && slices.ContainsFunc(b.items, func(is item) bool { return is.cell == g.cell })
}
