package timeline

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// candidate is a node that takes at least one pod of a set at some start.
type candidate struct {
	// since is when the room came up; later is better, so that what is idle
	// before that stays open to others.
	since Time
	node  int32
	take  int32 // pods of the set that it takes
	room  int32 // pods that it would take if the set had no bounds: its emptiness
	used  bool  // something sits there at that time
}

// At is a place for a gang that begins at a given time; false if there is
// none. It takes as few nodes as it can, of those the fullest that take it,
// and for a later start those that become free last; ties go by node.
func (t *Timeline) At(need Need, at Time) (Place, bool) {
	at = max(at, t.from)
	place := Place{Span: Span{From: at, Till: at.plus(need.Long)}}
	order := make([]int, len(need.Sets))
	for i := range order {
		order[i] = i
	}
	if len(order) > 1 {
		order = t.scarceFirst(need, place.Span)
	}
	for done, i := range order {
		seats, picks, ok := t.seat(i, &need.Sets[i], place.Span)
		if !ok {
			t.giveBack(place)
			return Place{}, false
		}
		place.Seats = append(place.Seats, seats...)
		if len(order) == 1 {
			place.picks = slices.Clone(picks)
		}
		if done+1 < len(order) {
			for _, s := range seats {
				t.add(s.Node, s.Each, -s.Pods, place.Span)
			}
		} else {
			// The last one's seats were not taken, so don't give them back.
			t.giveBack(Place{Span: place.Span, Seats: place.Seats[:len(place.Seats)-len(seats)]})
		}
	}
	slices.SortFunc(place.Seats, bySetAndNode)
	return place, true
}

func bySetAndNode(a, b Seat) int {
	return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(a.Node, b.Node))
}

func (t *Timeline) giveBack(p Place) {
	if len(p.Seats) > 0 {
		t.Release(p)
	}
}

// Room is how many pods of a set could begin at a time, and on how many nodes.
func (t *Timeline) Room(s *Set, long Long, at Time) (pods, nodes int) {
	for _, c := range t.candidates(s, s.Nodes, Span{From: at, Till: at.plus(long)}) {
		pods += int(c.take)
		nodes++
	}
	return pods, nodes
}

// scarceFirst orders the sets of a gang so that the one with the least room to
// spare is placed first: leaders of no great size must not take the only nodes
// that the workers fit on.
func (t *Timeline) scarceFirst(need Need, span Span) []int {
	order := make([]int, len(need.Sets))
	spare := make([]int, len(need.Sets))
	for i := range need.Sets {
		order[i] = i
		for _, c := range t.candidates(&need.Sets[i], need.Sets[i].Nodes, span) {
			spare[i] += int(c.room)
		}
		spare[i] -= need.Sets[i].Pods
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(spare[a], spare[b]) })
	return order
}

// seat places one set. What it returns is t's own memory until it is asked again.
func (t *Timeline) seat(set int, s *Set, span Span) ([]Seat, []pick, bool) {
	if s.Pods == 0 {
		return nil, nil, true
	}
	return t.choose(set, s, t.candidates(s, s.Nodes, span))
}

// choose takes nodes for a set out of the candidates, in their order. What it
// returns is t's own memory until it is asked again.
func (t *Timeline) choose(set int, s *Set, candidates []candidate) ([]Seat, []pick, bool) {
	room, most := 0, 0
	for i := range candidates {
		take := int(candidates[i].take)
		room, most = room+take, max(most, take)
	}
	if room < s.Pods {
		return nil, nil, false
	}
	seats, picks := t.scratch.seats[:0], t.scratch.picks[:0]
	sorted := false
	for left := s.Pods; left > 0; {
		best := -1
		if left <= most {
			best = fullest(candidates, left)
		}
		if best < 0 {
			// No node takes all that is left: take the one that takes most.
			if !sorted {
				firstByTake(candidates, left)
				sorted = true
			}
			best = 0
		}
		c := candidates[best]
		n := min(left, int(c.take))
		seats = append(seats, Seat{Set: set, Node: int(c.node), Pods: n, Each: s.Each})
		picks = append(picks, pick{candidate: c, left: left})
		left -= n
		if best == 0 {
			candidates = candidates[1:]
		} else {
			candidates = slices.Delete(candidates, best, best+1)
		}
	}
	t.scratch.seats, t.scratch.picks = seats, picks
	return seats, picks, true
}

// firstByTake brings the first n of some candidates to the front, in order: no
// more are taken, since each takes at least one pod.
func firstByTake(candidates []candidate, n int) {
	if len(candidates) <= 4*n {
		sortByTake(candidates)
		return
	}
	front := candidates[:n]
	sortByTake(front)
	for i := n; i < len(candidates); i++ {
		if byTake(&candidates[i], &front[n-1]) >= 0 {
			continue
		}
		front[n-1], candidates[i] = candidates[i], front[n-1]
		for k := n - 1; k > 0 && byTake(&front[k], &front[k-1]) < 0; k-- {
			front[k], front[k-1] = front[k-1], front[k]
		}
	}
}

func sortByTake(candidates []candidate) {
	slices.SortFunc(candidates, func(a, b candidate) int { return byTake(&a, &b) })
}

