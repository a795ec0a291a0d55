package timeline

import "github.com/berth-dev/berth/pkg/batch"

// FirstFit is the first time, not before from, at which a place is free for a
// length, its nodes given; false if there is none.
func (t *Timeline) FirstFit(p Place, long Long, from Time) (Place, bool) {
	at := max(from, t.from)
	for {
		p.Span = SpanOf(at, long)
		if t.Fits(p) {
			return p, true
		}
		next := Never
		for _, s := range p.Seats {
			l := t.line(s.Node)
			if i := l.step(at) + 1; i < len(l.at) {
				next = min(next, l.at[i])
			}
		}
		if next == Never {
			return p, false
		}
		at = next
	}
}

// RoomOn is how many pods of a set could begin on one of its nodes at a time,
// and stay for a length.
func (t *Timeline) RoomOn(s *Set, node int, span Span) int {
	l := t.line(node)
	room := s.most()
	for i := l.step(span.From); room > 0 && i < len(l.at) && (l.at[i] < span.Till || l.at[i] <= span.From); i++ {
		room = s.room(l.vector(i, t.width), room)
	}
	return room
}

// Return gives back what Charge has taken.
func (t *Timeline) Return(node int, need batch.Vector, span Span) { t.add(node, need, 1, span) }

// Most is how many pods of the set one node takes at most.
func (s *Set) Most() int { return s.most() }
