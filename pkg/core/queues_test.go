package core_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

// pools makes two queues of a pool each, "small" and "large", and a door "any"
// to both.
func (w *world) pools(small, large int, edit func(small, large *batch.Queue)) {
	a := batch.Queue{Name: "small", State: batch.QueueUp, Flavors: []batch.FlavorName{"small"}}
	b := batch.Queue{Name: "large", State: batch.QueueUp, Flavors: []batch.FlavorName{"large"}}
	if edit != nil {
		edit(&a, &b)
	}
	for _, q := range []batch.Queue{a, b} {
		name := string(q.Name)
		w.step(batch.FlavorObserved{Flavor: batch.Flavor{Name: batch.FlavorName(name), Selector: batch.LabelSelector{
			All: []batch.Requirement{{Key: "pool", Op: batch.OpIn, Values: []string{name}}},
		}}})
		w.queue(name, func(is *batch.Queue) { *is = q })
	}
	w.step(batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{Name: "ns/any", Queues: []batch.QueueName{"small", "large"}}})
	for i := range small {
		w.node("s"+string(rune('1'+i)), 8, func(n *batch.Node) { n.Labels["pool"] = "small" })
	}
	for i := range large {
		w.node("l"+string(rune('1'+i)), 8, func(n *batch.Node) { n.Labels["pool"] = "large" })
	}
}

func TestOfSeveralQueuesTheEarliestStartWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pools(1, 1, nil)
	w.submit(job{name: "first", queue: "small", gpu: 8, walltime: 120})
	w.until(1)
	w.submit(job{name: "second", queue: "any", gpu: 8, walltime: 60})
	w.until(2)
	w.submit(job{name: "third", queue: "any", gpu: 8, walltime: 60})
	w.until(5)
	w.want("second=1", "third~61")
	if diff := cmp.Diff([]string{"l1"}, w.jobs["second"].hosts); diff != "" {
		t.Error(diff)
	}
	if sums := w.core.Summaries(); sums["small"].Pending != 1 || sums["large"].Pending != 1 || sums["small"].PlannedNext != (time.Time{}) ||
		!sums["large"].PlannedNext.Equal(zero.Add(61*time.Minute)) {
		t.Errorf("summaries: %+v", sums)
	}
	w.until(300)
	w.want("third=61")
	if n := w.jobs["third"].starts; n != 1 {
		t.Errorf("third started %d times", n)
	}
}

func TestOfEqualStartsTheHigherTierWinsThenTheListedOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		tier int32
		want string
	}{{"equal tiers", 0, "s1"}, {"the second has the higher tier", 5, "l1"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.pools(1, 1, func(_, large *batch.Queue) { large.Tier = tt.tier })
			w.submit(job{name: "j", queue: "any", gpu: 8, walltime: 60})
			w.until(0)
			if diff := cmp.Diff([]string{tt.want}, w.jobs["j"].hosts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A record in a queue of a low tier does not lend its workload the high tier of
// the other queue.
func TestEachRecordHasTheRankOfItsQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pools(1, 1, func(small, large *batch.Queue) { small.Tier, large.Tier = 9, 1 })
	w.queue("large2", func(q *batch.Queue) { q.Tier, q.Flavors = 5, []batch.FlavorName{"large"} })
	w.submit(job{name: "s", queue: "small", gpu: 8, walltime: 600}, job{name: "l", queue: "large", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "both", queue: "any", gpu: 8, walltime: 60})
	w.until(1)
	w.want("both~60")
	w.submit(job{name: "middle", queue: "large2", gpu: 8, walltime: 60})
	w.until(2)
	w.want("middle~60", "both~120")
	w.reason("both", batch.ReasonResources, "higher-ranked arrival ns/middle")
}

func TestQueueThatTakesNothingLeavesTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pools(1, 1, func(small, large *batch.Queue) {
		small.State, large.WalltimeMax = batch.QueueDown, batch.Walltime(time.Hour)
	})
	w.submit(job{name: "a", queue: "any", gpu: 8, walltime: 60}, job{name: "b", queue: "any", gpu: 8, walltime: 61},
		job{name: "c", queue: "any", gpu: 9, walltime: 60})
	w.until(0)
	w.want("a=0")
	w.reason("b", batch.ReasonQueueStopped, "ClusterQueue small is set to Down")
	w.reason("c", batch.ReasonNeverFits, "the largest node in small has 8")
	w.step(batch.QueueGone{Name: "large"})
	w.until(1)
	w.reason("b", batch.ReasonQueueStopped)
	w.step(batch.QueueGone{Name: "small"})
	w.until(2)
	w.reason("b", batch.ReasonQueueNotFound, "ClusterQueue small does not exist")
}

func TestPromiseOfSeveralQueuesOutlivesARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pools(2, 2, nil)
	w.submit(job{name: "s", queue: "small", pods: 2, gpu: 8, walltime: 120}, job{name: "l", queue: "large", pods: 2, gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "x", queue: "any", pods: 2, gpu: 8, walltime: 60}, job{name: "y", queue: "any", pods: 2, gpu: 8, walltime: 60},
		job{name: "z", queue: "large", pods: 2, gpu: 8, walltime: 60})
	w.until(0)
	w.want("x~60", "y~120", "z~120")
	w.restart(w.events)
	w.settle()
	w.want("x~60", "y~120", "z~120")
	w.until(500)
	w.want("x=60", "y=120", "z=120")
	if len(w.moved) > 0 {
		t.Errorf("moved later: %v", w.moved)
	}
}

// Who starts now in a queue in which it has no planned start leaves the one that
// it has in another queue to others in the same plan.
func TestStartInOneQueueLeavesThePlaceInAnotherInTheSamePlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(mode(batch.BackfillEASY))
	w.pools(1, 1, nil)
	w.queue("large2", func(q *batch.Queue) { q.Flavors = []batch.FlavorName{"large"} })
	w.submit(job{name: "s", queue: "small", gpu: 4, walltime: 60}, job{name: "l", queue: "large", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "first", queue: "small", gpu: 8, walltime: 60}, job{name: "either", queue: "any", gpu: 4, walltime: 60},
		job{name: "last", queue: "large2", gpu: 8, walltime: 60})
	w.until(0)
	w.want("first~60", "either=0", "last~60")
}
