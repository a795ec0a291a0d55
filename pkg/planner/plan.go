package planner

import (
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
	"github.com/berth-dev/berth/pkg/timeline"
)

// draftMin is from how many newcomers on that may take the place of others the first
// pass of a plan is a draft, of one round: as places will be made for some of them all
// of it is gone over again, and what more rounds would move is moved then.
//
// Where nobody is found a place the draft is finished and everyone is looked at once
// more, which with few newcomers would cost more than it saves.
const draftMin = 64

// Plan decides what should happen at a time. It returns changes only: with its
// decisions assumed and no other event, the next plan is empty, unless this one was
// cut short: then the next goes on a second later.
//
// It goes over everything again when it has found somebody a place that others
// must give up: with these evicted and the place kept.
func Plan(snapshot batch.Snapshot, now time.Time) batch.Plan {
	p := newPass(snapshot, now.Truncate(time.Second))
	for round := range evictionRoundsMax {
		p.recognize()
		p.expire()
		p.pickUp()
		p.rank()
		p.draft = round == 0 && p.comers >= draftMin
		p.backfill()
		again := p.preempt()
		if p.draft && again == nil {
			p.draft = false
			p.backfill()
			again = p.preempt()
		}
		if again == nil {
			break
		}
		if again.finds && round+roundsToVet >= evictionRoundsMax || round+1 == evictionRoundsMax {
			p.plan.Stats.Unsettled = true // the next plan goes on
			break
		}
		p = again
	}
	p.conclude()
	if p.leave(); p.plan.Stats.Unsettled && !p.plan.Empty() {
		p.wake(p.now.Add(time.Second)) // it was cut short
	}
	return p.plan
}

// pass is one planning pass.
type pass struct {
	batch.Snapshot
	now  time.Time
	from timeline.Time
	plan batch.Plan

	fleet *fleet
	tree  *quota.Tree // nil: nobody has a quota
	// evicting are taken back in this very plan: what they hold ends soon.
	evicting map[batch.WorkloadID]time.Time // when they are gone at the latest
	// relimited are runs to which this plan gives another deadline, and whether
	// that is later. Zero: none any more.
	relimited map[batch.WorkloadID]relimit
	// drained are the nodes that an admin wants empty; nil: nobody has looked.
	drained map[batch.NodeName]batch.Taint
	// leaving are taken back and wait again in this plan: they hold nothing.
	leaving map[batch.WorkloadID]bool
	// waiting are all that wait, by rank within a tier; those that wait again
	// since this plan included.
	waiting []*batch.Waiting
	// strangers are those of the snapshot that the plan before did not know, or
	// not as they are now.
	strangers []*batch.Waiting
	same      bool // there are none, and nobody is gone
	// What the pass before has found out, where this plan goes over everything
	// again; nil: it does not.
	surveyed  *fleet
	judged    *roll
	roll      *roll
	lanes     map[batch.LocalQueueName]*lane // see laneOf
	refused   []refusal
	order     []*contender
	reached   int                       // how many of the order are this plan's own; see reach
	slab      []single                  // for those to come
	keeps     []kept                    // likewise
	wanted    int                       // so many of them come at once
	classes   []class                   // of those of the order that are beyond reach
	touched   indexes                   // those of them that are this plan's own
	several   bool                      // some have records in several queues
	begun     map[batch.WorkloadID]bool // those that start in this plan
	starts    []*contender              // the same, but for the nominated
	last      int                       // index of the last of them that was beyond reach
	nominated []*contender              // those that a place is kept for, or that start in one
	turning   *turning                  // rights over those that are nominated; nil: nobody has asked
	vacated   *vacated                  // without those that give way; nil: nobody has asked
	seated    *nominations              // where they are without those that start for certain; nil: nobody is

	exempt map[*claim]time.Time // see safeUntil

	// What this plan has decided before it went over everything again: whose
	// place is taken, and for whom a place is kept.
	taken map[batch.WorkloadID]batch.Eviction
	named map[batch.WorkloadID]*batch.Nomination
	made  []made // the latter, in the order in which they were found
	// before are the planned starts that it had found by then; found are the same
	// where they bind this pass: see asNext. nil: there was no pass, or none binds.
	before, found map[batch.WorkloadID]*kept
	// barred take nobody's place in this plan: they would lose it at once. ousted
	// do not start where they would have: another would take it at once.
	barred bars
	// lifted were barred, until places were made for others.
	lifted map[batch.WorkloadID]lift
	draft  bool // see draftMin
	comers int  // newcomers that may take the place of others
	// finds says that the pass before has just found somebody a place.
	finds bool
	// retried is how often they were looked at again all the same.
	retried map[batch.WorkloadID]int
	ousted  map[batch.WorkloadID]*batch.Workload
	// firm start in this plan, whoever is named: he was found a place beside them.
	firm map[batch.WorkloadID]*kept

	holders  map[batch.WorkloadID]holder // see givesWay; nil: nobody has asked
	given    map[int][]gift              // by node; see gifts
	refunded *refunds                    // see refunds; nil: nobody has asked
	usesPay  []quota.Bill                // see bills
	ready    map[batch.WorkloadID]bool   // those that this plan finds ready for the first time
	ground   *board                      // what runs; no places that are kept

	used slots  // members of arrays that run or take part
	kin  *kin   // who depends on whom; nil: nobody has asked
	line *board // what runs or starts now; no planned starts
	full *board // with planned starts

	// While the rounds count slots: the rows, who is placed on them, and the
	// line of nodes.
	rows    *rows
	onRows  []*contender
	ofNodes *timeline.Timeline

	about      *rows            // what is known below is about these; nil: about nodes
	steady     bool             // everyone stays where he is: see stay
	rearranged int              // rounds in which they did not
	ahead      bool             // newcomers wait until those ahead of them have moved
	next       int              // of the records of the plan before; see lastOf
	carried    *carry           // what the plan before has left; nil: nothing of use
	sameLines  bool             // what it knows of lines is about the same ones
	trail      trail            // through the order
	looks      []timeline.Look  // for the contender whose turn it is in it
	byStart    [ordersMax]trail // through the starts
	filled     int32            // rounds with a second way
	searched   *board           // p.full when the last of them had found no more earlier start; nil: none has
	end        ending           // of the rounds
	left       *board           // p.full when the last round of this plan ended; nil: none has
	settled    *board           // p.full when the last of them ended
	gains      []timeline.Gain  // of the nodes, since then
	freed      reliefs          // of the quotas, since then
	elsewhere  []timeline.Gain  // memory that is used again; see helps

	free        map[nodesKey]batch.Vector // of nodes, beside what runs
	answers     map[*shape]*answer
	quotaTerms  map[batch.QueueName]uint64
	gainsOfKind map[*kind]*kindGains
}

