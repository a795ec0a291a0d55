package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// seen is what the last way through the order found for a contender. It is
// frozen: the next plan may begin with it.
type seen struct {
	turn  int // its index among those seen
	looks []timeline.Look
	place timeline.Place // no seats: it got none
}

// trail is a way through those that wait, compared with the same way before.
//
// Most of it is the same every time: placements are chosen anew so that they
// are the best there are, not because anything has changed. So the questions
// are kept with their answers, and each is asked again of those nodes only that
// are not as they were when its turn came the last time: nodes on which what
// runs has changed, and nodes of holds that came, went or moved before it in
// the order.
type trail struct {
	steps   []*seen
	line    *timeline.Timeline // what ran
	changed *timeline.Nodes
}

// has says whether a step belongs to this trail.
func (t *trail) has(s *seen) bool { return s.turn < len(t.steps) && t.steps[s.turn] == s }

// follow begins a trail after the last one. Of those that come now, in their
// order, it forgets what is known if they do not come again as they did.
func (t *trail) follow(line *timeline.Timeline, known []**seen) {
	last := *t
	*t = trail{line: line.Clone()}
	if last.line == nil {
		t.changed = timeline.NewNodes(line.Len())
		for _, s := range known {
			*s = nil
		}
		return
	}
	t.changed = timeline.Differ(last.line, line)
	again := make([]bool, len(last.steps))
	turn := -1
	for _, s := range known {
		if (*s).turn <= turn || !last.has(*s) {
			*s = nil
			continue
		}
		turn = (*s).turn
		again[turn] = true
	}
	for i, step := range last.steps {
		if !again[i] {
			t.changed.AddPlace(step.place)
		}
	}
}

// question is what is asked for an option of a contender.
type question struct {
	option int
	need   timeline.Need
	at     timeline.Time
}

// look asks a question on a line, as far as the answer is not known.
func (t *trail) look(line *timeline.Timeline, was *seen, q question) timeline.Look {
	if was != nil && q.option < len(was.looks) && was.looks[q.option].Asks(q.need, q.at) {
		return line.LookAgain(was.looks[q.option], t.changed)
	}
	return line.Look(q.need, q.at)
}

// step notes what the trail has found, in the place of what was known.
func (t *trail) step(known **seen, is seen) {
	is.turn = len(t.steps)
	switch was := *known; {
	case was == nil:
		t.changed.AddPlace(is.place)
	case !is.place.Equal(was.place):
		t.changed.AddPlace(was.place)
		t.changed.AddPlace(is.place)
	}
	*known = &is
	t.steps = append(t.steps, &is)
}

// placeOf is the place that a look has found, with what keeps its nodes whole.
func placeOf(l *timeline.Look, bill quota.Bill) (stay, bool) {
	if !l.Found {
		return stay{}, false
	}
	place := l.Place
	place.Seats = slices.Clip(place.Seats)
	return stayOf(keepWhole(l.Need.Sets, place), bill), true
}

// beginTrail begins the way through the order.
func (p *pass) beginTrail() {
	var known []**seen
	for _, c := range p.order[:p.reached] {
		switch {
		case c.seen == nil:
		case c.started || len(c.records) > 1:
			c.seen = nil
		default:
			known = append(known, &c.seen)
		}
	}
	p.trail.follow(p.line.nodes, known)
}

// lookAt is when a place is looked for, and in which way.
type lookAt struct {
	start timeline.Time
	how   manner
}

// look asks for a place beside all that is on p.full.
func (p *pass) look(c *contender, option int, l lookAt) (stay, bool) {
	d := c.demand(option)
	if l.how == asBefore {
		return p.full.at(d, l.start) // not the way that is kept
	}
	var look timeline.Look
	if p.full.pays(d.bill, timeline.SpanOf(l.start, d.Long)) {
		look = p.trail.look(p.full.nodes, c.seen, question{option: option, need: d.Need, at: l.start})
	} // else the nodes are not asked, and nothing is known of them
	p.looks = append(p.looks, look)
	return placeOf(&look, d.bill)
}

// step notes what the way through the order has found for a contender.
func (p *pass) step(c *contender) {
	is := seen{looks: p.looks}
	p.looks = nil
	if c.placed() {
		is.place = c.place.Place
		if is.looks == nil && c.option == 0 {
			is.looks = []timeline.Look{p.full.nodes.Noted(c.demand(0).Need, seatsAlone(c.place.Place))}
		}
	}
	p.trail.step(&c.seen, is)
}

// stepOver notes that a contender gets no place this time.
func (p *pass) stepOver(c *contender) {
	if c.seen != nil {
		p.trail.changed.AddPlace(c.seen.place)
		c.seen = nil
	}
}
