package planner

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// roll is all that wait, by rank, with what was made of each. Most of it holds
// in the next plan too: then only who came and who changed has to be judged.
// It is frozen.
type roll struct {
	entries []entry
	passing int               // entries that have to be judged anew
	named   []*batch.Workload // those that a place was kept for
	unclear []int32           // of those that take part, in order: by their class alone one may have been

	// If there are none of these: all that take part, in order, and all that
	// don't.
	order   []*contender
	classes []class
	refused []refusal

	// What the judgements rest on, besides those that wait and the nodes.
	policy      batch.Policy
	queues      map[batch.QueueName]*batch.Queue
	accounts    batch.Accounts
	localQueues map[batch.LocalQueueName]*batch.LocalQueue
	namespaces  map[string]*batch.Labels
}

// entry is one that waits. It has a record or a refusal if that holds as long
// as it and all that it rests on are the same.
type entry struct {
	waiting *batch.Waiting
	record  *contender     // it takes part, in one queue
	refused *batch.Verdict // it does not
	class                  // of the record
	tier    int32          // likewise
}

// class is what tells whether a record beyond the depth needs a look, without a
// look at it: there may be very many of them.
type class struct {
	shape    *shape // of a request for one set of pods; nil: it needs one
	queue    *batch.Queue
	least    timeline.Long
	answered bool // it was told that it is not planned
	named    bool // a place was kept for it
}

func (p *pass) newRoll(size int) *roll {
	return &roll{
		entries: make([]entry, 0, size), policy: p.Policy,
		queues: p.Queues, accounts: p.Accounts, localQueues: p.LocalQueues, namespaces: p.Namespaces,
	}
}

// holds says whether what the judgements rest on is the same.
func (r *roll) holds(p *pass) bool {
	return r.policy == p.Policy && maps.Equal(r.queues, p.Queues) && maps.Equal(r.accounts, p.Accounts) &&
		maps.Equal(r.localQueues, p.LocalQueues) && maps.Equal(r.namespaces, p.Namespaces)
}

// match goes over those that wait, each with its entry; nil: it is not in the
// roll. Both are in order of rank, and what has not changed is the same object.
func (r *roll) match(waiting []*batch.Waiting, each func(w *batch.Waiting, known *entry)) {
	var left []entry
	if r != nil {
		left = r.entries
	}
	for _, w := range waiting {
		for len(left) > 0 && left[0].waiting != w && batch.CompareRank(left[0].waiting.Workload, w.Workload) < 0 {
			left = left[1:]
		}
		if len(left) > 0 && (left[0].waiting == w || left[0].waiting.Workload.ID == w.Workload.ID) {
			each(w, &left[0])
			left = left[1:]
		} else {
			each(w, nil)
		}
	}
}

// recognize tells those that the plan before knew as they are from the others.
func (p *pass) recognize() {
	var before *roll
	if left, ok := p.Carried.Value().(*carry); ok {
		before = left.roll
	}
	matched := 0
	before.match(p.Waiting, func(w *batch.Waiting, known *entry) {
		if known == nil || known.waiting != w {
			p.strangers = append(p.strangers, w)
		} else {
			matched++
		}
	})
	p.same = before != nil && matched == len(p.Waiting) && matched == len(before.entries)
}

// waitsAsIn says whether just those wait that are in a roll, as they were, and
// nothing has to be judged anew.
func (p *pass) waitsAsIn(r *roll) bool {
	switch {
	case r == nil || r.passing > 0 || len(p.waiting) != len(r.entries):
		return false
	case r == p.judged:
		return slices.EqualFunc(p.waiting, r.entries, func(w *batch.Waiting, e entry) bool { return w == e.waiting })
	default:
		return p.same
	}
}