func newPass(snapshot batch.Snapshot, now time.Time) *pass {
	return &pass{
		Snapshot: snapshot,
		now:      now,
		from:     timeline.Time(now.Unix()),
		tree:     quota.New(snapshot.Queues, snapshot.Cohorts),
		plan:     batch.Plan{At: now},
		evicting: map[batch.WorkloadID]time.Time{},
		leaving:  map[batch.WorkloadID]bool{},
		ready:    map[batch.WorkloadID]bool{},
		begun:    map[batch.WorkloadID]bool{},
		exempt:   map[*claim]time.Time{},
		retried:  map[batch.WorkloadID]int{},
		lifted:   map[batch.WorkloadID]lift{},
		free:     map[nodesKey]batch.Vector{},
		lanes:    map[batch.LocalQueueName]*lane{},
		given:    map[int][]gift{},
		freed:    reliefs{}, gainsOfKind: map[*kind]*kindGains{},
		steady: snapshot.Settled,
	}
}

// wake makes the driver plan again at a time, unless it lies behind.
func (p *pass) wake(at time.Time) {
	if at.After(p.now) && (p.plan.Wake.IsZero() || at.Before(p.plan.Wake)) {
		p.plan.Wake = at
	}
}

// conclude turns what was found into decisions, those that change something.
func (p *pass) conclude() {
	p.markBackfilled()
	v := newVerdicts(p)
	waiting := 0
	for i, c := range p.order {
		switch {
		case p.needsNoLook(i):
			waiting++
		case c.best() != c:
		case c.starts(p):
			p.start(c)
		default:
			waiting++
			p.hold(c)
			if !v.unchanged(c) {
				p.wait(c.waiting, v.verdict(c, place{index: i, position: waiting}))
			}
		}
		v.pass(c)
	}
	p.answers = v.known
	for _, r := range p.refused {
		p.wait(r.waiting, r.verdict)
	}
	for _, w := range p.roll.judgedAnew() {
		p.noteOutcomes(w)
	}
	p.nominate()
	p.plan.Stats.Considered = waiting + len(p.plan.Start)
	p.plan.Stats.Waiting = waiting + len(p.refused)
	p.plan.Stats.Running += len(p.plan.Start)
	if p.plan.Stats.Waiting > 0 {
		p.wakeAtEnds()
	}
}

