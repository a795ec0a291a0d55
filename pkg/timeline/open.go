package timeline

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// openingsMax bounds the kinds of pods whose openings are kept.
const openingsMax = 64

// indexedMin is the fewest nodes for which openings are worth their keep: of
// fewer each line is as soon walked.
const indexedMin = 4

// opening is when a node has room for a pod, in short: enough to say of most
// nodes of a busy cluster that no run of a length begins there before a time,
// without a look at their steps.
type opening struct {
	first Time // before it there is none
	last  Time // from then on there is for ever; Never: not for ever
	long  Long // of the longest stretch of room that ends
}

// shut says whether no run of a length begins before a time.
func (o *opening) shut(long Long, till Time) bool {
	return o.first >= till || (long > o.long && o.last >= till)
}

// openings are those of all nodes for pods that ask for the same.
type openings struct {
	each, spare batch.Vector
	of          []opening
	read        int  // of the nodes that were written
	shared      bool // of, with a clone
}

// opensFor are the openings for a set of pods; nil: its nodes are few.
func (t *Timeline) opensFor(s *Set) []opening {
	if len(s.Nodes) < indexedMin {
		return nil
	}
	i := slices.IndexFunc(t.openings, func(o openings) bool {
		return slices.Equal(o.each, s.Each) && slices.Equal(o.spare, s.Spare)
	})
	if i < 0 {
		if len(t.openings) == openingsMax {
			t.openings = append(t.openings[:0], t.openings[1:]...)
		}
		i = len(t.openings)
		t.openings = append(t.openings, openings{each: s.Each, spare: s.Spare, of: make([]opening, len(t.lines)), read: len(t.written)})
		for node := range t.lines {
			t.openings[i].of[node] = t.lines[node].opens(s, t.width)
		}
	}
	o := &t.openings[i]
	if o.read == len(t.written) {
		return o.of
	}
	if o.shared {
		o.of, o.shared = slices.Clone(o.of), false
	}
	for _, node := range t.written[o.read:] {
		o.of[node] = t.lines[node].opens(s, t.width)
	}
	o.read = len(t.written)
	return o.of
}

// opens is when the node has room for a pod.
func (l *line) opens(s *Set, width int) opening {
	o := opening{first: Never, last: Never}
	since := Never
	for i := range l.at {
		switch open := s.room(l.vector(i, width), 1) > 0; {
		case open && since == Never:
			since = l.at[i]
			o.first = min(o.first, since)
		case !open && since != Never:
			o.long = max(o.long, Long(l.at[i]-since))
			since = Never
		}
	}
	o.last = since
	return o
}

// openingsForClone is what is known of openings, for a timeline with the same
// lines: it has written none.
func (t *Timeline) openingsForClone() []openings {
	clone := make([]openings, 0, len(t.openings))
	for i := range t.openings {
		o := t.openings[i]
		if o.read < len(t.written) {
			continue
		}
		if !o.shared {
			t.openings[i].shared = true
		}
		o.read, o.shared = 0, true
		clone = append(clone, o)
	}
	return clone
}
