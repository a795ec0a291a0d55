package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// policy sets a policy that differs from the default one.
func (w *world) policy(edit func(*batch.Policy)) {
	policy := batch.DefaultPolicy()
	edit(&policy)
	w.step(batch.PolicyObserved{Policy: policy})
}

func mode(m batch.BackfillMode) func(*batch.Policy) {
	return func(p *batch.Policy) { p.Backfill = m }
}

func TestEASYPlansOnlyTheFirstBlocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(mode(batch.BackfillEASY))
	w.nodes(5, 8)
	w.submit(job{name: "two", pods: 2, gpu: 8, walltime: 60}, job{name: "one", gpu: 8, walltime: 180})
	w.until(1)
	w.submit(job{name: "first", pods: 3, gpu: 8, walltime: 60})
	w.until(2)
	w.submit(job{name: "second", pods: 4, gpu: 8, walltime: 60})
	w.until(3)
	w.want("first~60", "second~-")
	w.reason("second", batch.ReasonNotPlanned, "place 2", "only the first that waits in ClusterQueue main is planned")
	w.submit(job{name: "filler", gpu: 8, walltime: 600})
	w.until(400)
	w.want("filler=3", "first=60", "second=180")
	if via := w.jobs["filler"].via; via != batch.ViaBackfill {
		t.Errorf("filler started via %s", via)
	}
}

func TestEASYPlansTheFirstOfEachQueueAndTheRestMayDelayNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(mode(batch.BackfillEASY))
	w.queue("other", nil)
	w.nodes(4, 8)
	w.submit(job{name: "r", pods: 2, gpu: 8, walltime: 60})
	w.until(0)
	// All of one moment: now starts, head and rear are the first that wait.
	w.submit(
		job{name: "now", gpu: 8, walltime: 100, priority: 9},
		job{name: "head", pods: 3, gpu: 8, walltime: 60, priority: 8},
		job{name: "long", gpu: 8, walltime: 600, priority: 7},
		job{name: "rear", pods: 4, gpu: 8, walltime: 60, priority: 6, queue: "other"},
		job{name: "short", gpu: 8, walltime: 60, priority: 1})
	w.until(0)
	w.want("now=0", "head~60", "rear~120", "long~-", "short=0")
	w.until(500)
	w.want("head=60", "rear=120", "long=180")
	if len(w.moved) > 0 {
		t.Errorf("moved later: %v", w.moved)
	}
}

func TestEASYPromiseSticksUntilAHigherRankedOneIsFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(mode(batch.BackfillEASY))
	w.nodes(2, 8)
	w.submit(job{name: "r", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "head", pods: 2, gpu: 8, walltime: 60})
	for minute := range 10 {
		w.submit(job{name: fmt.Sprintf("s%d", minute), gpu: 8, walltime: 3})
		w.until(minute)
		w.want("head~60")
	}
	w.submit(job{name: "boss", pods: 2, gpu: 8, walltime: 60, priority: 5})
	w.until(10)
	w.want("boss~60", "head~-")
	w.reason("head", batch.ReasonNotPlanned, "moved later by: higher-ranked arrival ns/boss")
	w.until(300)
	w.want("boss=60", "head=120")
}

// Who was due, and has to wait on for an overrun, is still the first of its
// queue: nobody of it is planned beside it, not even for a while.
func TestEASYPlansOnlyTheFirstWhenItsStartIsOverrun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(mode(batch.BackfillEASY))
	w.queue("other", nil)
	w.nodes(1, 8)
	w.submit(job{name: "late", gpu: 8, walltime: 10, runs: 13})
	w.until(0)
	w.submit(job{name: "head", gpu: 8, walltime: 60, priority: 9}, job{name: "aside", gpu: 8, walltime: 60, queue: "other"})
	w.until(9)
	w.want("head~10", "aside~70")
	w.now = zero.Add(10 * time.Minute) // it comes in the moment of the overrun
	w.submit(job{name: "second", gpu: 8, walltime: 60, priority: 5})
	w.until(10)
	w.want("head~11", "second~-", "aside~71")
	w.until(200)
	w.want("head=13", "aside=73", "second=133")
}

func TestStrictLetsNothingOvertakeInItsQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(mode(batch.BackfillStrict))
	w.queue("other", nil)
	w.nodes(3, 8)
	w.submit(job{name: "r", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "gang", pods: 3, gpu: 8, walltime: 60}, job{name: "tiny", gpu: 1, walltime: 1}, job{name: "aside", gpu: 8, walltime: 10, queue: "other"})
	w.until(0)
	w.want("gang~60", "tiny~120", "aside=0")
	w.until(30)
	w.want("tiny=-")
	w.until(300)
	w.want("gang=60", "tiny=120")
}

// Where nothing overtakes, the tail of a queue waits for its head, however much
// is free: that is what it says, and no longer once it is the head.
func TestStrictTellsTheTailThatItWaitsForItsHead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(mode(batch.BackfillStrict))
	w.nodes(2, 8)
	w.submit(job{name: "endless", gpu: 8})
	w.until(0)
	w.submit(job{name: "head", pods: 2, gpu: 8, walltime: 60}, job{name: "fits", gpu: 8, walltime: 60}, job{name: "wide", pods: 2, gpu: 8, walltime: 60})
	w.until(1)
	const inTurn = "it starts by itself after those that wait before it in ClusterQueue main (backfill.mode: Strict)"
	w.reason("head", batch.ReasonResources, "no start is known, it starts by itself when enough running work has ended")
	w.reason("fits", batch.ReasonPriority, "would fit now", "ns/head waits before it; no start is known, it starts by itself after that one")
	w.reason("wide", batch.ReasonResources, "8 of 16 nvidia.com/gpu free", "no start is known, "+inTurn)
	for _, gone := range []string{"head", "fits"} {
		w.step(batch.WorkloadGone{ID: id(gone)})
		delete(w.jobs, gone)
	}
	w.until(2)
	w.reason("wide", batch.ReasonResources, "no start is known, it starts by itself when enough running work has ended")
}

// Who depends on a start takes no part until then, and blocks nobody; from then
// on nothing overtakes it.
func TestStrictBlocksNothingForWhoDependsOnAStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(mode(batch.BackfillStrict))
	w.look = func(plan batch.Plan) { checkTurns(w, plan) }
	w.nodes(1, 8)
	w.submit(job{name: "released", gpu: 8, walltime: 10, priority: 9, edit: after("after:first")},
		job{name: "first", gpu: 4, walltime: 30, priority: 5}, job{name: "beside", gpu: 2, walltime: 30, priority: 4})
	w.until(0)
	w.want("first=0", "beside=0", "released~30")
	w.submit(job{name: "tiny", gpu: 1, walltime: 1})
	w.until(60)
	w.want("released=30", "tiny=40")
}

func TestStrictKeepsAQueueBehindWhoWaitsForNodesThatAreAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(func(p *batch.Policy) { p.Backfill, p.PerUser = batch.BackfillStrict, 1 })
	w.nodes(2, 8)
	w.node("n2", 8, func(n *batch.Node) { n.Ready = false })
	w.submit(job{name: "gang", pods: 2, gpu: 8, walltime: 60}, job{name: "tiny", gpu: 1, walltime: 1})
	w.until(5)
	w.want("gang=-", "tiny=-", "tiny~-")
	w.node("n2", 8, nil)
	w.until(10)
	w.want("gang=5", "tiny~65")
	w.submit(job{name: "a", gpu: 1, walltime: 1}, job{name: "b", gpu: 1, walltime: 1})
	w.until(10)
	w.reason("a", batch.ReasonNotPlanned, "only the first of a user is planned (backfill.perUser)",
		"starts by itself after those that wait before it in ClusterQueue main (backfill.mode: Strict)")
	w.until(100)
	w.want("tiny=65", "a=65", "b=65")
}

func TestWithoutPlansWhatFitsStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(mode(batch.BackfillNone))
	w.nodes(2, 8)
	w.submit(job{name: "r", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "gang", pods: 2, gpu: 8, walltime: 60}, job{name: "s", gpu: 8, walltime: 90})
	w.until(0)
	w.want("gang~-", "s=0")
	w.until(90)
	w.want("gang=90")
}

