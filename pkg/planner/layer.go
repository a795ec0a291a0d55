package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/timeline"
)

// layer is a board on which not all victims are gone. It follows what is done on
// that of its scene when it is asked: most layers hardly ever are.
type layer struct {
	board *board
	gone  int      // that many of the victims
	stay  standing // the lowest of those that are not
	read  int      // of the deeds
}

// deed is what was done on the board of a scene: a place was taken, or a victim
// went that was there still.
type deed struct {
	place  stay
	victim *victim // nil: a place was taken
	other  bool    // it was none of the scene's
}

// layer is one of the boards on which not all victims are gone, as things are.
func (s *scene) layer(i int) *board {
	l := s.below[i]
	for ; l.read < len(s.deeds); l.read++ {
		switch d := &s.deeds[l.read]; {
		case d.victim == nil:
			l.board.charge(d.place)
		case d.other || d.victim.standing.compare(l.stay) >= 0:
			l.board.move(d.victim, s.hunt.p.from, true)
		}
	}
	return l.board
}

// note has the layers follow.
func (s *scene) note(d deed) {
	if s.below != nil {
		s.deeds = append(s.deeds, d)
	}
}

// makeLayers makes the boards on which not all victims are gone.
func (s *scene) makeLayers() {
	if s.below != nil {
		return
	}
	b := s.board
	for last := len(s.victims); last > 0; {
		b = b.clone()
		first := last
		for ; first > 0 && s.victims[first-1].standing == s.victims[last-1].standing; first-- {
			b.move(s.victims[first-1], s.hunt.p.from, false)
		}
		s.below = append(s.below, &layer{board: b, gone: first, stay: s.victims[first].standing})
		last = first
	}
	slices.Reverse(s.below)
}

// asItIs is a place for which nobody need go, nil: there is none, or it is too early to
// say. Where one that asks has such a place, mostly the next has one too, and so it is
// asked for first.
func (s *scene) asItIs(c *contender, option int) *deal {
	from := s.hunt.p.from
	whole := !s.byQuota && len(s.victims) > 0 && from+timeline.Time(s.grace) < c.planned() // see open
	d := s.demand(c, option)
	if !s.idle || !whole || len(d.Sets) != 1 {
		return nil
	}
	s.makeLayers()
	place, ok := s.layer(0).at(d, from)
	if s.idle = ok; !ok {
		return nil
	}
	return &deal{option: option, scene: s, place: place}
}

// least is how many of the victims must be looked at, those of the lowest
// standing first, so that there is room for a demand when they are gone.
func (s *scene) least(d demand) int {
	s.makeLayers()
	has := func(i int) bool { return s.layer(i).has(d, s.hunt.p.from) }
	if len(d.Sets) != 1 {
		for i, l := range s.below { // there may by chance be room on one, and not on the next
			if has(i) {
				return l.gone
			}
		}
		return len(s.victims)
	}
	if has(0) {
		return 0 // as it is for half of those that ask
	}
	if s.lowest = firstFrom(s.lowest, 1, len(s.below), has); s.lowest < len(s.below) {
		return s.below[s.lowest].gone
	}
	return len(s.victims)
}

// firstFrom is the first index from low on and below n at which something holds that
// holds for all behind it; n: none. It looks near a guess first, and further off each
// time: layers that are not asked need not follow.
func firstFrom(guess, low, n int, holds func(int) bool) int {
	high := n // it does not hold before low, and holds from high on
	up, down := false, false
	for at, step := guess, 1; low < high; step *= 2 {
		if at = min(max(at, low), high-1); holds(at) {
			high, down = at, true
			at -= step
		} else {
			low, up = at+1, true
			at += step
		}
		if up && down {
			at = (low + high) / 2
		}
	}
	return low
}
