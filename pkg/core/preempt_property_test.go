package core_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
)

// drawPreemption draws queues whose work gives way, in every manner.
func drawPreemption(t *rapid.T, w *world) {
	cohort := rapid.IntRange(0, 2).Draw(t, "cohort") > 0
	for i, name := range []string{"main", "front", "side"} {
		w.queue(name, func(q *batch.Queue) {
			q.Tier = int32([]int{1, 5, 1}[i])
			if q.Preemption = drawSwitches(t); !cohort {
				return
			}
			q.Cohort = "all"
			q.Quotas = batch.Quotas{"": {batch.ResourceGPU: batch.Quota{Nominal: batch.Amount(rapid.SampledFrom([]int{0, 4, 8, 16}).Draw(t, "nominal"))}}}
		})
	}
	if cohort {
		w.step(batch.CohortObserved{Cohort: batch.Cohort{Name: "all"}})
	}
}

// drawSwitches draws what a queue says about preemption.
func drawSwitches(t *rapid.T) batch.Preemption {
	modes := []batch.PreemptionMode{batch.PreemptRequeue, batch.PreemptRequeue, batch.PreemptRequeue, batch.PreemptCancel, batch.PreemptNever}
	return batch.Preemption{
		Mode:                rapid.SampledFrom(modes).Draw(t, "mode"),
		Grace:               time.Duration(rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "grace")) * time.Minute,
		Exempt:              time.Duration(rapid.SampledFrom([]int{0, 0, 0, 4}).Draw(t, "exempt")) * time.Minute,
		WithinQueue:         rapid.SampledFrom([]batch.PreemptWhom{batch.WhomNever, batch.WhomLowerPriority}).Draw(t, "within"),
		ReclaimWithinCohort: rapid.SampledFrom([]batch.PreemptWhom{batch.WhomNever, batch.WhomLowerPriority, batch.WhomAny}).Draw(t, "reclaim"),
		BorrowWithinCohort:  rapid.SampledFrom([]batch.PreemptWhom{batch.WhomNever, batch.WhomNever, batch.WhomLowerPriority}).Draw(t, "borrow"),
	}
}

// drawYields lets the queues of a world give way to each other, whatever quotas
// they have.
func drawYields(t *rapid.T, w *world) {
	for _, name := range []string{"main", "front"} {
		w.editQueue(name, func(q *batch.Queue) {
			q.Preemption = drawSwitches(t)
			if rapid.IntRange(0, 3).Draw(t, "lets go") > 0 {
				q.Preemption.Mode, q.Preemption.Exempt = batch.PreemptRequeue, 0
			}
		})
	}
	policy := w.core.Snapshot().Policy
	policy.Victims = rapid.SampledFrom([]batch.VictimOrder{"", batch.VictimsYoungest, batch.VictimsSmallestFirst}).Draw(t, "victims")
	policy.RequeueDelay = time.Duration(rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "delay")) * time.Minute
	w.step(batch.PolicyObserved{Policy: policy})
	w.lingers = func(batch.WorkloadID) int { return rapid.IntRange(0, 3).Draw(t, "lingers") }
}

// drawYielding draws work that may be told to end.
func drawYielding(t *rapid.T, i int) job {
	j := drawJob(t, i)
	j.queue = rapid.SampledFrom([]string{"main", "main", "front", "side"}).Draw(t, "of queue")
	drawManner(t, &j)
	return j
}

// drawManner draws how a job ends when it is told to, and whether for good.
func drawManner(t *rapid.T, j *job) {
	edit := j.edit
	delivery := rapid.SampledFrom([]batch.Delivery{batch.DeliverTerm, batch.DeliverTerm, batch.DeliverSignal}).Draw(t, "delivery")
	final := rapid.IntRange(0, 7).Draw(t, "final") == 0
	j.edit = func(w *batch.Workload) {
		if edit != nil {
			edit(w)
		}
		w.Checkpoint.Delivery, w.NoRequeue = delivery, final
	}
}

