package timeline

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// Slots are like nodes that are taken whole: what each has when it is free, and
// from when on each is.
type Slots struct {
	Each  batch.Vector
	Since []Time
}

// OfSlots is the timeline on which each of some slots is one line, with the sum
// of what is free of them.
func OfSlots(all []Slots, from Time) *Timeline {
	capacity := make([]batch.Vector, len(all))
	for i, s := range all {
		capacity[i] = make(batch.Vector, len(s.Each))
		capacity[i].Sub(s.Each, -len(s.Since))
	}
	t := New(capacity, from)
	for i, s := range all {
		l := s.line(from)
		l.owner = t.owner
		*t.line(i) = l
	}
	return t
}

func (s *Slots) line(from Time) line {
	since := slices.Sorted(slices.Values(s.Since))
	l := line{at: []Time{from}, free: make([]batch.Amount, len(s.Each))}
	free := make(batch.Vector, len(s.Each))
	for _, at := range since {
		free.Sub(s.Each, -1)
		if at > l.at[len(l.at)-1] {
			l.at = append(l.at, at)
			l.free = append(l.free, free...)
			continue
		}
		copy(l.free[len(l.free)-len(free):], free)
	}
	return l
}

// InTheEnd is what is free on a node from some time on for ever, and since
// when. The vector is the timeline's own memory: read it, and don't keep it.
func (t *Timeline) InTheEnd(node int) (free batch.Vector, since Time) {
	l := t.line(node)
	last := len(l.at) - 1
	return l.vector(last, t.width), max(l.at[last], t.from)
}

// AllOrNone says whether a node has nothing free of a resource up to the time
// from which on nothing changes.
func (t *Timeline) AllOrNone(node, resource int) bool {
	l := t.line(node)
	for i := l.step(t.from); i < len(l.at)-1; i++ {
		if l.vector(i, t.width)[resource] != 0 {
			return false
		}
	}
	return true
}