// byTake orders nodes by how many pods they take, then as better does.
func byTake(a, b *candidate) int {
	if a.take != b.take {
		return cmp.Compare(b.take, a.take)
	}
	return better(a, b)
}

// better orders nodes that take enough: one in use before an empty one, the
// fuller before the emptier, the one that becomes free later, the name.
func better(a, b *candidate) int {
	switch {
	case a.used != b.used && a.used:
		return -1
	case a.used != b.used:
		return 1
	case a.room != b.room:
		return cmp.Compare(a.room, b.room)
	case a.since != b.since:
		return cmp.Compare(b.since, a.since)
	}
	return cmp.Compare(a.node, b.node)
}

// fullest is the best node that takes all of n pods; -1: none does.
func fullest(candidates []candidate, n int) int {
	best := -1
	for i := range candidates {
		if c := &candidates[i]; int(c.take) >= n && (best < 0 || better(c, &candidates[best]) < 0) {
			best = i
		}
	}
	return best
}

// candidates are those of the nodes that take at least one pod of the set over
// the span.
func (t *Timeline) candidates(s *Set, nodes []int32, span Span) []candidate {
	if len(nodes) == len(s.Nodes) { // of a few, each is as soon looked at
		if opens := t.opensFor(s); opens != nil {
			return t.candidatesBy(opens, s, span)
		}
	}
	found, most, n := t.roomFor(len(nodes)), s.most(), 0
	for _, node := range nodes {
		if c := &found[n]; t.candidate(c, s, node, span) {
			c.count(most, t.from)
			n++
		}
	}
	return found[:n]
}

// roomFor is memory for so many candidates, until it is asked again.
func (t *Timeline) roomFor(n int) []candidate {
	t.scratch.candidates = slices.Grow(t.scratch.candidates[:0], n)[:n]
	return t.scratch.candidates
}

// candidatesBy is candidates, of all nodes of a set, by their openings.
func (t *Timeline) candidatesBy(opens *openings, s *Set, span Span) []candidate {
	found, most, n := t.roomFor(len(s.Nodes)), s.most(), 0
	long, till := span.long(), span.From+1
	for nodes := s.Nodes; len(nodes) > 0; {
		p, after := opens.pages[nodes[0]/pageSize], endOfPage(nodes)
		page := nodes[:after]
		if nodes = nodes[after:]; t.shuts(p, long, till) {
			continue
		}
		for _, node := range page {
			if p.of[node%pageSize].shut(long, till) {
				continue
			}
			c := &found[n]
			if tail := t.tailOf(p, node, s); tail != nil && span.From >= tail.from {
				c.since, c.node, c.room, c.used = tail.since, node, tail.room, !tail.idle
			} else {
				t.candidate(c, s, node, span)
			}
			if c.room > 0 {
				c.count(most, t.from)
				n++
			}
		}
	}
	return found[:n]
}

// long is the length of a span.
func (s Span) long() Long {
	if s.Till == Never {
		return Forever
	}
	return Long(s.Till - s.From)
}

// count works out what a node counts for where it takes so many pods at most, on a
// timeline that begins at a time.
func (c *candidate) count(most int, from Time) {
	c.take, c.since = int32(min(int(c.room), most)), max(c.since, from)
}

// candidate makes c what a node has to offer for a set over a span: the room, and since
// when. False: it has none.
func (t *Timeline) candidate(c *candidate, s *Set, node int32, span Span) bool {
	l := t.line(int(node))
	i := l.step(span.From)
	free := l.vector(i, t.width)
	room := s.room(free, batch.PodsMax)
	for j := i + 1; room > 0 && j < len(l.at) && l.at[j] < span.Till; j++ {
		room = s.room(l.vector(j, t.width), room)
	}
	*c = candidate{node: node, room: int32(room), since: l.at[i], used: !slices.Equal(free, t.capacity[node])}
	for ; i > 0 && room > 0 && s.room(l.vector(i-1, t.width), room) >= room; i-- {
		c.since = l.at[i-1]
	}
	return room > 0
}

// Free is the least of each resource that is free on a node over a span.
func (t *Timeline) Free(node int, span Span) batch.Vector {
	l := t.line(node)
	i := l.step(span.From)
	least := slices.Clone(l.vector(i, t.width))
	for i++; i < len(l.at) && l.at[i] < span.Till; i++ {
		for r, amount := range l.vector(i, t.width) {
			least[r] = min(least[r], amount)
		}
	}
	return least
}

// FreeAt is what is free on a node at a time. It is the timeline's own memory:
// read it, and don't keep it.
func (t *Timeline) FreeAt(node int, at Time) batch.Vector {
	l := t.line(node)
	return l.vector(l.step(at), t.width)
}

// Opens says whether any time of a span has room for a pod on a node.
func (t *Timeline) Opens(node int, each batch.Vector, span Span) bool {
	l := t.line(node)
	for i := l.step(span.From); i < len(l.at) && l.at[i] < span.Till; i++ {
		if l.vector(i, t.width).PodsUpTo(each, 1) > 0 {
			return true
		}
	}
	return false
}
