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

// HasRoom says whether there is room for all pods of a set that begin at a time
// and stay for a length. It looks at no more nodes than it must.
func (t *Timeline) HasRoom(s *Set, long Long, at Time) bool {
	left, span := s.Pods, SpanOf(at, long)
	opens := t.opensFor(s)
	for nodes := s.Nodes; left > 0 && len(nodes) > 0; {
		page := nodes
		if opens != nil {
			page = nodes[:endOfPage(nodes)]
		}
		if nodes = nodes[len(page):]; opens == nil || !t.shuts(opens.pages[page[0]/pageSize], long, at+1) {
			left -= t.roomOf(s, page, opens, asked{span: span, long: long, pods: left})
		}
	}
	return left <= 0
}

// IsOpen says whether a pod of a set may begin on a node before a time, and stay
// for a length: false means that none does, and is found without a look at the
// node's steps.
func (t *Timeline) IsOpen(s *Set, node int, long Long, till Time) bool {
	opens := t.opensFor(s)
	return opens == nil || !opens.of(int32(node)).shut(long, till)
}

// asked is for how many pods there must be room, and when.
type asked struct {
	span Span
	long Long
	pods int
}

// roomOf is for how many pods of a set there is room on some nodes, or for
// enough.
func (t *Timeline) roomOf(s *Set, nodes []int32, opens *openings, need asked) (room int) {
	for _, node := range nodes {
		if opens != nil && opens.of(node).shut(need.long, need.span.From+1) {
			continue
		}
		if room += t.RoomOn(s, int(node), need.span); room >= need.pods {
			break
		}
	}
	return room
}

// Takes says whether a node would do for a set.
func (s *Set) Takes(node int) bool { return s.usable(int32(node)) }

// Take is Hold, whether the place is free or not.
func (t *Timeline) Take(p Place) {
	for _, s := range p.Seats {
		t.add(s.Node, s.Each, -s.Pods, p.Span)
	}
}

// RoomWithout is RoomOn if those were gone that take something of the node from
// the begin of a span on: those that take it longest come first.
func (t *Timeline) RoomWithout(s *Set, node int, span Span, gone []Taken) int {
	l := t.line(node)
	first := l.step(span.From)
	last := first
	for last+1 < len(l.at) && l.at[last+1] < span.Till {
		last++
	}
	free := append(t.scratch.free[:0], make(batch.Vector, 2*t.width)...)
	t.scratch.free = free
	back, free := free[:t.width], free[t.width:]
	room := s.most()
	for i := last; room > 0 && i >= first; i-- {
		till := min(l.end(i), span.Till)
		for len(gone) > 0 && gone[0].Till >= till {
			back.Sub(gone[0].Each, -1)
			gone = gone[1:]
		}
		copy(free, l.vector(i, t.width))
		free.Sub(back, -1)
		room = s.room(free, room)
	}
	return room
}

// Return gives back what Charge has taken.
func (t *Timeline) Return(node int, need batch.Vector, span Span) { t.add(node, need, 1, span) }

// Most is how many pods of the set one node takes at most.
func (s *Set) Most() int { return s.most() }
