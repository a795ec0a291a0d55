package timeline

import (
	"container/heap"

	"github.com/berth-dev/berth/pkg/batch"
)

// Set is a group of like pods to be placed.
type Set struct {
	Pods    int
	Each    batch.Vector
	PerNode int     // pods on one node at most; 0: any
	Nodes   []int32 // that would do, ascending
	// Spare is what a node must have free for the whole time to take any pods
	// at all; it is not taken by them. nil: nothing.
	Spare batch.Vector
}

// Need is what a gang needs: all of its sets, for a time.
type Need struct {
	Sets []Set
	Long Long
}

// change is by how much the number of pods that could begin at a time, and
// stay for the length asked, changes there.
type change struct {
	at    Time
	delta int
}

// changeQueue is a heap of changes, the first in time on top.
type changeQueue []change

func (q changeQueue) Len() int           { return len(q) }
func (q changeQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q changeQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push is never called: the queue is made whole and only taken from.
func (q *changeQueue) Push(any) { panic("timeline: push to a queue that only shrinks") }

// Pop is never called: see drop.
func (q *changeQueue) Pop() any { panic("timeline: pop boxes what it returns, use drop") }

// drop takes the first change off.
func (q *changeQueue) drop() {
	old := *q
	last := len(old) - 1
	old[0] = old[last]
	*q = old[:last]
	if last > 0 {
		heap.Fix(q, 0)
	}
}

// scratch is memory that is used again.
type scratch struct {
	changes    []change
	candidates []candidate
	seats      []Seat
	picks      []pick
	nodes      []int32
	open       []int32
	free       batch.Vector
	peaks      peaks
}

// peaks are the most that is free of each resource on the first node, up to the
// end of each of its steps.
type peaks struct {
	known   bool
	written int // nodes that had been written
	most    []batch.Amount
}

// Written is how often the lines of nodes were written: as long as it is the same,
// so are they.
func (t *Timeline) Written() int { return len(t.written) }

// FirstRoom is a time before which the first node has no room for a pod, found
// without a look at all of its steps; Never: it has none at any time.
func (t *Timeline) FirstRoom(each batch.Vector) Time {
	l, p := t.line(0), &t.scratch.peaks
	if !p.known || p.written != len(t.written) {
		p.known, p.written, p.most = true, len(t.written), append(p.most[:0], l.free...)
		for i := t.width; i < len(p.most); i++ {
			p.most[i] = max(p.most[i], p.most[i-t.width])
		}
	}
	low, high := 0, len(l.at)
	for low < high {
		if middle := (low + high) / 2; batch.Vector(p.most[middle*t.width:(middle+1)*t.width]).PodsUpTo(each, 1) > 0 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if low == len(l.at) {
		return Never
	}
	return l.at[low]
}

// Earliest is the first place, not before from and before till, at which a gang
// fits; false if there is none.
//
// A set alone fits where the pods that could begin on each node add up. That
// is exact for one set; with several it is a bound from below, and the places
// from there on are tried one by one.
func (t *Timeline) Earliest(need Need, from, till Time) (Place, bool) {
	at := max(from, t.from)
	for i := range need.Sets {
		first, ok := t.earliestSet(&need.Sets[i], need.Long, Span{From: at, Till: till})
		if !ok {
			return Place{}, false
		}
		at = first
	}
	for at < till {
		if place, ok := t.At(need, at); ok {
			return place, true
		}
		next, ok := t.nextRise(need, at)
		if !ok {
			return Place{}, false
		}
		at = next
	}
	return Place{}, false
}

// FitsAt says whether a set, others aside, finds room at a time and for a length
// from then on.
func (t *Timeline) FitsAt(s *Set, long Long, at Time) bool {
	_, ok := t.earliestSet(s, long, Span{From: at, Till: at + 1})
	return ok
}

// The first window in which a start is looked for, and how much larger than
// all up to there the next is; beyond the largest comes all the rest.
const (
	windowFirst  Long = 1 << 10
	windowFactor      = 4
	windowMax    Long = 1 << 24
)

// earliestSet is the first time in a span at which a set fits, others aside.
// It is looked for in window after window: most starts are near, and nodes that
// have no room until the end of a window need not be looked at.
func (t *Timeline) earliestSet(s *Set, long Long, in Span) (Time, bool) {
	if s.Pods == 0 && in.From < in.Till {
		return in.From, true
	}
	if s.Pods == 1 {
		return t.earliestOne(s, long, in)
	}
	for window := windowFirst; in.From < in.Till; window *= windowFactor {
		part := Span{From: in.From, Till: in.Till}
		if window <= windowMax {
			part.Till = min(in.Till, in.From.plus(window))
		}
		if at, ok := t.earliestIn(s, long, part); ok {
			return at, true
		}
		in.From = part.Till
	}
	return 0, false
}

// earliestOne is earliestSet for a set of one pod: the first that any node
// offers, so that after one offer only earlier ones matter.
func (t *Timeline) earliestOne(s *Set, long Long, in Span) (at Time, ok bool) {
	opens := t.opensFor(s)
	for _, node := range t.openNodes(s, long, in.Till) {
		if ok && opens != nil && opens.of(node).shut(long, in.Till) {
			continue
		}
		first, found := t.line(int(node)).first(startsOf{set: s, long: long, in: in, width: t.width})
		if !found {
			continue
		}
		at, ok, in.Till = first, true, first
		if in.From == first {
			break
		}
	}
	return at, ok
}

// first is the first time at which a pod could begin on this node.
func (l *line) first(q startsOf) (Time, bool) {
	begin := q.in.From
	for i := l.step(begin); i < len(l.at); i++ {
		if q.set.room(l.vector(i, q.width), 1) == 0 {
			if begin = l.end(i); begin >= q.in.Till {
				return 0, false
			}
		} else if l.end(i) >= begin.plus(q.long) {
			break
		}
	}
	return begin, begin < q.in.Till
}

// earliestIn is earliestSet for one window.
func (t *Timeline) earliestIn(s *Set, long Long, in Span) (Time, bool) {
	changes := t.scratch.changes[:0]
	room := 0
	for _, node := range t.openNodes(s, long, in.Till) {
		begin := len(changes)
		changes = t.line(int(node)).starts(changes, startsOf{set: s, long: long, in: in, width: t.width})
		if len(changes) > begin && changes[begin].at == in.From {
			room += changes[begin].delta
			changes = append(changes[:begin], changes[begin+1:]...)
		}
	}
	t.scratch.changes = changes
	if room >= s.Pods {
		return in.From, true
	}
	// The first changes mostly decide, so they are taken from a heap.
	queue := changeQueue(changes)
	heap.Init(&queue)
	for len(queue) > 0 {
		at := queue[0].at
		for len(queue) > 0 && queue[0].at == at {
			room += queue[0].delta
			queue.drop()
		}
		if room >= s.Pods {
			return at, true
		}
	}
	return 0, false
}

// startsOf is what starts is asked about.
type startsOf struct {
	set   *Set
	long  Long
	in    Span
	width int
}

// most is how many pods of the set one node takes at most.
func (s *Set) most() int {
	if s.PerNode > 0 {
		return min(s.PerNode, s.Pods)
	}
	return s.Pods
}

func (s *Set) pods(free batch.Vector) int {
	return s.room(free, s.most())
}

// room is how many pods of the set there is room for, or most if for more.
func (s *Set) room(free batch.Vector, most int) int {
	if s.Spare != nil && free.PodsUpTo(s.Spare, 1) == 0 {
		return 0
	}
	return free.PodsUpTo(s.Each, most)
}

// starts appends how the number of pods that could begin on this node changes
// over time. A pod that begins in a step must also find room in every later
// step that begins before it ends; as the start moves right, more of those
// come in, and the number falls before the step is over.
func (l *line) starts(changes []change, q startsOf) []change {
	now := 0
	emit := func(at Time, n int) {
		if n != now {
			changes = append(changes, change{at: at, delta: n - now})
			now = n
		}
	}
	for i := l.step(q.in.From); i < len(l.at) && l.at[i] < q.in.Till; i++ {
		begin, end := max(l.at[i], q.in.From), q.in.Till
		if i+1 < len(l.at) {
			end = min(end, l.at[i+1])
		}
		n := q.set.pods(l.vector(i, q.width))
		j := i + 1
		for ; n > 0 && j < len(l.at) && l.at[j] < begin.plus(q.long); j++ {
			n = min(n, q.set.pods(l.vector(j, q.width)))
		}
		emit(begin, n)
		for ; n > 0 && j < len(l.at); j++ {
			// From this start on, step j is part of the run.
			enters := l.at[j] - Time(q.long) + 1
			if enters >= end {
				break
			}
			if m := q.set.pods(l.vector(j, q.width)); m < n {
				n = m
				emit(enters, n)
			}
		}
	}
	return changes
}

// nextRise is the next time after at when any node that would do has more.
func (t *Timeline) nextRise(need Need, at Time) (Time, bool) {
	next := Never
	for i := range need.Sets {
		for _, node := range need.Sets[i].Nodes {
			l := t.line(int(node))
			if j := l.step(at) + 1; j < len(l.at) {
				next = min(next, l.at[j])
			}
		}
	}
	return next, next != Never
}