func TestDepthProtectsWhoIsNextWhenOthersStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(func(p *batch.Policy) { p.Depth = 1 })
	w.nodes(3, 8)
	w.submit(job{name: "r", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "now", gpu: 8, walltime: 60, priority: 9}, job{name: "next", pods: 3, gpu: 8, walltime: 60, priority: 5},
		job{name: "long", gpu: 8, walltime: 600})
	w.until(0)
	w.want("now=0", "next~60", "long=-")
	w.reason("long", batch.ReasonNotPlanned, "place 2", "only the first is planned; it starts by itself when it fits or is nearer the top")
}

func TestBoundsByUserAndByQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(func(p *batch.Policy) { p.PerUser, p.PerQueue = 2, 3 })
	w.queue("other", nil)
	w.nodes(1, 8)
	by := func(user string) func(*batch.Workload) { return func(w *batch.Workload) { w.Submitter = user } }
	w.submit(job{name: "r", gpu: 7, walltime: 60})
	w.until(0)
	for i := range 3 {
		w.submit(job{name: fmt.Sprintf("a%d", i), gpu: 8, walltime: 60, edit: by("ann")})
	}
	w.submit(job{name: "b", gpu: 8, walltime: 60, edit: by("bob")}, job{name: "c", gpu: 8, walltime: 60, edit: by("cyd")},
		job{name: "d", gpu: 8, walltime: 60, edit: by("dan"), queue: "other"}, job{name: "one", gpu: 1, walltime: 60, edit: by("ann")})
	w.until(0)
	w.want("a0~60", "a1~120", "a2~-", "b~180", "c~-", "d~240", "one=0")
	w.reason("a2", batch.ReasonNotPlanned, "place 3", "only the first 2 of a user are planned (backfill.perUser)")
	w.reason("c", batch.ReasonNotPlanned, "place 5", "only the first 3 of ClusterQueue main are planned (backfill.perQueue)")
	w.until(60)
	w.want("a0=60", "a2~300")
	w.until(500)
	w.want("a1=120", "b=180", "d=240", "a2=300", "c=360")
}

func TestPlannedStartsBeyondTheWindowAreKeptAndNotShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(func(p *batch.Policy) { p.Window = 2 * time.Hour })
	w.nodes(2, 8)
	w.submit(job{name: "r", pods: 2, gpu: 8, walltime: 150, runs: 100})
	w.until(0)
	w.submit(job{name: "far", pods: 2, gpu: 8, walltime: 60})
	w.until(0)
	w.want("far~-")
	w.reason("far", batch.ReasonResources, "its planned start is more than 2h away and not shown yet")
	if holds := w.core.Plan(w.now).Holds; len(holds) != 1 {
		t.Errorf("%d holds", len(holds))
	}
	w.until(29)
	w.want("far~-")
	w.until(30)
	w.want("far~150")
	w.until(100)
	w.want("far=100")
}

// Somebody a place is kept for has its nodes already when the way through the
// order comes to it, also where like nodes are counted rather than told apart.
func TestThePlaceThatIsKeptIsNotCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(func(p *batch.Policy) { p.Depth = 1 })
	w.queue("low", func(q *batch.Queue) {
		q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Grace: 20 * time.Minute}
	})
	w.queue("main", func(q *batch.Queue) { q.Tier = 5 })
	w.nodes(3, 8)
	w.lingers = func(batch.WorkloadID) int { return 20 }
	w.submit(job{name: "u1", gpu: 8, walltime: 60, runs: 5}, job{name: "u2", gpu: 8, walltime: 60, runs: 5})
	w.until(0)
	w.submit(job{name: "victim", gpu: 8, walltime: 60, queue: "low"})
	w.until(1)
	w.submit(job{name: "kept", gpu: 8, walltime: 60, priority: 5})
	w.until(2)
	w.want("kept~21")
	w.submit(job{name: "first", gpu: 8, walltime: 60, priority: 9}, job{name: "last", gpu: 8, walltime: 60, priority: 1})
	w.until(5)
	w.want("first=5", "kept~21", "last=5")
}
