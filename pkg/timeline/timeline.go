package timeline

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

// Long is a number of seconds; Forever has no end.
type Long int64

// Forever is the length of unlimited work.
const Forever Long = math.MaxInt64

// plus returns the end of a span that begins at t.
func (t Time) plus(long Long) Time {
	if long == Forever || t > Never-Time(long) {
		return Never
	}
	return t + Time(long)
}

// Span is the time from From up to, but without, Till.
type Span struct{ From, Till Time }

// SpanOf is the span of a length that begins at a time.
func SpanOf(from Time, long Long) Span { return Span{From: from, Till: from.plus(long)} }

// Seat is a number of pods of one set on one node.
type Seat struct {
	Set, Node int
	Pods      int
	Each      batch.Vector
}

// Place is where a gang goes and for how long.
type Place struct {
	Span
	Seats []Seat // by set, then node
	picks []pick // how a place for one set was chosen
}

// Equal says whether two places are the same.
func (p Place) Equal(other Place) bool {
	if p.Span != other.Span || len(p.Seats) != len(other.Seats) {
		return false
	}
	if len(p.Seats) == 0 || &p.Seats[0] == &other.Seats[0] {
		return true
	}
	return slices.EqualFunc(p.Seats, other.Seats, func(a, b Seat) bool {
		return a.Set == b.Set && a.Node == b.Node && a.Pods == b.Pods
	})
}

// line is the free capacity of one node: free[i*width:] holds from at[i] until
// at[i+1]. The last step holds for ever.
type line struct {
	owner *owner
	at    []Time
	free  []batch.Amount
}

// Timeline is the free capacity of all nodes from a time on.
type Timeline struct {
	width    int
	from     Time
	capacity []batch.Vector
	owner    *owner // nil: nothing is its own
	trial    trial
	number   int // of nodes
	pages    []page
	scratch  scratch

	openings []openings
	written  []int32 // nodes whose line was written, in turn
}

// New returns the timeline of empty nodes of these capacities, from a time on.
func New(capacity []batch.Vector, from Time) *Timeline {
	t := &Timeline{
		from: from, capacity: capacity, owner: &owner{}, number: len(capacity), pages: make([]page, pagesFor(len(capacity))),
	}
	for i := range t.pages {
		t.pages[i] = page{owner: t.owner, of: make([]line, min(pageSize, len(capacity)-i*pageSize))}
	}
	for i, c := range capacity {
		t.width = len(c)
		*t.line(i) = line{owner: t.owner, at: []Time{from}, free: append([]batch.Amount(nil), c...)}
	}
	return t
}

// Clone returns a timeline that can be changed without changing t. It costs a
// little for each page of nodes; what is on them is copied when it is written.
func (t *Timeline) Clone() *Timeline {
	t.Freeze()
	clone := &Timeline{
		width: t.width, from: t.from, capacity: t.capacity, number: t.number,
		pages: slices.Clone(t.pages),
	}
	clone.openings, clone.written = t.openingsForClone()
	return clone
}

// Freeze makes all of t be copied before it is written: cloning a frozen
// timeline writes nothing.
func (t *Timeline) Freeze() {
	if t.owner == nil {
		return
	}
	for i := range t.openings {
		for _, p := range t.openings[i].pages {
			if p.owner == t.owner {
				p.sum()
			}
		}
	}
	if t.owner = nil; t.trial.owner != nil {
		t.trial.owner = &owner{} // what it has written is shared by now
	}
}

// Since is a clone that begins at a later time. Nothing may end in between;
// nodes on which something does must be cleared and charged anew.
func (t *Timeline) Since(from Time) *Timeline {
	clone := t.Clone()
	clone.from = from
	return clone
}

// Len is the number of nodes.
func (t *Timeline) Len() int { return t.number }

// Begin is the time from which on the timeline knows what is free.
func (t *Timeline) Begin() Time { return t.from }

// Clear makes a node empty.
func (t *Timeline) Clear(node int) {
	t.written = append(t.written, int32(node))
	l := t.replace(node)
	*l = line{owner: t.owner, at: []Time{t.from}, free: append([]batch.Amount(nil), t.capacity[node]...)}
}