// checkEvictions holds evictions to what they are for: a place that is kept, or
// a start, for work of higher standing; or what a queue takes back.
func checkEvictions(w *world, plan batch.Plan) {
	queues := map[batch.WorkloadID]batch.QueueName{}
	for _, d := range plan.Nominate {
		if d.Nomination != nil {
			queues[d.ID] = d.Nomination.Allocation.Queue
		}
	}
	for _, d := range plan.Start {
		queues[d.ID] = d.Allocation.Queue
	}
	snapshot := w.core.Snapshot()
	for _, d := range plan.Evict {
		if d.Eviction.For == "" {
			continue
		}
		queue, kept := queues[d.Eviction.For]
		if !kept {
			w.t.Fatalf("%d: %s is evicted for %s, which neither starts nor has a place: %s", minuteOf(w.now), d.ID, d.Eviction.For, brief(plan))
		}
		victim, _ := w.core.Workload(d.ID)
		by, _ := w.core.Workload(d.Eviction.For)
		q, vq := snapshot.Queues[queue], snapshot.Queues[victim.Allocation.Queue]
		if mode := vq.Preemption.Mode; mode == "" || mode == batch.PreemptNever {
			w.t.Fatalf("%s is evicted, whose queue has mode %q", d.ID, mode)
		}
		if exempt := vq.Preemption.Exempt; exempt > 0 && (victim.ReadySince.IsZero() || w.now.Before(victim.ReadySince.Add(exempt))) {
			w.t.Fatalf("%s is evicted, which is safe for %s since %v", d.ID, exempt, victim.ReadySince)
		}
		lower := vq.Tier < q.Tier || (vq.Tier == q.Tier && victim.Priority < by.Priority)
		if !lower && d.Eviction.Cause != batch.CauseReclaimed {
			w.t.Fatalf("%s (%d, %d) is evicted for %s (%d, %d)", d.ID, vq.Tier, victim.Priority, d.Eviction.For, q.Tier, by.Priority)
		}
	}
}

// starts that others were evicted for.
type dues map[batch.WorkloadID]int

// checkDues: whom others were evicted for starts, or its place is kept.
func (due dues) check(w *world, plan batch.Plan) {
	for _, d := range plan.Evict {
		if d.Eviction.For != "" {
			due[d.Eviction.For] = w.jobs[nameOf(d.Eviction.For)].starts
		}
	}
	ended := map[batch.WorkloadID]bool{}
	for _, d := range plan.Nominate {
		ended[d.ID] = d.Nomination == nil
	}
	for id, starts := range due { //order:any each by itself
		j := w.jobs[nameOf(id)]
		if j.starts > starts || !j.ended.IsZero() {
			delete(due, id)
		} else if ended[id] {
			w.t.Fatalf("%d: the place of %s is given up: %s", minuteOf(w.now), id, brief(plan))
		}
	}
}

func TestPreemptionKeepsItsInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		policy := batch.DefaultPolicy()
		if rapid.Bool().Draw(t, "other policy") {
			drawPolicy(t, &policy)
		}
		policy.Victims = rapid.SampledFrom([]batch.VictimOrder{"", batch.VictimsYoungest, batch.VictimsSmallestFirst}).Draw(t, "victims")
		policy.RequeueDelay = time.Duration(rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "delay")) * time.Minute
		w.step(batch.PolicyObserved{Policy: policy})
		w.nodes(rapid.IntRange(1, 4).Draw(t, "nodes"), 8)
		drawPreemption(t, w)
		w.lingers = func(batch.WorkloadID) int { return rapid.IntRange(0, 3).Draw(t, "lingers") }
		due := dues{}
		w.look = func(plan batch.Plan) {
			checkGrants(w, plan)
			checkBuckets(w, plan)
			checkPromises(w, plan)
			checkEvictions(w, plan)
			due.check(w, plan)
		}
		minute := 0
		for i := range rapid.IntRange(1, 25).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "step") == 0 {
				minute += rapid.IntRange(0, 9).Draw(t, "minutes")
				w.until(minute)
				continue
			}
			w.submit(drawYielding(t, i))
			if rapid.Bool().Draw(t, "at once") {
				w.until(minute)
			}
		}
		w.until(minute + 30)
	})
}

// What is disturbed while others give way is given up in order, and nothing is
// granted twice.
func TestPreemptionInAWildWorld(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		w.nodes(nodes, 8)
		drawPreemption(t, w)
		w.lingers = func(batch.WorkloadID) int { return rapid.IntRange(0, 3).Draw(t, "lingers") }
		w.look = func(plan batch.Plan) {
			checkGrants(w, plan)
			checkBuckets(w, plan)
			checkPromises(w, plan)
			checkEvictions(w, plan)
		}
		minute := 0
		for i := range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1:
				minute += rapid.IntRange(0, 9).Draw(t, "minutes")
			case 2:
				disturb(t, w, nodes)
			case 3:
				flip := rapid.Bool().Draw(t, "ready")
				w.node(fmt.Sprintf("n%d", rapid.IntRange(1, nodes).Draw(t, "node")), 8, func(n *batch.Node) { n.Ready = flip })
			default:
				w.submit(drawYielding(t, i))
			}
			w.until(minute)
		}
	})
}

