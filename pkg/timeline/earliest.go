package timeline

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// Set is a group of like pods to be placed.
type Set struct {
	Pods    int
	Each    batch.Vector
	PerNode int     // pods on one node at most; 0: any
	Nodes   []int32 // that would do, ascending
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

// scratch is memory that is used again.
type scratch struct {
	changes    []change
	candidates []candidate
}

// Earliest is the first place, not before from, at which a gang fits; false if
// it never does.
//
// A set alone fits where the pods that could begin on each node add up. That
// is exact for one set; with several it is a bound from below, and the places
// from there on are tried one by one.
func (t *Timeline) Earliest(need Need, from Time) (Place, bool) {
	at := max(from, t.from)
	for i := range need.Sets {
		first, ok := t.earliestSet(&need.Sets[i], need.Long, at)
		if !ok {
			return Place{}, false
		}
		at = first
	}
	for {
		if place, ok := t.At(need, at); ok {
			return place, true
		}
		next, ok := t.nextRise(need, at)
		if !ok {
			return Place{}, false
		}
		at = next
	}
}

// earliestSet is the first time from which a set fits, others aside.
func (t *Timeline) earliestSet(s *Set, long Long, from Time) (Time, bool) {
	if s.Pods == 0 {
		return from, true
	}
	changes := t.scratch.changes[:0]
	room := 0
	for _, node := range s.Nodes {
		begin := len(changes)
		changes = t.lines[node].starts(changes, startsOf{set: s, long: long, from: from, width: t.width})
		if len(changes) > begin && changes[begin].at == from {
			room += changes[begin].delta
			changes = append(changes[:begin], changes[begin+1:]...)
		}
	}
	t.scratch.changes = changes
	if room >= s.Pods {
		return from, true
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	for i, c := range changes {
		room += c.delta
		if last := i+1 == len(changes) || changes[i+1].at != c.at; last && room >= s.Pods {
			return c.at, true
		}
	}
	return 0, false
}

// startsOf is what starts is asked about.
type startsOf struct {
	set   *Set
	long  Long
	from  Time
	width int
}

func (s *Set) pods(free batch.Vector) int {
	n := min(free.Pods(s.Each), s.Pods)
	if s.PerNode > 0 {
		n = min(n, s.PerNode)
	}
	return n
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
	for i := l.step(q.from); i < len(l.at); i++ {
		begin, end := max(l.at[i], q.from), Never
		if i+1 < len(l.at) {
			end = l.at[i+1]
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
			l := &t.lines[node]
			if j := l.step(at) + 1; j < len(l.at) {
				next = min(next, l.at[j])
			}
		}
	}
	return next, next != Never
}