// Adopt makes the line of a node that of another timeline, which is frozen.
func (t *Timeline) Adopt(node int, of *Timeline) {
	t.written = append(t.written, int32(node))
	*t.replace(node) = *of.line(node)
}

// Taken is what something takes of a node from the begin of a timeline on.
type Taken struct {
	Each batch.Vector
	Till Time
}

// Occupy is Clear, and Charge for all that is taken, at once.
func (t *Timeline) Occupy(node int, all []Taken) {
	slices.SortFunc(all, func(a, b Taken) int { return cmp.Compare(a.Till, b.Till) })
	t.Clear(node)
	l := t.line(node)
	first := l.vector(0, t.width)
	for i := range all {
		if all[i].Till > t.from {
			first.Sub(all[i].Each, 1)
		}
	}
	for i := range all {
		if all[i].Till <= t.from || all[i].Till == Never {
			continue
		}
		if last := len(l.at) - 1; l.at[last] < all[i].Till {
			l.at = append(l.at, all[i].Till)
			l.free = append(l.free, l.vector(last, t.width)...)
		}
		l.vector(len(l.at)-1, t.width).Sub(all[i].Each, -1)
	}
	for i := len(l.at) - 1; i > 0; i-- {
		l.join(i, t.width)
	}
}

// Charge takes what is used of a node, whether it is there or not: a node may
// have shrunk under what runs on it.
func (t *Timeline) Charge(node int, need batch.Vector, span Span) {
	t.add(node, need, -1, span)
}

// Hold takes a place. It panics if the place is not free: whoever grants it
// must have looked.
func (t *Timeline) Hold(p Place) {
	for _, s := range p.Seats {
		t.add(s.Node, s.Each, -s.Pods, p.Span)
	}
	for _, s := range p.Seats {
		if node, at, ok := t.overfull(s, p.Span); !ok {
			panic(fmt.Sprintf("timeline: %d pods of %v held on node %d during %v, which is overfull at %d",
				s.Pods, s.Each, node, p.Span, at))
		}
	}
}

// TryHold takes a place if it is free.
func (t *Timeline) TryHold(p Place) bool {
	if p.sharesNodes() {
		return t.holdInTurn(p)
	}
	if !t.Fits(p) {
		return false
	}
	t.Take(p)
	return true
}

// holdInTurn is TryHold, seat by seat.
func (t *Timeline) holdInTurn(p Place) bool {
	for i, s := range p.Seats {
		t.add(s.Node, s.Each, -s.Pods, p.Span)
		if _, _, ok := t.overfull(s, p.Span); !ok {
			t.Release(Place{Span: p.Span, Seats: p.Seats[:i+1]})
			return false
		}
	}
	return true
}

// Release gives a place back.
func (t *Timeline) Release(p Place) {
	for _, s := range p.Seats {
		t.add(s.Node, s.Each, s.Pods, p.Span)
	}
}

// Fits says whether a place is free. Where each seat has its node for itself,
// nothing need be held to see that.
func (t *Timeline) Fits(p Place) bool {
	if p.sharesNodes() {
		fits := t.holdInTurn(p)
		if fits {
			t.Release(p)
		}
		return fits
	}
	for i := range p.Seats {
		if !t.hasSeat(&p.Seats[i], p.Span) {
			return false
		}
	}
	return true
}

// sharesNodes says whether several seats may be on one node: those of one set are
// mostly listed by node.
func (p *Place) sharesNodes() bool {
	for i := 1; i < len(p.Seats); i++ {
		if p.Seats[i].Node <= p.Seats[i-1].Node {
			return true
		}
	}
	return false
}

// hasSeat says whether there is room for the pods of a seat.
func (t *Timeline) hasSeat(s *Seat, span Span) bool {
	l := t.line(s.Node)
	for i := l.step(max(span.From, t.from)); i < len(l.at) && l.at[i] < span.Till; i++ {
		if l.vector(i, t.width).PodsUpTo(s.Each, s.Pods) < s.Pods {
			return false
		}
	}
	return true
}

