package timeline

import "slices"

// Nodes is a set of nodes by index.
type Nodes struct {
	has  []bool
	list []int32
}

// NewNodes returns an empty set that takes nodes below n.
func NewNodes(n int) *Nodes { return &Nodes{has: make([]bool, n)} }

// Add puts a node into the set.
func (n *Nodes) Add(node int) {
	if !n.has[node] {
		n.has[node] = true
		n.list = append(n.list, int32(node))
	}
}

// AddPlace puts the nodes of a place into the set.
func (n *Nodes) AddPlace(p Place) {
	for _, s := range p.Seats {
		n.Add(s.Node)
	}
}

// Has says whether a node is in the set.
func (n *Nodes) Has(node int) bool { return n.has[node] }

// List is the nodes in the order in which they were added.
func (n *Nodes) List() []int32 { return n.list }

// pick is a node that was chosen, when so many pods were left to be placed.
type pick struct {
	candidate
	left int
}

// Look is a question to At with its answer.
type Look struct {
	Need  Need
	Start Time
	Place Place
	Found bool
	from  Time // of the timeline that was asked
}

// Look asks At.
func (t *Timeline) Look(need Need, at Time) Look {
	l := Look{Need: need, Start: at, from: t.from}
	l.Place, l.Found = t.At(need, at)
	return l
}

// Noted is the Look for a place that Earliest has found.
func (t *Timeline) Noted(need Need, place Place) Look {
	return Look{Need: need, Start: place.From, Place: place, Found: true, from: t.from}
}

// LookAgain asks what was asked before, when no node but those changed is
// other than it was. It gives what At gives, and looks at few nodes where it
// can: the others lost against those chosen then, and lose against any that are
// no worse.
func (t *Timeline) LookAgain(was Look, changed *Nodes) Look {
	if was.Start < t.from {
		return t.Look(was.Need, was.Start)
	}
	if len(was.Need.Sets) != 1 {
		if slices.ContainsFunc(was.Need.Sets, changed.anyOf) {
			return t.Look(was.Need, was.Start)
		}
		return was.seenFrom(t.from)
	}
	s := &was.Need.Sets[0]
	span := Span{From: was.Start, Till: was.Start.plus(was.Need.Long)}
	nodes, others, same := t.among(t.scratch.nodes[:0], was, changed)
	t.scratch.nodes = nodes
	if same && (others == 0 || t.lose(t.candidates(s, nodes[:others], span), was)) {
		return was.seenFrom(t.from)
	}
	seats, picks, ok := t.choose(0, s, t.candidates(s, nodes, span))
	if !was.Found || !ok || !t.noWorse(picks, was) {
		return t.Look(was.Need, was.Start)
	}
	slices.SortFunc(seats, bySetAndNode)
	is := was.seenFrom(t.from)
	if !(Place{Span: was.Place.Span, Seats: seats}).Equal(was.Place) {
		is.Place.Seats = slices.Clone(seats) // else the same memory: equal at a glance
	}
	if !slices.Equal(picks, was.Place.picks) {
		is.Place.picks = slices.Clone(picks)
	}
	return is
}

// seenFrom is a look whose answer is the same at a later time.
func (l Look) seenFrom(from Time) Look {
	l.from = from
	return l
}

// Asks says whether a look asked for this.
func (l *Look) Asks(need Need, at Time) bool {
	return l.Start == at && l.Need.Long == need.Long && slices.EqualFunc(l.Need.Sets, need.Sets, func(a, b Set) bool {
		return a.Pods == b.Pods && a.PerNode == b.PerNode && len(a.Nodes) == len(b.Nodes) &&
			(len(a.Nodes) == 0 || &a.Nodes[0] == &b.Nodes[0]) && slices.Equal(a.Each, b.Each) && slices.Equal(a.Spare, b.Spare)
	})
}

// noWorse says whether each pick is at least as good as the one before in its
// place: then whoever lost against that one loses against this one.
func (t *Timeline) noWorse(picks []pick, was Look) bool {
	if len(was.Place.picks) == 0 {
		return false
	}
	for i, is := range picks {
		if i >= len(was.Place.picks) || is.left != was.Place.picks[i].left {
			return false
		}
		old, ok := t.stillAs(was.Place.picks[i], was)
		if !ok || old.beats(&is) {
			return false
		}
	}
	return true
}

// anyOf says whether any of the nodes would do for a set.
func (n *Nodes) anyOf(s Set) bool { return slices.ContainsFunc(n.list, s.usable) }

func (s *Set) usable(node int32) bool {
	if int(node) < len(s.Nodes) && s.Nodes[node] == node {
		return true // as where all nodes would do
	}
	_, ok := slices.BinarySearch(s.Nodes, node)
	return ok
}

// lose says whether some candidates that are not among those chosen lose against all
// of these, which are as they were.
func (t *Timeline) lose(others []candidate, was Look) bool {
	for i := range was.Place.picks {
		chosen, ok := t.stillAs(was.Place.picks[i], was)
		if !ok {
			return false
		}
		for k := range others {
			if others[k].beats(&chosen) {
				return false
			}
		}
	}
	return len(was.Place.picks) > 0 || len(others) == 0 // of a place that was found in another way nobody knows
}

// stillAs is a pick as it counts now, on a node that is as it was: what was free before
// the timeline begins is as good as what is free since then. false: it is not known
// whether others have become as good by that.
func (t *Timeline) stillAs(old pick, was Look) (pick, bool) {
	if old.since > was.from && old.since <= t.from {
		return old, false // what became free later than others did so before now, like them
	}
	old.since = max(old.since, t.from)
	return old, true
}

