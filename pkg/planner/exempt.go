package planner

import "time"

// safeToldMax is how many of those that wait are told until when others are exempt:
// each end of an exemption changes their answers.
const safeToldMax = 16

// noteSafe notes until when the first of those is exempt whose place a contender may
// take. Who has just started is so for a second, and not worth a word.
func (p *pass) noteSafe(c *contender, till time.Time) {
	if _, known := p.exempt[c.claim]; (known || len(p.exempt) < safeToldMax) && till.After(p.now.Add(time.Second)) {
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
