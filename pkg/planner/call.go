package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// ranked is a contender on its way into the order, with the index of its entry.
type ranked struct {
	tier, entry int32
	*contender
}

// callRoll takes all that wait into the order, or refuses them.
func (p *pass) callRoll() {
	var before *roll
	switch {
	case p.judged != nil:
		before = p.judged
	case p.carried != nil && p.carried.roll.holds(p):
		before = p.carried.roll
	}
	if p.waitsAsIn(before) {
		p.answerAsBefore(before)
		return
	}
	p.roll = p.newRoll(len(p.waiting))
	r := calling{pass: p, order: make([]ranked, 0, len(p.waiting)), sweeps: p.fleet.sweeps()}
	r.takes, _ = p.whoMayTake()
	before.match(p.waiting, func(w *batch.Waiting, known *entry) {
		comes, first := known == nil || known.waiting != w, len(r.order)
		switch {
		case known != nil && known.waiting == w && known.lasts():
		case known != nil && known.record != nil && onlyTold(known.waiting, w):
			fresh := p.readdress(known, w)
			known = &fresh
		default:
			fresh := r.judge(w)
			known = &fresh
		}
		r.enter(known)
		if comes {
			r.count(r.order[first:])
		}
	})
	p.order, p.classes = p.roll.byTier(p.throttled(r.order, r.limited))
	if p.roll.passing == 0 {
		p.roll.order, p.roll.classes, p.roll.refused = slices.Clone(p.order), p.classes, slices.Clone(p.refused)
	}
}

// calling is a roll that is being called.
type calling struct {
	*pass
	order   []ranked
	limited []*claim // members of arrays of which not all may run
	sweeps  bool     // what is not asked for any more is forgotten
	takes   func(*batch.Queue) bool
}

// enter puts one that has been judged into the roll.
func (r *calling) enter(e *entry) {
	switch {
	case e.record != nil:
		if r.sweeps {
			r.fleet.retain(e.record.key.shape)
		}
		r.order = append(r.order, ranked{tier: e.tier, entry: int32(len(r.roll.entries)), contender: e.record})
	case e.refused != nil:
		r.refused = append(r.refused, refusal{waiting: e.waiting, verdict: *e.refused})
	default:
		r.roll.passing++
	}
	r.roll.entries = append(r.roll.entries, *e)
	if e.record != nil && !e.named {
		return // as for almost all, which are not looked at for that
	}
	if w := e.waiting.Workload; w.Nomination != nil {
		r.roll.named = append(r.roll.named, w)
	}
}

// count counts a newcomer, by its records, if it may take the place of others.
func (r *calling) count(records []ranked) {
	if len(records) > 0 && r.takes(records[0].queue) {
		r.comers++
	}
}

// judge judges one that was not known, or does not hold any more.
func (r *calling) judge(w *batch.Waiting) entry {
	p := r.pass
	fresh, k := p.assess(w)
	if k == nil {
		return fresh
	}
	if _, is := arrayOf(w.Workload); is {
		r.limited = append(r.limited, k)
	}
	for _, c := range k.records {
		c.bound = p.beyond(c)
		r.order = append(r.order, ranked{tier: c.queue.Tier, entry: int32(len(p.roll.entries)), contender: c})
	}
	p.several = p.several || len(k.records) > 1
	return fresh
}

// throttled leaves out of the order the members of arrays that have to wait for
// others of theirs.
func (p *pass) throttled(order []ranked, limited []*claim) []ranked {
	if len(limited) == 0 {
		return order
	}
	out := map[*claim]bool{}
	for _, k := range limited {
		out[k] = true
	}
	for _, k := range p.throttle(limited) {
		delete(out, k)
	}
	return slices.DeleteFunc(order, func(c ranked) bool { return out[c.claim] })
}