// hold keeps the place of a planned start. It wakes when it is due, and when it
// comes near enough to be shown.
func (p *pass) hold(c *contender) {
	if !c.placed() {
		return
	}
	if c.nomination == nil {
		if p.plan.Holds == nil {
			p.plan.Holds = make([]batch.HoldDecision, 0, p.reached)
		}
		c.issued = p.allocation(c)
		p.plan.Holds = append(p.plan.Holds, batch.HoldDecision{ID: c.workload().ID, Allocation: c.issued})
	}
	p.plan.Stats.Planned++
	p.wake(timeOf(c.start()))
	p.wake(timeOf(c.start()).Add(-p.window()))
}

// window is how far ahead planned starts are shown.
func (p *pass) window() time.Duration {
	if p.Policy.Window > 0 {
		return p.Policy.Window
	}
	return batch.DefaultWindow
}

func (p *pass) start(c *contender) {
	a := *p.allocation(c)
	a.Planned = c.workload().Promise
	p.plan.Start = append(p.plan.Start, batch.StartDecision{
		ID: c.workload().ID, Run: c.workload().Restarts, Allocation: a, Walltime: c.workload().Walltime, Loose: c.looseIn(a.Flavor),
	})
	if p.Policy.StartTimeout > 0 {
		p.wake(p.now.Add(p.Policy.StartTimeout))
	}
}

// wakeAtEnds wakes when what runs, or starts now, should end: then planned
// starts hold or are overrun.
func (p *pass) wakeAtEnds() {
	if !p.fleet.firstEnd.IsZero() {
		p.wake(p.fleet.firstEnd)
	}
	for _, d := range p.plan.Start {
		p.wake(d.Allocation.Deadline)
	}
}

func (p *pass) wait(w *batch.Waiting, v batch.Verdict) {
	if last := w.Workload.LastVerdict; last != nil && v.SameAnswer(*last) {
		return
	}
	if p.plan.Wait == nil {
		p.plan.Wait = make([]batch.WaitDecision, 0, len(p.strangers)+1) // about as many as the last time
	}
	asked := batch.AskedBy(w.Workload, w.Shape)
	p.plan.Wait = append(p.plan.Wait, batch.WaitDecision{
		ID: w.Workload.ID, Verdict: v, Basis: asked.Basis(p.LocalQueues[w.Workload.LocalQueue], p.Queues),
	})
}

// allocation is what a contender holds from its start on. Of one that stays
// where it was it is the same one, so that this is seen at a glance.
func (p *pass) allocation(c *contender) *batch.Allocation {
	if held := c.waiting.Held; held != nil && p.holdsStill(c, held) {
		return held
	}
	a := p.allocationAt(c, c.option, c.place.Place)
	a.Via = c.via
	return &a
}

// holdsStill says whether an allocation is that of the contender's place.
func (p *pass) holdsStill(c *contender, held *batch.Allocation) bool {
	was := c.recalled
	if was == nil || was.record != c || was.option != c.option || !c.place.Equal(was.place) {
		return false
	}
	if was.issued { // as of one that waits
		return c.via == batch.ViaOrder
	}
	return held.Via == c.via && held.Deadline.Equal(deadlineOf(c.place))
}

// deadlineOf is when a stay ends; zero: never.
func deadlineOf(s stay) time.Time {
	if s.Till == timeline.Never {
		return time.Time{}
	}
	return timeOf(s.Till)
}

// allocationAt is what a contender would hold at a place.
func (p *pass) allocationAt(c *contender, option int, place timeline.Place) batch.Allocation {
	a := batch.Allocation{
		Queue: c.queue.Name, Flavor: c.options[option].flavor, Start: timeOf(place.From),
	}
	if place.Till != timeline.Never {
		a.Deadline = timeOf(place.Till)
	}
	sets := c.workload().PodSets
	a.PodSets = make([]batch.Placement, len(sets))
	for i := range sets {
		a.PodSets[i] = batch.Placement{PodSet: sets[i].Name, Hosts: make([]batch.NodeName, 0, sets[i].Count)}
	}
	for _, seat := range place.Seats {
		if seat.Set == seatWhole {
			continue
		}
		for range seat.Pods {
			a.PodSets[seat.Set].Hosts = append(a.PodSets[seat.Set].Hosts, p.Nodes[seat.Node].Node.Name)
		}
	}
	return a
}

func timeOf(t timeline.Time) time.Time { return time.Unix(int64(t), 0).UTC() }
