package scenario

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// doors are the objects that decide whether work of an account may start, as
// they stand at a time of the story.
type doors struct {
	accounts    batch.Accounts
	queues      map[batch.QueueName]*batch.Queue
	localQueues map[batch.LocalQueueName]*batch.LocalQueue
	shares      bool // the policy does not say that fair share counts for nothing
}

func newDoors() *doors {
	return &doors{
		accounts: batch.Accounts{}, queues: map[batch.QueueName]*batch.Queue{},
		localQueues: map[batch.LocalQueueName]*batch.LocalQueue{}, shares: true,
	}
}

// step takes in an object that is there from now on.
func (d *doors) step(o *Object) {
	switch e := o.Seen.(type) {
	case batch.AccountObserved:
		d.accounts[e.Account.Name] = &e.Account
	case batch.QueueObserved:
		d.queues[e.Queue.Name] = &e.Queue
	case batch.LocalQueueObserved:
		d.localQueues[e.LocalQueue.Name] = &e.LocalQueue
	case batch.PolicyObserved:
		d.shares = !weighsNothing(o.Raw, "fairShare")
	}
}

// drop takes in that an object is gone.
func (d *doors) drop(o *Object) {
	switch e := o.Gone.(type) {
	case batch.AccountGone:
		delete(d.accounts, e.Name)
	case batch.QueueGone:
		delete(d.queues, e.Name)
	case batch.LocalQueueGone:
		delete(d.localQueues, e.Name)
	case batch.PolicyObserved:
		d.shares = true
	}
}

// weighsNothing says whether a policy gives a part of the priority the weight 0
// in so many words.
func weighsNothing(policy map[string]any, part string) bool {
	at := policy
	for _, key := range []string{"spec", "priority", "weights"} {
		at, _ = at[key].(map[string]any)
	}
	weight, given := at[part].(int64)
	return given && weight == 0
}

// open says whether some queue takes the work of a charge, and of which account.
func (d *doors) open(c *charge) (batch.AccountName, bool) {
	local, ok := d.localQueues[c.through]
	if !ok {
		return "", false
	}
	who := batch.ClaimantOf(&batch.Workload{Account: c.who.Account, Submitter: c.who.User}, local)
	if account := d.accounts[who.Account]; account != nil && who.User == anyone && len(account.Users) > 0 {
		who.User = account.Users[0]
	}
	if who.Account == "" || d.accounts.Turn(who) != "" {
		return "", false
	}
	return who.Account, slices.ContainsFunc(local.Queues, func(name batch.QueueName) bool {
		queue, ok := d.queues[name]
		if !ok {
			return false
		}
		why, _ := queue.Turn(who, d.accounts)
		return why == ""
	})
}

// anyone is the user of a log's jobs: nobody has read it yet.
const anyone = "*"

// charge is a way in which work may be charged to an account, from its
// submission to when it is cancelled.
type charge struct {
	path       string
	who        batch.Claimant // in its own words
	through    batch.LocalQueueName
	from, till time.Duration
}

// always is a time that no story reaches.
const always = time.Duration(math.MaxInt64)

// undecided refuses a file, if nothing else is wrong with it, in which rules would
// decide that this version does not have.
func (l *loader) undecided(spec *v1alpha1.ScenarioSpec) {
	if len(l.list) == 0 {
		l.fairShare(spec)
		l.packing()
	}
}

// fairShare refuses a file in which fair share would decide: work of an account
// is, or may be, let in at some time of the story, and the policy of that time
// does not give fair share the weight 0. Once it is built it has a weight by
// default, and the order of such work would be another one.
func (l *loader) fairShare(spec *v1alpha1.ScenarioSpec) {
	charges := l.charges(spec)
	now := newDoors()
	for i := range l.out.Objects {
		now.step(&l.out.Objects[i])
	}
	from := time.Duration(0)
	for i := 0; ; i++ {
		till := always
		if i < len(l.out.Events) {
			till = l.out.Events[i].At
		}
		if till > from && now.shares && l.sharesCount(now, charges, from, till) || i == len(l.out.Events) {
			return
		}
		event := &l.out.Events[i]
		for k := range event.Apply {
			now.step(&event.Apply[k])
		}
		if event.Delete != nil {
			now.drop(event.Delete)
		}
		from = event.At
	}
}

// sharesCount refuses the first work of an account that may start in a span of
// the story.
func (l *loader) sharesCount(now *doors, charges []charge, from, till time.Duration) bool {
	for i := range charges {
		c := &charges[i]
		if c.from >= till || c.till <= from {
			continue
		}
		if account, open := now.open(c); open {
			l.wrong(c.path, "%s: work of Account %s may start, and what its users have used would rank it; give spec.priority.weights.fairShare: 0 in the SchedulingPolicy to leave that out",
				NotBuilt("fair share"), account)
			return true
		}
	}
	return false
}

// charges are all ways in which work of the file may be charged to accounts.
func (l *loader) charges(spec *v1alpha1.ScenarioSpec) []charge {
	isAccount := func(o Object) bool { return o.Kind == kindAccount }
	if !slices.ContainsFunc(l.out.Objects, isAccount) &&
		!slices.ContainsFunc(l.out.Events, func(e Event) bool { return slices.ContainsFunc(e.Apply, isAccount) }) {
		return nil // whatever work says, there is nobody to charge
	}
	elsewhere := map[batch.WorkloadID][]batch.LocalQueueName{}
	for _, e := range l.out.Events {
		if e.Set != nil && e.Set.Queue != nil {
			elsewhere[e.Set.Job] = append(elsewhere[e.Set.Job], *e.Set.Queue)
		}
	}
	var out []charge
	rest := l.out.Jobs
	for i := range spec.Jobs {
		members := 1
		if spec.Jobs[i].Array != nil {
			members = spec.Jobs[i].Array.Count
		}
		job := &rest[0]
		c := charge{
			path: fmt.Sprintf("spec.jobs[%d]", i), from: job.At, till: always,
			who: batch.Claimant{Account: job.Workload.Account, User: job.Workload.Submitter},
		}
		if job.CancelAt > 0 {
			c.till = job.CancelAt
		}
		through := []batch.LocalQueueName{job.Workload.LocalQueue}
		for k := range rest[:members] {
			through = append(through, elsewhere[rest[k].Workload.ID]...)
		}
		for _, c.through = range through {
			out = append(out, c)
		}
		rest = rest[members:]
	}
	return append(out, l.chargesOfTrace()...)
}

// chargesOfTrace are those of the jobs of a log, which name no account.
func (l *loader) chargesOfTrace() []charge {
	if l.out.Trace == nil {
		return nil
	}
	c := charge{path: "spec.trace", till: always, who: batch.Claimant{User: anyone}, through: defaultName + "/" + defaultName}
	out := []charge{c}
	for _, queue := range slices.Sorted(maps.Values(l.out.Trace.Queues)) {
		c.through = batch.LocalQueueName(defaultName + "/" + queue)
		out = append(out, c)
	}
	return out
}
