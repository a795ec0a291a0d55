package planner

import (
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// safeToldMax is how many of those that wait are told until when others are exempt:
// each end of an exemption changes their answers.
const safeToldMax = 16

// findSpared finds until when those are safe whose place a contender may take, and
// others like it.
func (s *scene) findSpared(c *contender) {
	p := s.hunt.p
	for _, v := range s.hunt.spared {
		if !p.rightOf(c, v.victim).any() {
			continue
		}
		if s.safe = batch.Sooner(s.safe, v.till); v.till.After(p.now.Add(time.Second)) {
			s.exempt = batch.Sooner(s.exempt, v.till)
		}
	}
}

// noteSafe notes until when the first of those is exempt whose place a contender may
// take; zero: none is.
func (p *pass) noteSafe(c *contender, till time.Time) {
	if _, known := p.exempt[c.claim]; (known || len(p.exempt) < safeToldMax) && !till.IsZero() {
		p.exempt[c.claim] = till
	}
}

// safeUntil is until when a contender is told that others are exempt; zero: it is
// not. What it has been told stands till then.
func (p *pass) safeUntil(c *contender) time.Time {
	till := p.exempt[c.claim]
	if last := c.workload().LastVerdict; !till.IsZero() && last != nil && last.Facts.SafeUntil.After(p.now) {
		return last.Facts.SafeUntil
	}
	return till
}