// answerAsBefore takes over a roll in which nothing has changed.
func (p *pass) answerAsBefore(before *roll) {
	p.roll = before
	if p.fleet.sweeps() {
		for i := range before.entries {
			if c := before.entries[i].record; c != nil {
				p.fleet.retain(c.key.shape)
			}
		}
	}
	p.refused = slices.Clone(before.refused)
	p.order, p.classes = slices.Clone(before.order), before.classes
}

// assess judges one that waits. A claim is returned where its record does not
// hold for the next plan.
func (p *pass) assess(w *batch.Waiting) (entry, *claim) {
	e := entry{waiting: w}
	k, verdict := p.judge(w)
	lasts := p.lasting(w.Workload)
	switch {
	case k == nil && lasts:
		own := verdict // or it would be made for each that takes part, too
		e.refused = &own
	case k == nil:
		p.refused = append(p.refused, refusal{waiting: w, verdict: verdict})
	case lasts && len(k.records) == 1:
		e.record = k.records[0]
		e.class, e.tier = e.record.freeze(p), e.record.queue.Tier
		return e, nil
	}
	return e, k
}

// onlyTold says whether one that waits differs from what it was in nothing but
// what it was told, and the place that is held for it.
func onlyTold(was, is *batch.Waiting) bool {
	return was.Owner == is.Owner && was.Shape == is.Shape && was.Workload.OnlyTold(is.Workload)
}

// readdress is what assess would make of one that was only told something since
// it was judged: the same request in the same queue.
func (p *pass) readdress(was *entry, w *batch.Waiting) entry {
	own := &single{claim: p.claim(w), record: *was.record}
	own.link()
	e := entry{waiting: w, record: &own.record, tier: was.tier}
	e.class = e.record.freeze(p)
	return e
}

// judgedAnew are those that every plan has to judge.
func (r *roll) judgedAnew() (all []*batch.Workload) {
	for i := range r.entries {
		if r.passing == len(all) {
			break
		}
		if e := &r.entries[i]; !e.lasts() {
			all = append(all, e.waiting.Workload)
		}
	}
	return all
}

// lasts says whether what was made of it holds in the next plan too.
func (e *entry) lasts() bool { return e.record != nil || e.refused != nil }

// lasting says whether what is made of a workload holds as long as it, its
// queues and the nodes are the same: neither the time nor other workloads
// change it, and nothing is on record of it that may have to be taken back.
func (p *pass) lasting(w *batch.Workload) bool {
	_, limited := arrayOf(w)
	return len(w.After) == 0 && len(w.Outcomes) == 0 && !limited && w.EndBefore.IsZero() && !w.Begin.After(p.now) && !w.RequeueAfter.After(p.now)
}

// byTier puts contenders that come by rank into their order. Records of one
// workload keep the order in which its queues are listed.
func (r *roll) byTier(ranks []ranked) (order []*contender, classes []class) {
	order, classes = make([]*contender, len(ranks)), make([]class, len(ranks))
	next := map[int32]*int{} // index of the next of a tier
	each := func(visit func(c *ranked, next *int)) {
		var of *int
		for i := range ranks { // mostly of the tier of the one before
			if i == 0 || ranks[i].tier != ranks[i-1].tier {
				if of = next[ranks[i].tier]; of == nil {
					of = new(int)
					next[ranks[i].tier] = of
				}
			}
			visit(&ranks[i], of)
		}
	}
	each(func(_ *ranked, count *int) { *count++ })
	at := 0
	for _, tier := range slices.SortedFunc(maps.Keys(next), func(a, b int32) int { return cmp.Compare(b, a) }) {
		count := *next[tier]
		*next[tier] = at
		at += count
	}
	each(func(c *ranked, next *int) {
		is := &r.entries[c.entry].class
		if order[*next], classes[*next] = c.contender, *is; is.queue == nil || is.named {
			r.unclear = append(r.unclear, int32(*next))
		}
		*next++
	})
	slices.Sort(r.unclear)
	return order, classes
}

