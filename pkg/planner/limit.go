package planner

import (
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// limits sets how long a claim may run in a queue, or says that it asks for too
// much, or that it cannot end any more by when its author wants it to.
func (p *pass) limits(c *contender) batch.Verdict {
	w := c.workload()
	long, within := longOf(w, c.queue)
	if !within {
		return verdictOf(batch.ReasonWalltimeLimit, batch.Facts{
			Queue: c.queue.Name, Walltime: w.Walltime, WalltimeMax: c.queue.WalltimeMax,
		})
	}
	c.long, c.key.least, c.key.last = long, long, timeline.Never
	if w.TimeMin > 0 {
		c.key.least = min(long, seconds(w.TimeMin))
	}
	if w.EndBefore.IsZero() {
		return batch.Verdict{}
	}
	return p.endBefore(c, w.EndBefore)
}

// endBefore sets by when a claim must have ended, or says that it cannot. One
// without a limit takes all that is left until then, as endless work does: no
// less, only because a planned start is in the way.
func (p *pass) endBefore(c *contender, at time.Time) batch.Verdict {
	c.key.last = timeline.Time(at.Unix())
	latest, needs := c.key.last-1, batch.Walltime(0)
	if c.key.least != timeline.Forever {
		latest = c.key.last - timeline.Time(c.key.least)
		needs = batch.Walltime(time.Duration(c.key.least) * time.Second)
	}
	if p.from > latest {
		return verdictOf(batch.ReasonDeadlineMissed, batch.Facts{Until: at, Walltime: needs})
	}
	if c.key.least == timeline.Forever {
		c.key.least = timeline.Long(c.key.last - p.from)
	}
	p.wake(timeOf(latest + 1))
	return batch.Verdict{}
}

// longOf is how long a workload may run, and whether it asks for too much.
func longOf(w *batch.Workload, q *batch.Queue) (long timeline.Long, within bool) {
	limit := q.WalltimeMax
	asked := w.Walltime
	if asked == 0 {
		asked = q.WalltimeDefault
		if asked == 0 || exceeds(asked, limit) {
			asked = limit
		}
	} else if exceeds(asked, limit) {
		return 0, false
	}
	if asked == 0 || asked == batch.Unlimited {
		return timeline.Forever, true
	}
	return seconds(asked), true
}

// seconds rounds up: a run must not outlive its hold.
func seconds(w batch.Walltime) timeline.Long {
	return timeline.Long((time.Duration(w) + time.Second - 1) / time.Second)
}

func exceeds(asked, limit batch.Walltime) bool {
	switch {
	case limit == 0 || limit == batch.Unlimited:
		return false
	case asked == batch.Unlimited:
		return true
	}
	return asked > limit
}

// limitMax is the longest limit that is looked for where there is none: 100
// years of seconds.
const limitMax = timeline.Long(100 * 365 * 24 * 60 * 60)

// capped is the longest limit that a start now may have.
func (c *contender) capped(now timeline.Time) timeline.Long {
	if c.key.last == timeline.Never {
		return c.long
	}
	return min(c.long, timeline.Long(c.key.last-now))
}

// lasting is a contender that asks for another limit.
func (c *contender) lasting(long timeline.Long) *contender {
	if c.long == long {
		return c
	}
	other := *c
	other.long = long
	return &other
}

// ending is the part of a span after which a run must not go on.
func (c *contender) ending(s timeline.Span) timeline.Span {
	s.Till = min(s.Till, c.key.last)
	return s
}

// takes says whether a claim accepts to run for a span.
func (c *contender) takes(s timeline.Span) bool {
	return s.Till > s.From && timeline.SpanOf(s.From, c.leastFrom(s.From)).Till <= s.Till
}

// leastFrom is the shortest limit that a claim accepts for a start: endless work that
// must end takes all that is left until then.
func (c *contender) leastFrom(start timeline.Time) timeline.Long {
	if c.key.long == timeline.Forever && c.waiting.Workload.TimeMin == 0 && c.key.last != timeline.Never {
		return timeline.Long(c.key.last - start)
	}
	return c.key.least
}

// longest finds a place for a start now beside all that is on p.full, with the
// longest limit of those that the claim accepts.
func (p *pass) longest(c *contender, option int) (best stay, ok bool) {
	need := c.demand(option)
	need.Long = c.capped(p.from)
	if need.Long < c.key.least {
		return stay{}, false
	}
	if best, ok = p.full.at(need, p.from); ok || need.Long == c.key.least {
		return best, ok
	}
	high := need.Long
	need.Long = c.key.least
	if best, ok = p.full.at(need, p.from); !ok {
		return stay{}, false
	}
	longestOf(c.key.least, high, func(long timeline.Long) bool {
		need.Long = long
		place, ok := p.full.at(need, p.from)
		if ok {
			best = place
		}
		return ok
	})
	return best, true
}

// longestOf is the longest limit that fits, of those that are shorter than one that
// does not; the shortest fits.
func longestOf(shortest, tooLong timeline.Long, fits func(timeline.Long) bool) timeline.Long {
	low, high := shortest, min(tooLong, limitMax)
	for high-low > 1 { // low fits, high does not
		if middle := low + (high-low)/2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// shorter is a contender with the longest limit of those that it accepts for which
// there is room when all victims are gone; nil: there is none.
func (s *scene) shorter(c *contender, option int) *contender {
	if c.key.least >= c.long || !s.couldDo(c.lasting(c.key.least), option) {
		return nil
	}
	return c.lasting(longestOf(c.key.least, c.long, func(long timeline.Long) bool {
		return s.has(s.demand(c.lasting(long), option))
	}))
}
