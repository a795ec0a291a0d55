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
// without a look at their steps. Of several nodes it is of all of them.
type opening struct {
	first Time // before it there is none
	last  Time // from then on there is for ever; Never: not for ever
	long  Long // of the longest stretch of room that ends
}

// shut says whether no run of a length begins before a time.
func (o *opening) shut(long Long, till Time) bool {
	return o.first >= till || (long > o.long && o.last >= till)
}

// join makes it an opening of other nodes too.
func (o *opening) join(other *opening) {
	o.first, o.last, o.long = min(o.first, other.first), min(o.last, other.last), max(o.long, other.long)
}

// tail is the room for pods in the last step of a node, which holds for ever: enough to
// say of a run that begins then how the node counts, without a look at its steps.
type tail struct {
	from  Time // when the step begins
	since Time // that there has been as much room
	room  int32
	idle  bool // nothing sits there
	known bool // else nobody has asked
}

// Chance is when any of some nodes has room for a pod, in short: enough to say
// of most runs that none of these nodes is of use to them.
type Chance struct {
	opening
	known   bool
	nodes   int // so many there were
	written int // when so many had been written
}

// Shut says whether no run of a length begins on these nodes before a time.
func (c *Chance) Shut(long Long, till Time) bool { return c.shut(long, till) }

// Chances brings a chance up to date for pods of a set on some nodes, of which
// more may have been added. The zero Chance is of no nodes.
func (t *Timeline) Chances(c *Chance, s *Set, nodes *Nodes) {
	if c.known && c.nodes == len(nodes.list) && c.written == len(t.written) {
		return
	}
	*c = Chance{opening: opening{first: Never, last: Never}, known: true, nodes: len(nodes.list), written: len(t.written)}
	opens := t.opensFor(s)
	for _, node := range nodes.list {
		if opens != nil {
			c.join(opens.of(node))
		} else {
			one := t.line(int(node)).opens(s, t.width)
			c.join(&one)
		}
	}
}

// openPage is the openings of nodes next to each other.
type openPage struct {
	owner *owner
	of    [pageSize]opening
	tails [pageSize]tail
	all   opening // of of taken together
	stale bool    // all is not known any more
}

// openings are those of all nodes for pods that ask for the same.
type openings struct {
	each, spare batch.Vector
	pages       []*openPage
	read        int // of the nodes that were written
}

// of is the opening of a node.
func (o *openings) of(node int32) *opening { return &o.pages[node/pageSize].of[node%pageSize] }

// tailOf is the tail of a node on a page, for pods of a set; nil: none is kept.
func (t *Timeline) tailOf(p *openPage, node int32, s *Set) *tail {
	is := &p.tails[node%pageSize]
	if !is.known {
		if p.owner != t.owner {
			return nil
		}
		*is = t.line(int(node)).tail(s, t.capacity[node])
	}
	return is
}

// opensFor are the openings for a set of pods; nil: its nodes are few.
func (t *Timeline) opensFor(s *Set) *openings {
	if len(s.Nodes) < indexedMin {
		return nil
	}
	o := t.openingsOf(s)
	if o == nil {
		o = t.addOpenings(s)
	}
	written := t.written[o.read:]
	if len(written) == 0 {
		return o
	}
	if t.owner == nil {
		t.owner = &owner{}
	}
	for _, node := range written {
		p := o.pages[node/pageSize]
		if p.owner != t.owner {
			own := *p
			own.owner = t.owner
			p = &own
			o.pages[node/pageSize] = p
		}
		p.of[node%pageSize] = t.line(int(node)).opens(s, t.width)
		p.tails[node%pageSize].known = false
		p.stale = true
	}
	o.read = len(t.written)
	return o
}

// openingsOf finds the openings for a set of pods; nil: nobody has asked.
func (t *Timeline) openingsOf(s *Set) *openings {
	for i := range t.openings {
		if o := &t.openings[i]; len(o.each) > 0 && len(s.Each) > 0 && &o.each[0] == &s.Each[0] && slices.Equal(o.spare, s.Spare) {
			return o
		}
	}
	for i := range t.openings {
		if o := &t.openings[i]; slices.Equal(o.each, s.Each) && slices.Equal(o.spare, s.Spare) {
			return o
		}
	}
	return nil
}