// beyond is the bound of a contender that no way through the order reaches.
func (p *pass) beyond(c *contender) string {
	if p.Policy.Backfill == batch.BackfillNone || c.key.shape.absent {
		return ""
	}
	return boundDepth
}

// freeze makes a contender one that other plans may share.
func (c *contender) freeze(p *pass) class {
	c.frozen, c.bound = true, p.beyond(c)
	is := class{queue: c.queue, least: c.key.least, named: c.workload().Nomination != nil}
	if c.key.shape.single() {
		is.shape = c.key.shape
	}
	last := c.workload().LastVerdict
	is.answered = c.bound != "" && c.promise == 0 && last != nil && last.PlannedStart.IsZero() && p.sameBound(c.bound, last) && !last.Facts.InTurn
	return is
}

// needsNoLook says whether a record beyond reach has an answer already.
func (p *pass) needsNoLook(index int) bool {
	return index >= p.reached && index < len(p.classes) && p.classes[index].answered && !p.touched.has(index)
}

// single is a claim with its only record.
type single struct {
	claim   claim
	record  contender
	records [1]*contender
}

// link makes the record that of the claim.
func (s *single) link() {
	s.records[0] = &s.record
	s.claim.records, s.record.claim = s.records[:], &s.claim
}

// slabMax is how many of them are made at once at most.
const slabMax = 128

// mine is a contender that is this plan's own, with what is known of it.
func (p *pass) mine(index int) *contender {
	c := p.order[index]
	if c.frozen {
		if len(p.slab) == 0 {
			p.slab = make([]single, max(1, min(p.wanted, slabMax)))
		}
		own := &p.slab[0]
		p.slab = p.slab[1:]
		own.claim, own.record = *c.claim, *c
		own.link()
		own.record.frozen = false
		c = &own.record
		p.order[index] = c
		if index >= p.reached {
			p.touched.add(index, len(p.order))
		}
	}
	for _, record := range c.records {
		if !record.known {
			record.known = true
			p.recollect(record)
			p.inherit(record)
		}
	}
	if p.rows != nil {
		p.ontoRows(c)
	}
	return c
}

// reach makes the first of the order this plan's own. Those beyond wait without
// a planned start, and are looked at only to see whether they fit now.
func (p *pass) reach(number int) {
	number = min(number, len(p.order))
	for p.reached < number {
		p.wanted = number - p.reached
		p.reached++
		p.mine(p.reached - 1)
	}
	p.wanted = 0
}

// indexes is a set of them.
type indexes struct {
	of   []bool
	list []int
}

func (s *indexes) has(index int) bool { return index < len(s.of) && s.of[index] }

// add adds an index of n.
func (s *indexes) add(index, n int) {
	if s.has(index) {
		return
	}
	if len(s.of) < n {
		s.of = append(s.of, make([]bool, n-len(s.of))...)
	}
	s.of[index], s.list = true, append(s.list, index)
}

// owned are the indexes of this plan's own: no others have a place.
func (p *pass) owned() []int {
	own := make([]int, 0, p.reached+len(p.touched.list))
	for i := range p.order {
		if i < p.reached || i >= len(p.classes) || p.classes[i].queue == nil {
			own = append(own, i)
		}
	}
	for _, i := range p.touched.list {
		if i >= p.reached {
			own = append(own, i)
		}
	}
	slices.Sort(own)
	return own
}

// depth is how many of the order are looked at in any case: where the policy
// has other bounds than the depth, or workloads have several records, all are.
// Those that a place is kept for spend none of it: behind them lie as many
// planned starts as without them.
func (p *pass) depth() int {
	if p.mayEnd() {
		return p.Policy.Depth + len(p.nominated)
	}
	return len(p.order)
}

// mayEnd says whether all have the same answer once there are as many planned
// starts as the policy allows.
func (p *pass) mayEnd() bool {
	return p.Policy.Backfill == batch.BackfillConservative && !p.several
}
