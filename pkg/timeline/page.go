package timeline

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// pageSize is how many nodes lie on a page.
const pageSize = 64

// owner is the timeline that may write to a page, or to the steps of a line.
// Whatever has another owner is shared, and copied before it is written: so a
// clone costs little for each page, and giving up all that one owns nothing
// but the name.
type owner struct{ _ byte }

// page is what is free on nodes next to each other: as many as a page has, or as
// there are. It is handed on by value; its lines are shared.
type page struct {
	owner *owner
	of    []line
}

// same says whether two pages are one.
func (p *page) same(other *page) bool { return &p.of[0] == &other.of[0] }

// pagesFor is how many pages there are for a number of nodes.
func pagesFor(nodes int) int { return (nodes + pageSize - 1) / pageSize }

// line is what is free on a node: read it, and don't write to it.
func (t *Timeline) line(node int) *line { return &t.pages[node/pageSize].of[node%pageSize] }

// own is what is free on a node, to be written by t alone.
func (t *Timeline) own(node int) *line {
	l := t.replace(node)
	mine := cmp.Or(t.trial.owner, t.owner)
	if l.owner != mine {
		steps := len(l.at) + splitsSoon
		*l = line{
			owner: mine,
			at:    append(make([]Time, 0, steps), l.at...),
			free:  append(make([]batch.Amount, 0, steps*t.width), l.free...),
		}
	}
	return l
}

// splitsSoon is for how many more steps a line has memory when it is copied to
// be written: what is held there begins one, and ends another.
const splitsSoon = 6

// replace is the line of a node, to be replaced as a whole.
func (t *Timeline) replace(node int) *line {
	if t.owner == nil {
		t.owner = &owner{}
	}
	p := &t.pages[node/pageSize]
	if p.owner != t.owner {
		p.owner, p.of = t.owner, slices.Clone(p.of)
	}
	l := &p.of[node%pageSize]
	t.trial.keep(node, l)
	return l
}