// beats says whether a candidate would have been taken in the place of a pick.
func (c *candidate) beats(p *pick) bool {
	switch all, before := int(c.take) >= p.left, int(p.take) >= p.left; {
	case all && before:
		return better(c, &p.candidate) < 0
	case all || before:
		return all
	default:
		return byTake(c, &p.candidate) < 0
	}
}

// among appends the nodes that matter to a look: of those changed that it had not
// chosen the ones that have room now, which are so many, and those that it had chosen.
// same says that none of the latter has changed. Nodes on which something has ended
// since the look was taken have, so that no other became more or less worth by the time.
func (t *Timeline) among(out []int32, was Look, changed *Nodes) (nodes []int32, others int, same bool) {
	s := &was.Need.Sets[0]
	q := startsOf{set: s, long: was.Need.Long, in: Span{From: was.Start, Till: was.Start + 1}, width: t.width}
	opens := t.opensFor(s)
	for _, node := range changed.list {
		if !s.usable(node) || (opens != nil && opens.of(node).shut(q.long, q.in.Till)) {
			continue
		}
		if _, ok := t.line(int(node)).first(q); ok {
			out = append(out, node)
		}
	}
	others, same = len(out), true
	for i := range was.Place.Seats {
		if node := was.Place.Seats[i].Node; changed.has[node] {
			same = false
		} else {
			out = append(out, int32(node))
		}
	}
	return out, others, same
}

// Differ is the nodes on which two timelines are not the same from the begin
// of the later one on, or on which something has ended in the meantime.
func Differ(was, is *Timeline) *Nodes {
	differ := NewNodes(is.number)
	for i := range is.number {
		a, b := was.line(i), is.line(i)
		if (len(a.at) > 1 && a.at[1] <= is.from) || !a.same(b) {
			differ.Add(i)
		}
	}
	return differ
}

// same says whether two lines are equal; where they begin does not matter.
func (l *line) same(other *line) bool {
	return l.one(other) || (slices.Equal(l.at[1:], other.at[1:]) && slices.Equal(l.free, other.free))
}

// one says whether two lines lie in the same memory.
func (l *line) one(other *line) bool {
	return len(l.at) == len(other.at) && &l.at[0] == &other.at[0] && &l.free[0] == &other.free[0]
}

// Changed are the nodes whose lines were written since one timeline was cloned
// from the other, or was the same as what it was cloned from.
func Changed(was, is *Timeline, each func(node int)) {
	for node := range is.number {
		if !was.pages[node/pageSize].same(&is.pages[node/pageSize]) && !was.line(node).one(is.line(node)) {
			each(node)
		}
	}
}

// Gain is a stretch of time in which a node has more free than it had.
type Gain struct {
	Span
	Node int
}

// Uses is the part of a span in which a run of a length may begin that uses the
// gain.
func (g *Gain) Uses(long Long, in Span) Span {
	in.Till = min(in.Till, g.Till)
	if long != Forever {
		in.From = max(in.From, g.From-Time(long)+1)
	}
	return in
}

// Gains are where a timeline has more free, of any resource, than another had.
func Gains(was, is *Timeline) (gains []Gain) {
	Changed(was, is, func(node int) { gains = is.gains(gains, was.line(node), node) })
	return gains
}

// gains appends those of one node over the line that it had.
func (t *Timeline) gains(gains []Gain, was *line, node int) []Gain {
	is := t.line(node)
	i, j := was.step(t.from), is.step(t.from)
	open := false
	for at := t.from; at != Never; {
		switch more := is.exceeds(j, was, i, t.width); {
		case more && !open:
			gains = append(gains, Gain{Span: Span{From: at, Till: Never}, Node: node})
			open = true
		case !more && open:
			gains[len(gains)-1].Till = at
			open = false
		}
		at = min(was.end(i), is.end(j))
		if was.end(i) == at {
			i++
		}
		if is.end(j) == at {
			j++
		}
	}
	return gains
}

// end is when a step is over.
func (l *line) end(i int) Time {
	if i+1 < len(l.at) {
		return l.at[i+1]
	}
	return Never
}

func (l *line) exceeds(i int, other *line, j, width int) bool {
	mine, theirs := l.vector(i, width), other.vector(j, width)
	for r := range mine {
		if mine[r] > theirs[r] {
			return true
		}
	}
	return false
}

// BeginsBy is the part of the time before till in which a pod of a set could
// begin a run that uses one of some gains, on its node: from the first such
// time to behind the last. It is empty if there is none.
func (t *Timeline) BeginsBy(s *Set, long Long, gains []Gain, till Time) Span {
	part := Span{From: Never}
	opens := t.opensFor(s)
	for i := range gains {
		g := &gains[i]
		in := g.Uses(long, Span{From: t.from, Till: till})
		if in.From >= in.Till || (opens != nil && opens.of(int32(g.Node)).shut(long, in.Till)) || !s.usable(int32(g.Node)) {
			continue
		}
		begins := t.begins(s, long, g.Node, in)
		part.From, part.Till = min(part.From, begins.From), max(part.Till, begins.Till)
	}
	return part
}

// begins is the part of a span in which a pod of a set could begin on a node.
func (t *Timeline) begins(s *Set, long Long, node int, in Span) Span {
	changes := t.line(node).starts(t.scratch.changes[:0], startsOf{set: s, long: long, in: in, width: t.width})
	t.scratch.changes = changes
	if len(changes) == 0 {
		return Span{From: Never}
	}
	part, room := Span{From: changes[0].at, Till: in.Till}, 0
	for _, c := range changes {
		room += c.delta
	}
	if room == 0 {
		part.Till = changes[len(changes)-1].at
	}
	return part
}
