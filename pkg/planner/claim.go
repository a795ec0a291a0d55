package planner

import (
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// claim is a waiting workload that takes part. It has one start to find, and a
// record in the order for each queue that it was sent to.
type claim struct {
	waiting *batch.Waiting
	records []*contender // those that take part, in order

	// arrived says that it has not been looked at in this order before. Only
	// then may it push lower-ranked planned starts back; what waited without a
	// start takes the space that nobody holds.
	arrived  bool
	promise  timeline.Time // the start that binds; 0: none
	kept     *kept         // its placement, if it is known
	recalled *kept         // the same, as the plan before has left it
	left     *kept         // where the last round of this plan left it
	tried    bool          // a round of this plan has looked for space for it
	inherits bool          // the pass before of this plan has looked for its place
	loose    bool          // its place was given to another, look again
	grown    bool          // it starts, and with the most pods that fit
	started  bool          // it starts, or is nominated, and its place is on p.line

	// nomination is what keeps its place for it; nil: nothing. fell says that it
	// was nominated, and that its place can't be kept any more; turnedBy is who
	// could take it right back, where that is why.
	nomination *batch.Nomination
	fell       bool
	turnedBy   *batch.Workload

	// What was found: a place in one of the options of one of the records.
	at     *contender // nil: none
	option int
	place  stay
	via    batch.Via
	issued *batch.Allocation // that this plan hands on for it; nil: none
}

// contender is the record of a claim in one queue.
type contender struct {
	*claim
	queue   *batch.Queue
	options []option // flavors that could do, in order of preference
	key     needKey

	// long is the limit of a planned start. A start now may have any limit down
	// to key.least; and every run must end by key.last.
	long timeline.Long

	// bound is the field of the policy that keeps it from a planned start;
	// empty: none does.
	bound string

	onRows bool // its options are on rows
	frozen bool // shared with other plans: not to be written

	// What is known of before, so that it need not be found again.
	looked    bool // a round of this plan has looked for space for it in this queue
	known     bool // it has been asked for
	seen      *seen
	resettled [ordersMax]*seen // by the start
	stuck     stuck
	gained    *kindGains // of its kind; of another board: not known yet
	fresh     bool       // stuck since this way through the order
	heard     bool       // it has been told what it would be told where it is held
}

// kept is a placement from the plan before.
type kept struct {
	record *contender
	option int
	place  stay
	issued bool // just so
}

func (k *claim) workload() *batch.Workload { return k.waiting.Workload }

// start is when the claim starts. It must have been placed.
func (k *claim) start() timeline.Time { return k.place.From }

// starts says whether the claim starts in this plan.
func (k *claim) starts(p *pass) bool { return k.at != nil && k.place.From == p.from }

// best is the record that speaks for the claim: the one that was placed, else
// the first that is planned, else the first.
func (k *claim) best() *contender {
	if k.at != nil {
		return k.at
	}
	for _, c := range k.records {
		if c.bound == "" {
			return c
		}
	}
	return k.records[0]
}

func (c *contender) placed() bool { return c.at == c }

// plannable says whether the record may have a planned start.
func (c *contender) plannable() bool { return c.bound == "" && !c.key.shape.absent }

// isLast says whether no record of the claim comes after this one.
func (c *contender) isLast() bool { return c.records[len(c.records)-1] == c }

func (c *contender) settle(option int, place stay) {
	c.at, c.option, c.place = c, option, place
}

func (c *contender) demand(option int) demand {
	o := &c.options[option]
	return demand{Need: timeline.Need{Sets: o.sets, Long: c.long}, bill: o.bill}
}

// within is the part of a span in which a start leaves time for the whole run.
func (c *contender) within(in timeline.Span) timeline.Span {
	if c.key.last == timeline.Never {
		return in
	}
	if c.long == timeline.Forever {
		return timeline.Span{}
	}
	in.Till = min(in.Till, c.key.last-timeline.Time(c.long)+1)
	return in
}

// allowance counts the planned starts that the policy still allows.
type allowance struct {
	batch.Policy
	count   int             // of the claims
	counted map[*claim]bool // those of them with several records
	byUser  map[string]int  // where there is a bound for users, and for queues
	byQueue map[batch.QueueName]int
}

func (p *pass) allowance() *allowance {
	return &allowance{
		Policy: p.Policy, counted: map[*claim]bool{}, byUser: map[string]int{}, byQueue: map[batch.QueueName]int{},
	}
}

// refuses names the bound that leaves no planned start for a record. A claim
// counts once for the depth and for its user, and for each of its queues.
func (a *allowance) refuses(c *contender) string {
	fresh := len(c.records) == 1 || !a.counted[c.claim]
	switch queue := c.queue.Name; {
	case a.Backfill == batch.BackfillEASY && a.byQueue[queue] > 0:
		return boundEASY
	case fresh && a.count >= a.Depth:
		return boundDepth
	case fresh && a.PerUser > 0 && a.byUser[c.workload().Submitter] >= a.PerUser:
		return boundPerUser
	case a.PerQueue > 0 && a.byQueue[queue] >= a.PerQueue:
		return boundPerQueue
	}
	return ""
}

// spend counts a record that waits with a planned start, or could.
func (a *allowance) spend(c *contender) {
	if a.PerQueue > 0 || a.Backfill == batch.BackfillEASY {
		a.byQueue[c.queue.Name]++
	}
	if len(c.records) > 1 {
		if a.counted[c.claim] {
			return
		}
		a.counted[c.claim] = true
	}
	a.count++
	if a.PerUser > 0 {
		a.byUser[c.workload().Submitter]++
	}
}

// The bounds of planned starts, by their fields in the policy.
const (
	boundEASY     = "mode"
	boundDepth    = "depth"
	boundPerUser  = "perUser"
	boundPerQueue = "perQueue"
)

// limitOf is the number that belongs to a bound.
func limitOf(policy batch.Policy, bound string) int {
	switch bound {
	case boundPerUser:
		return policy.PerUser
	case boundPerQueue:
		return policy.PerQueue
	case boundEASY:
		return 1
	}
	return policy.Depth
}

// turns are the starts before which nothing of a queue may start, where the
// policy lets nothing overtake: those of whoever is before it in its queue.
type turns map[batch.QueueName]timeline.Time

func (p *pass) turns() turns {
	if p.Policy.Backfill != batch.BackfillStrict {
		return nil
	}
	return turns{}
}

// of is the first start that is open to a record; Never: none is.
func (t turns) of(c *contender, now timeline.Time) timeline.Time { return max(now, t[c.queue.Name]) }

// pass notes that a record has been dealt with.
func (t turns) pass(c *contender) {
	if t == nil {
		return
	}
	start := timeline.Never
	if c.at != nil {
		start = c.start()
	}
	t[c.queue.Name] = max(t[c.queue.Name], start)
}