// Follow takes over on each node what has changed there from one timeline to
// another: what is held beside it stays. false, and t is of no more use: a node
// has less left than is held there.
func (t *Timeline) Follow(was, is *Timeline) bool {
	for node := range t.number {
		if was.pages[node/pageSize].same(&is.pages[node/pageSize]) {
			continue
		}
		if a, b := was.line(node), is.line(node); !a.one(b) && !t.follow(node, a, b) {
			return false
		}
	}
	return true
}

// follow is Follow for a node.
func (t *Timeline) follow(node int, was, is *line) bool {
	mine, l := *t.line(node), t.replace(node)
	steps := len(mine.at) + splitsSoon
	next := line{owner: t.owner, at: make([]Time, 0, steps), free: make([]batch.Amount, 0, steps*t.width)}
	i, j, k := mine.step(t.from), was.step(t.from), is.step(t.from)
	for at := t.from; at != Never; {
		next.at = append(next.at, at)
		for r, free := range mine.vector(i, t.width) {
			held := was.vector(j, t.width)[r] - free
			left := is.vector(k, t.width)[r] - held
			if left < 0 && held > 0 {
				return false
			}
			next.free = append(next.free, left)
		}
		if last := len(next.at) - 1; last > 0 {
			next.join(last, t.width)
		}
		at = min(mine.end(i), was.end(j), is.end(k))
		if mine.end(i) == at {
			i++
		}
		if was.end(j) == at {
			j++
		}
		if is.end(k) == at {
			k++
		}
	}
	t.written = append(t.written, int32(node))
	*l = next
	return true
}

// overfull finds a resource that the seat asks for and its node lacks.
func (t *Timeline) overfull(s Seat, span Span) (node int, at Time, ok bool) {
	l := t.line(s.Node)
	for i := l.step(span.From); i < len(l.at) && l.at[i] < span.Till; i++ {
		free := l.vector(i, t.width)
		for r, need := range s.Each {
			if need > 0 && free[r] < 0 {
				return s.Node, l.at[i], false
			}
		}
	}
	return 0, 0, true
}

func (t *Timeline) add(node int, need batch.Vector, n int, span Span) {
	span.From = max(span.From, t.from)
	if span.Till <= span.From {
		return
	}
	t.written = append(t.written, int32(node))
	l := t.own(node)
	first := l.split(span.From, t.width)
	last := len(l.at)
	if span.Till != Never {
		last = l.split(span.Till, t.width)
	}
	for i := first; i < last; i++ {
		l.vector(i, t.width).Sub(need, -n)
	}
	l.merge(first, last, t.width)
}

// step is the index of the step that a time lies in. It is a search without a
// closure, and looks at both ends first: most questions are about now.
func (l *line) step(at Time) int {
	low, high := 0, len(l.at)
	if high == 1 || at < l.at[1] {
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

func (l *line) vector(i, width int) batch.Vector {
	return batch.Vector(l.free[i*width : (i+1)*width])
}

// split makes a step begin at a time and returns its index.
func (l *line) split(at Time, width int) int {
	i := l.step(at)
	if l.at[i] == at {
		return i
	}
	l.at = append(l.at, 0)
	copy(l.at[i+2:], l.at[i+1:])
	l.at[i+1] = at
	l.free = append(l.free, l.free[:width]...)
	copy(l.free[(i+2)*width:], l.free[(i+1)*width:len(l.free)-width])
	copy(l.vector(i+1, width), l.vector(i, width))
	return i + 1
}

// merge drops the borders of a changed stretch where nothing changes any more.
// The inside keeps its borders: what was added there was the same everywhere.
func (l *line) merge(first, last, width int) {
	if last < len(l.at) {
		l.join(last, width)
	}
	l.join(first, width)
}

func (l *line) join(i, width int) {
	if i == 0 || i >= len(l.at) {
		return
	}
	before, after := l.vector(i-1, width), l.vector(i, width)
	for r := range before {
		if before[r] != after[r] {
			return
		}
	}
	l.at = append(l.at[:i], l.at[i+1:]...)
	l.free = append(l.free[:i*width], l.free[(i+1)*width:]...)
}
