package planner

import "slices"

// advanceAhead lets those with a planned start that are ahead of a newcomer in
// the order move into room that has appeared, before it takes its place: what
// ends and what arrives within one moment is seen by the same plan, and room
// goes to the first in the order that can use it. It is a round of its own, in
// which newcomers hold nothing, and those behind the first of them stay where
// they are.
func (p *pass) advanceAhead() {
	first := slices.IndexFunc(p.order[:p.reached], func(c *contender) bool { return !c.started && c.isNew() })
	if first < 0 || p.turns() != nil || !slices.ContainsFunc(p.order[:first], func(c *contender) bool { return !c.started }) {
		return // where nothing overtakes, nobody takes what another could use
	}
	p.ahead = true
	planned := p.keepPromises()
	p.ahead = false
	end := slices.IndexFunc(planned, (*contender).isNew)
	if end < 0 {
		return // they may not be planned
	}
	ahead := planned[:end]
	p.regain(planned)
	p.growNominated(ahead, planned[end])
	p.fill(ahead)
	p.exchange(ahead)
	p.growAll(ahead)
	for _, c := range ahead {
		if c.at != nil && c.starts(p) {
			p.begin(c)
			continue
		}
		c.note()
	}
	p.endRound(planned)
}