// Index works out what helps to find room for pods of a set, for t and for its clones.
func (t *Timeline) Index(s *Set) { t.opensFor(s) }

// addOpenings works them out for all nodes.
func (t *Timeline) addOpenings(s *Set) *openings {
	if len(t.openings) == openingsMax {
		t.openings = append(t.openings[:0], t.openings[1:]...)
	}
	o := openings{each: s.Each, spare: s.Spare, pages: make([]*openPage, len(t.pages)), read: len(t.written)}
	for i := range o.pages {
		o.pages[i] = &openPage{owner: t.owner, stale: true}
		for k := range o.pages[i].of {
			o.pages[i].of[k] = opening{first: Never, last: Never}
			if node := i*pageSize + k; node < t.number {
				o.pages[i].of[k] = t.line(node).opens(s, t.width)
			}
		}
		o.pages[i].sum()
	}
	t.openings = append(t.openings, o)
	return &t.openings[len(t.openings)-1]
}

// tail is the room for pods of a set in the last step.
func (l *line) tail(s *Set, capacity batch.Vector) tail {
	i, width := len(l.at)-1, len(capacity)
	free := l.vector(i, width)
	is := tail{known: true, from: l.at[i], since: l.at[i], room: int32(s.room(free, batch.PodsMax)), idle: slices.Equal(free, capacity)}
	for ; i > 0 && is.room > 0 && s.room(l.vector(i-1, width), int(is.room)) >= int(is.room); i-- {
		is.since = l.at[i-1]
	}
	return is
}

// sum works out the opening of all nodes of a page. Only its owner may.
func (p *openPage) sum() {
	if !p.stale {
		return
	}
	p.all, p.stale = opening{first: Never, last: Never}, false
	for i := range p.of {
		p.all.join(&p.of[i])
	}
}

// shuts says whether it is known of a page that no run of a length begins on any
// of its nodes before a time.
func (t *Timeline) shuts(p *openPage, long Long, till Time) bool {
	if p.owner == t.owner {
		p.sum()
	}
	return !p.stale && p.all.shut(long, till)
}

// openNodes are those nodes of a set on which a run of a length may begin
// before a time. The list is t's own memory until it is asked again.
func (t *Timeline) openNodes(s *Set, long Long, till Time) []int32 {
	o := t.opensFor(s)
	if o == nil {
		return s.Nodes
	}
	nodes, open := s.Nodes, t.scratch.open[:0]
	for len(nodes) > 0 {
		p := o.pages[nodes[0]/pageSize]
		after := endOfPage(nodes)
		if !t.shuts(p, long, till) {
			for _, node := range nodes[:after] {
				if !p.of[node%pageSize].shut(long, till) {
					open = append(open, node)
				}
			}
		}
		nodes = nodes[after:]
	}
	t.scratch.open = open
	return open
}

// endOfPage is how many of some nodes, which are ascending, lie on the page of
// the first.
func endOfPage(nodes []int32) int {
	next := (nodes[0]/pageSize + 1) * pageSize
	most := min(len(nodes), pageSize)
	if nodes[most-1] < next {
		return most
	}
	after, _ := slices.BinarySearch(nodes[:most], next)
	return after
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
// lines, and the nodes that were written since. Those that as many nodes were
// written since as there are would be as soon worked out anew.
func (t *Timeline) openingsForClone() (clone []openings, written []int32) {
	last := max(0, len(t.written)-t.number)
	first := len(t.written)
	for _, o := range t.openings {
		if o.read >= last {
			o.pages = slices.Clone(o.pages)
			clone = append(clone, o)
			first = min(first, o.read)
		}
	}
	for i := range clone {
		clone[i].read -= first
	}
	return clone, slices.Clone(t.written[first:])
}
