package timeline

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// opensMax bounds the kinds of pods whose openings are kept.
const opensMax = 64

// opening is, for pods that ask for the same, a time for each node before which
// it has no room for any. On a busy cluster that passes over most nodes without
// a look at them.
type opening struct {
	each, spare batch.Vector
	first       []Time
	read        int  // of the nodes that were written
	shared      bool // first, with a clone
}

// opens is the opening of a set of pods.
func (t *Timeline) opens(s *Set) []Time {
	i := slices.IndexFunc(t.opening, func(o opening) bool {
		return slices.Equal(o.each, s.Each) && slices.Equal(o.spare, s.Spare)
	})
	if i < 0 {
		if len(t.opening) == opensMax {
			t.opening = append(t.opening[:0], t.opening[1:]...)
		}
		i = len(t.opening)
		t.opening = append(t.opening, opening{each: s.Each, spare: s.Spare, first: make([]Time, len(t.lines)), read: len(t.written)})
		for node := range t.lines {
			t.opening[i].first[node] = t.lines[node].opens(s, t.width)
		}
	}
	o := &t.opening[i]
	if o.read == len(t.written) {
		return o.first
	}
	if o.shared {
		o.first, o.shared = slices.Clone(o.first), false
	}
	for _, node := range t.written[o.read:] {
		o.first[node] = t.lines[node].opens(s, t.width)
	}
	o.read = len(t.written)
	return o.first
}

// opens is the first time at which a node has room for a pod.
func (l *line) opens(s *Set, width int) Time {
	for i := range l.at {
		if s.room(l.vector(i, width), 1) > 0 {
			return l.at[i]
		}
	}
	return Never
}

// openingForClone is what is known of openings, for a timeline with the same
// lines: it has written none.
func (t *Timeline) openingForClone() []opening {
	clone := make([]opening, 0, len(t.opening))
	for i := range t.opening {
		o := t.opening[i]
		if o.read < len(t.written) {
			continue
		}
		if !o.shared {
			t.opening[i].shared = true
		}
		o.read, o.shared = 0, true
		clone = append(clone, o)
	}
	return clone
}
