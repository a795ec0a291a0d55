package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
)

// check is an expectation while the run goes on.
type check struct {
	*scenario.Expectation
	misses []string // what came instead; none: it holds
}

func (c *check) outcome() Outcome {
	return Outcome{Text: c.Text, Line: c.Line, Hold: len(c.misses) == 0, Got: strings.Join(c.misses, "; ")}
}

func (c *check) miss(format string, args ...any) {
	c.misses = append(c.misses, fmt.Sprintf(format, args...))
}

func compare[T comparable](c *check, what string, want, got T) {
	if want != got {
		c.miss("%s is %v", what, got)
	}
}

// prepareChecks sorts the expectations of moments by time.
func (w *world) prepareChecks() {
	for i := range w.file.Expect {
		c := &check{Expectation: &w.file.Expect[i]}
		w.results = append(w.results, c)
		w.watched[c.Job] = true
		for _, id := range c.Before {
			w.watched[id] = true
		}
		if c.At != nil {
			w.checks = append(w.checks, c)
		}
	}
	slices.SortStableFunc(w.checks, func(a, b *check) int { return cmp.Compare(*a.At, *b.At) })
}

// checkMoments looks at what is expected up to a time, now that all of that
// time has been taken in.
func (w *world) checkMoments(upTo time.Duration) {
	for len(w.checks) > 0 && *w.checks[0].At <= upTo {
		w.checkMoment(w.checks[0])
		w.checks = w.checks[1:]
	}
}

func (w *world) checkMoment(c *check) {
	switch {
	case c.Job != "":
		w.checkJobNow(c)
	case c.Queue != "":
		w.checkQueueNow(c)
	default:
		w.checkFreeNow(c)
	}
}

func (w *world) checkJobNow(c *check) {
	j := w.find(c.Job)
	if j == nil {
		c.miss("the job has not been submitted")
		return
	}
	if c.State != "" {
		compare(c, "state", c.State, j.state)
	}
	v := j.workload.LastVerdict
	waits := v != nil && !j.ended && j.workload.Allocation == nil
	if !waits {
		v = &batch.Verdict{}
	}
	if c.Reason != "" {
		compare(c, "reason", orNone(string(c.Reason)), orNone(string(v.Reason)))
	}
	if c.Message != "" && !strings.Contains(v.Message, c.Message) {
		c.miss("message is %q", v.Message)
	}
	if c.PlannedStart != nil {
		w.comparePlanned(c, v.PlannedStart)
	}
	if c.Position != nil {
		compare(c, "position", *c.Position, w.position(c.Job))
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func (w *world) comparePlanned(c *check, planned time.Time) {
	if planned.IsZero() {
		c.miss("plannedStart is none")
		return
	}
	compareTime(c, "plannedStart", *c.PlannedStart, w.offset(planned))
}

func compareTime(c *check, what string, want, got time.Duration) {
	if (want - got).Abs() > c.Tolerance {
		c.miss("%s is %s", what, offsetText(got))
	}
}

// position is a job's place in the order of those that take part, from 1; 0:
// it takes no part.
func (w *world) position(id batch.WorkloadID) int {
	if w.core == nil {
		return 0
	}
	snapshot := w.core.Snapshot()
	var order []*batch.Waiting
	for _, waiting := range snapshot.Waiting {
		if v := waiting.Workload.LastVerdict; v != nil && v.Reason.TakesPart() {
			order = append(order, waiting)
		}
	}
	tier := func(waiting *batch.Waiting) int32 {
		local, ok := snapshot.LocalQueues[waiting.Workload.LocalQueue]
		if !ok || len(local.Queues) == 0 || snapshot.Queues[local.Queues[0]] == nil {
			return 0
		}
		return snapshot.Queues[local.Queues[0]].Tier
	}
	slices.SortStableFunc(order, func(a, b *batch.Waiting) int { return cmp.Compare(tier(b), tier(a)) })
	return 1 + slices.IndexFunc(order, func(waiting *batch.Waiting) bool { return waiting.Workload.ID == id })
}

func (w *world) checkQueueNow(c *check) {
	w.compareUsed(c, c.Queue, c.Used)
	w.compareStanding(c)
	if c.Pending == nil {
		return
	}
	pending := 0
	for _, j := range w.jobs { //order:any a count
		if slices.Contains(j.submittedTo(w), c.Queue) && !j.ended && j.workload.Allocation == nil {
			pending++
		}
	}
	compare(c, "pending", *c.Pending, pending)
}

// submittedTo are the ClusterQueues behind a job's LocalQueue: it waits in each.
func (j *job) submittedTo(w *world) []batch.QueueName {
	local, _ := w.objects["LocalQueue/"+string(j.workload.LocalQueue)].Seen.(batch.LocalQueueObserved)
	return local.LocalQueue.Queues
}

func (w *world) compareUsed(c *check, queue batch.QueueName, want batch.Resources) {
	used := w.meter.queues[queue]
	for _, name := range want.Names() {
		compare(c, "used "+string(name), want[name], used[name])
	}
}

// compareStanding compares what a queue has borrowed and lent, over all of its
// flavors, as its status would say it.
func (w *world) compareStanding(c *check) {
	if c.Borrowed == nil && c.Lent == nil {
		return
	}
	borrowed, lent := batch.Resources{}, batch.Resources{}
	if w.core != nil {
		for _, s := range w.core.Summaries()[c.Queue].Quotas {
			borrowed = borrowed.Plus(batch.Resources{s.Resource: s.Borrowed})
			lent = lent.Plus(batch.Resources{s.Resource: s.Lent})
		}
	}
	for _, name := range c.Borrowed.Names() {
		compare(c, "borrowed "+string(name), c.Borrowed[name], borrowed[name])
	}
	for _, name := range c.Lent.Names() {
		compare(c, "lent "+string(name), c.Lent[name], lent[name])
	}
}

func (w *world) checkFreeNow(c *check) {
	nodes, gpus := 0, batch.Amount(0)
	for _, n := range w.nodes { //order:any counts
		if n.pods == 0 {
			nodes++
		}
		gpus += n.Capacity[batch.ResourceGPU] - n.used[batch.ResourceGPU]
	}
	if c.FreeNodes != nil {
		compare(c, "freeNodes", *c.FreeNodes, nodes)
	}
	if c.FreeGPUs != nil {
		compare(c, "freeGpus", *c.FreeGPUs, int(gpus))
	}
}

// checkBounds looks at what must never be exceeded.
func (w *world) checkBounds() {
	for _, c := range w.results {
		if c.NeverAbove == nil || len(c.misses) > 0 {
			continue
		}
		used := w.meter.queues[c.NeverAbove.Queue]
		for _, name := range c.NeverAbove.Used.Names() {
			if used[name] > c.NeverAbove.Used[name] {
				c.miss("used %s is %d at %s", name, used[name], offsetText(w.now))
			}
		}
	}
}

// find is a job that was submitted, also after its end.
func (w *world) find(id batch.WorkloadID) *job {
	if j, ok := w.jobs[id]; ok {
		return j
	}
	for _, j := range w.order {
		if j.workload.ID == id {
			return j
		}
	}
	return nil
}