// What is told of when others are exempt no more does not come and go. (Rights that
// quotas give do, and there are few enough that all are told. Each queue has seconds of
// its own, so that no two runs are exempt until the same time by chance.)
func TestWhatIsToldOfExemptionsStands(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.nodes(rapid.IntRange(1, 4).Draw(t, "nodes"), 8)
		drawPreemption(t, w)
		for i, name := range []string{"main", "front", "side"} {
			exempt := time.Duration(rapid.SampledFrom([]int{0, 10, 30}).Draw(t, "minutes exempt")) * time.Minute
			if exempt > 0 {
				exempt += []time.Duration{7 * time.Second, 17 * time.Second, 29 * time.Second}[i]
			}
			w.editQueue(name, func(q *batch.Queue) { q.Cohort, q.Quotas, q.Preemption.Exempt = "", nil, exempt })
		}
		type told struct {
			until time.Time
			gone  bool
		}
		last := map[batch.WorkloadID]told{}
		w.look = func(plan batch.Plan) {
			for _, d := range plan.Start {
				delete(last, d.ID)
			}
			for _, d := range plan.Wait {
				was, is := last[d.ID], d.Verdict.Facts.SafeUntil
				switch {
				case d.Verdict.Reason == batch.ReasonPreempting:
					delete(last, d.ID)
				case is.IsZero():
					last[d.ID] = told{until: was.until, gone: true}
				case was.gone && is.Equal(was.until):
					w.t.Fatalf("%d: %s is told once more that others are exempt until %d: %s", minuteOf(w.now), d.ID, minuteOf(is), brief(plan))
				default:
					last[d.ID] = told{until: is}
				}
			}
		}
		minute := 0
		for i := range rapid.IntRange(1, 16).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "step") == 0 {
				minute += rapid.IntRange(0, 9).Draw(t, "minutes")
			} else {
				w.submit(drawYielding(t, i))
			}
			w.until(minute)
		}
		w.until(minute + 30)
	})
}

// giving makes two queues: the work of main gives way to that of front.
func (w *world) giving(p batch.Preemption) {
	w.queue("main", func(q *batch.Queue) { q.Tier, q.Preemption = 1, p })
	w.queue("front", func(q *batch.Queue) { q.Tier = 5 })
}

// Who waits for the end of one that is preempted for good goes on in the plan
// that puts the end on record. (Every plan of a world is held to be followed by
// an empty one.)
func TestThePlanThatEndsAVictimLetsGoWhoWaitsForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.giving(batch.Preemption{Mode: batch.PreemptCancel, Grace: 5 * time.Minute})
	w.lingers = func(batch.WorkloadID) int { return 2 }
	w.submit(job{name: "victim", gpu: 8, walltime: 60})
	w.until(1)
	w.submit(job{name: "next", walltime: 5, edit: after("afterany:victim")}, job{name: "top", queue: "front", gpu: 8, walltime: 60})
	w.until(10)
	w.want("victim=0", "top=3", "next=3")
}

// Who waits for a start that this plan makes is looked at again when the run
// may be taken, also where it is exempt until then.
func TestAnExemptStartWakesWhoWaitedForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.giving(batch.Preemption{Mode: batch.PreemptRequeue, Exempt: 4 * time.Minute})
	w.submit(job{name: "first", gpu: 8, walltime: 60}, job{name: "top", queue: "front", gpu: 8, walltime: 60, edit: after("after:first")})
	w.until(10)
	w.want("first=0", "top=4")
}

// A place waits for who was let off, as he should have ended before it can be used,
// also while he overruns: else the victims went for nothing.
func TestAPlaceWaitsForWhoShouldHaveEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.giving(batch.Preemption{Mode: batch.PreemptRequeue, Grace: 5 * time.Minute})
	w.submit(job{name: "late", gpu: 8, walltime: 12, runs: 17}, job{name: "long", gpu: 8, walltime: 300})
	w.until(10)
	w.submit(job{name: "top", queue: "front", pods: 2, gpu: 8, walltime: 60})
	w.until(16)
	w.reason("top", batch.ReasonPreempting)
	w.until(20)
	w.want("top=17", "late=0")
	if j := w.jobs["late"]; j.evicted != "" {
		t.Errorf("late was evicted: %s", j.evicted)
	}
}
