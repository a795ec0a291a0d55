package core_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

func after(dependencies ...string) func(*batch.Workload) {
	return func(w *batch.Workload) {
		for _, text := range dependencies {
			d, err := batch.ParseDependency(text)
			if err != nil {
				panic(err)
			}
			w.After = append(w.After, d)
		}
	}
}

// endAs lets a running job end now in a state.
func (w *world) endAs(name string, state batch.EndState) {
	j := w.jobs[name]
	j.live, j.ended = false, w.now
	for i, host := range j.hosts {
		w.step(batch.PodObserved{Pod: w.pod(j, i, host, batch.PodFailed)})
	}
	w.step(batch.OwnerObserved{ID: id(name), Owner: batch.Owner{Started: true, End: &batch.End{State: state, Time: w.now}}})
}

// remove deletes a job, running or not.
func (w *world) remove(name string) {
	j := w.jobs[name]
	j.live, j.ended = false, w.now
	w.step(batch.WorkloadGone{ID: id(name)})
	for i, host := range j.hosts {
		w.step(batch.PodGone{UID: w.pod(j, i, host, batch.PodReady).UID})
	}
	delete(w.waits, name)
}

func TestEachKindOfDependency(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "good", gpu: 1, walltime: 60, runs: 10}, job{name: "bad", gpu: 1, walltime: 60, runs: -1})
	w.until(1)
	w.submit(
		job{name: "started", gpu: 1, walltime: 5, edit: after("after:bad")},
		job{name: "ok-good", gpu: 1, walltime: 5, edit: after("afterok:good")},
		job{name: "ok-bad", gpu: 1, walltime: 5, edit: after("afterok:bad")},
		job{name: "notok-good", gpu: 1, walltime: 5, edit: after("afternotok:good")},
		job{name: "notok-bad", gpu: 1, walltime: 5, edit: after("afternotok:bad")},
		job{name: "any-both", gpu: 1, walltime: 5, edit: after("afterany:good", "afterany:bad")})
	w.until(5)
	w.reason("ok-good", batch.ReasonDependency, "waits for good to complete (afterok)", "starts by itself")
	w.reason("any-both", batch.ReasonDependency, "good to end (afterany) and for bad to end (afterany)")
	w.until(20)
	w.want("started=1", "ok-good=10", "notok-bad=-")
	w.reason("notok-good", batch.ReasonDependencyNeverSatisfied, "afternotok:good cannot be met: it has completed", "never starts")
	w.endAs("bad", batch.Failed)
	w.until(30)
	w.want("notok-bad=20", "any-both=20", "ok-bad=-", "notok-good=-")
	w.reason("ok-bad", batch.ReasonDependencyNeverSatisfied, "afterok:bad cannot be met: bad has failed")
}

func TestDependencyOnWhatStartsAtTheSameMomentIsMetAtThatMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "a", gpu: 1, walltime: 60}, job{name: "b", gpu: 1, walltime: 60, priority: 9, edit: after("after:a")},
		job{name: "c", gpu: 1, walltime: 60, priority: 10, edit: after("after:b")})
	w.until(0)
	w.want("a=0", "b=0", "c=0")
}

func TestUnknownNamesAreWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "b", gpu: 8, walltime: 60, priority: 9, edit: after("afterok:a")}, job{name: "other", gpu: 8, walltime: 5})
	w.until(0)
	w.want("other=0")
	w.reason("b", batch.ReasonDependency, "a to complete (afterok), and no workload of that name is known")
	w.submit(job{name: "a", gpu: 8, walltime: 60})
	w.until(70)
	w.want("a=5", "b=65")
}

func TestWhatWasDeletedIsRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 16)
	kinds := func(of string) {
		for _, kind := range []string{"after", "afterok", "afterany", "afternotok"} {
			w.submit(job{name: kind + "-" + of, gpu: 1, walltime: 5, edit: after(kind + ":" + of)})
		}
	}
	w.submit(job{name: "done", gpu: 1, walltime: 5}, job{name: "run", gpu: 1, walltime: 60}, job{name: "wait", gpu: 16, walltime: 5})
	w.until(10)
	for _, name := range []string{"done", "run", "wait"} {
		w.remove(name) // the first was kept until it had ended
		kinds(name)
	}
	w.until(60)
	w.want("after-done=10", "afterok-done=10", "afterany-done=10", "afternotok-done=-")
	w.want("after-run=10", "afterok-run=-", "afterany-run=10", "afternotok-run=10")
	w.want("after-wait=10", "afterok-wait=-", "afterany-wait=10", "afternotok-wait=10") // as in Slurm
	w.reason("afternotok-done", batch.ReasonDependencyNeverSatisfied)
	w.reason("afterok-run", batch.ReasonDependencyNeverSatisfied, "run was deleted before it had completed")
	w.reason("afterok-wait", batch.ReasonDependencyNeverSatisfied)
}

func TestCirclesAreToldAndHoldUpNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	named := func(name string, edit func(*batch.Workload)) func(*batch.Workload) {
		return func(w *batch.Workload) { w.JobName = name; edit(w) }
	}
	w.submit(
		job{name: "self", gpu: 8, walltime: 5, priority: 9, edit: after("afterany:self")},
		job{name: "a", gpu: 8, walltime: 5, priority: 9, edit: after("afterok:b")},
		job{name: "b", gpu: 8, walltime: 5, priority: 9, edit: after("after:c", "afterany:other")},
		job{name: "c", gpu: 8, walltime: 5, priority: 9, edit: after("afternotok:a")},
		job{name: "d", gpu: 8, walltime: 5, priority: 9, edit: after("after:c")},
		job{name: "s1", gpu: 8, walltime: 5, edit: named("s", after("after:s2"))},
		job{name: "s2", gpu: 8, walltime: 5, edit: named("s", after("singleton"))},
		job{name: "other", gpu: 8, walltime: 5})
	w.until(0)
	w.want("other=0")
	w.reason("self", batch.ReasonDependencyNeverSatisfied, "it waits for itself: self waits for self", "never starts")
	w.reason("a", batch.ReasonDependencyNeverSatisfied, "a waits for b waits for c waits for a")
	w.reason("b", batch.ReasonDependencyNeverSatisfied, "b waits for c waits for a waits for b")
	w.reason("d", batch.ReasonDependency)
	w.reason("s1", batch.ReasonDependencyNeverSatisfied, "s1 waits for s2 waits for s1")
	// An edit breaks the circle.
	fixed := w.jobs["c"]
	fixed.edit = nil
	w.step(batch.WorkloadObserved{Workload: w.workload(fixed)})
	w.until(60)
	w.want("c=5", "b=10", "a=15", "d=20")
}

func TestSingletonWaitsForTheOlderOnesOfItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	single := func(user, name string) func(*batch.Workload) {
		return func(w *batch.Workload) {
			w.Submitter, w.JobName = user, name
			w.After = []batch.Dependency{{Kind: batch.Singleton}}
		}
	}
	w.submit(
		job{name: "a1", gpu: 1, walltime: 10, edit: single("ann", "train")},
		job{name: "a2", gpu: 1, walltime: 10, priority: 5, edit: single("ann", "train")},
		job{name: "a3", gpu: 1, walltime: 10, priority: 9, edit: single("ann", "train")},
		job{name: "b1", gpu: 1, walltime: 10, edit: single("bob", "train")},
		job{name: "c1", gpu: 1, walltime: 10, edit: single("ann", "other")})
	w.until(0)
	w.want("a1=0", "b1=0", "c1=0", "a2=-")
	w.reason("a3", batch.ReasonDependency, "a1 to end, which is older and has the same job name")
	w.until(30)
	w.want("a2=10", "a3=20")
}

func (w *world) array(name string, count, limit int, gpu int, edit func(*batch.Workload)) {
	for i := range count {
		w.submit(job{name: fmt.Sprintf("%s-%d", name, i), gpu: gpu, walltime: 60, queued: w.now, edit: func(w *batch.Workload) {
			w.Array = &batch.ArrayMember{Name: name, Index: i, Count: count, Limit: limit}
			if edit != nil {
				edit(w)
			}
		}})
	}
}

func TestArrayRunsSoManyAtOnceInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(5, 8)
	w.array("sweep", 12, 2, 8, nil)
	w.submit(job{name: "after", gpu: 8, walltime: 10, edit: after("afterok:sweep")})
	w.until(1)
	w.submit(job{name: "other", pods: 2, gpu: 8, walltime: 180})
	w.until(1)
	w.want("sweep-0=0", "sweep-1=0", "other=1", "sweep-2=-")
	w.reason("sweep-2", batch.ReasonArrayLimit, "at most 2 members of array sweep may run at a time", "starts by itself")
	w.reason("sweep-11", batch.ReasonArrayLimit)
	w.until(600)
	w.want("sweep-2=60", "sweep-3=60", "sweep-10=300", "sweep-11=300", "after=360")
}

func TestArrayMemberThatIsTakenBackKeepsItsSlotUntilItsPodsAreGone(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.array("sweep", 3, 1, 1, nil)
	if got := h.at(0); got != "start sweep-0 wait sweep-1 ArrayLimit 00:00:00 [] wait sweep-2 ArrayLimit 00:00:00 []" {
		t.Error(got)
	}
	h.owner("sweep-0", batch.Owner{Started: true})
	uid := h.bound("sweep-0", 0, batch.PodReady, nil)
	h.expect(1, "ready sweep-0 true")
	h.owner("sweep-0", batch.Owner{Started: true, Suspended: true})
	h.expect(2, "evict sweep-0 (Suspended)")
	h.step(batch.PodGone{UID: uid})
	if diff := cmp.Diff("requeue sweep-0 start sweep-0", h.at(3)); diff != "" {
		t.Error(diff)
	}
}

func TestFailedMemberMakesTheWholeArrayFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.array("sweep", 3, 0, 1, nil)
	w.submit(job{name: "ok", gpu: 1, walltime: 10, edit: after("afterok:sweep")},
		job{name: "notok", gpu: 1, walltime: 10, edit: after("afternotok:sweep")},
		job{name: "one", gpu: 1, walltime: 10, edit: after("afternotok:sweep-1")})
	w.until(5)
	w.endAs("sweep-1", batch.Failed)
	w.until(100)
	w.reason("ok", batch.ReasonDependencyNeverSatisfied, "afterok:sweep cannot be met: its member 1 has failed")
	w.want("ok=-", "one=5", "notok=60")
}

// TestWhatComesAfterWaitsForTheLastPod: what was deleted has ended by its
// record, but its pods may still be writing their last checkpoint.
func TestWhatComesAfterWaitsForTheLastPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "first", gpu: 1, walltime: 60, runs: -1})
	w.until(1)
	w.submit(job{name: "next", gpu: 1, walltime: 5, edit: after("afterany:first")})
	w.until(2)
	j := w.jobs["first"]
	j.live, j.ended = false, w.now
	w.step(batch.WorkloadGone{ID: id("first")})
	w.until(3)
	w.reason("next", batch.ReasonDependency, "first to end (afterany), whose pods are still ending")
	for i, host := range j.hosts {
		w.step(batch.PodGone{UID: w.pod(j, i, host, batch.PodReady).UID})
	}
	delete(w.waits, "first")
	w.until(4)
	if w.jobs["next"].hosts == nil {
		t.Error("next has not started, though the last pod of first is gone")
	}
}

// TestSingletonWaitsForThePodsOfWhatWasDeleted: the older one of its name has
// no record any more, and its pods still write to the same place. After a
// restart that is known of those that are named.
func TestSingletonWaitsForThePodsOfWhatWasDeleted(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"deleted", "failed"} {
		w := newWorld(t)
		w.nodes(1, 8)
		single := func(w *batch.Workload) {
			w.Submitter, w.JobName, w.After = "ann", "train", []batch.Dependency{{Kind: batch.Singleton}}
		}
		w.submit(job{name: "first", gpu: 1, walltime: 60, runs: -1, edit: single})
		w.until(1)
		w.submit(job{name: "next", gpu: 1, walltime: 5, edit: single}, job{name: "other", gpu: 1, walltime: 5, edit: after("singleton")})
		w.until(2)
		w.reason("next", batch.ReasonDependency, "waits for first to end, which is older and has the same job name")
		j := w.jobs["first"]
		j.live, j.ended = false, w.now
		if how == "deleted" {
			w.step(batch.WorkloadGone{ID: id("first")})
			delete(w.waits, "first")
		} else {
			w.step(batch.OwnerObserved{ID: id("first"), Owner: batch.Owner{
				Started: true, End: &batch.End{State: batch.Failed, Time: w.now},
			}})
		}
		w.until(3)
		w.want("next=-", "other=1")
		w.reason("next", batch.ReasonDependency, "same job name, whose pods are still ending")
		if v := w.core.Snapshot().Ending; len(v) != 1 {
			t.Errorf("%s: %d are ending, want first", how, len(v))
		}
		for i, host := range j.hosts {
			w.step(batch.PodGone{UID: w.pod(j, i, host, batch.PodReady).UID})
		}
		w.until(4)
		w.want("next=3")
		if v := w.core.Snapshot().Ending; len(v) != 0 {
			t.Errorf("%s: %d are ending, and no pod is left", how, len(v))
		}
	}
}

// TestPodsOfWhatWasDeletedAreWaitedForAfterARestart by those that have it on
// record.
func TestPodsOfWhatWasDeletedAreWaitedForAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "first", gpu: 1, walltime: 60, runs: -1})
	w.until(1)
	w.submit(job{name: "next", gpu: 1, walltime: 5, edit: after("afterany:first")})
	w.until(2)
	j := w.jobs["first"]
	j.live, j.ended = false, w.now
	w.step(batch.WorkloadGone{ID: id("first")})
	delete(w.waits, "first")
	w.until(3)
	w.restart(w.events)
	w.until(4)
	w.want("next=-")
	for i, host := range j.hosts {
		w.step(batch.PodGone{UID: w.pod(j, i, host, batch.PodReady).UID})
	}
	w.until(5)
	w.want("next=4")
}

// TestArrayThatIsReleasedHasNotEnded: its members take its place, and those
// that depend on it wait for them. One that is deleted while it is held has.
func TestArrayThatIsReleasedHasNotEnded(t *testing.T) {
	t.Parallel()
	for _, released := range []bool{true, false} {
		w := newWorld(t)
		w.nodes(1, 8)
		w.submit(job{name: "sweep", gpu: 1, walltime: 60, edit: func(w *batch.Workload) {
			w.Held, w.Array = true, &batch.ArrayMember{Name: "sweep", Index: batch.WholeArray, Count: 3}
		}}, job{name: "next", gpu: 1, walltime: 5, edit: after("afterok:sweep")})
		w.until(1)
		w.reason("sweep", batch.ReasonHeld, "held by its author; none of its 3 members is made before")
		w.reason("next", batch.ReasonDependency, "waits for sweep to complete (afterok)")
		w.step(batch.WorkloadGone{ID: id("sweep"), Released: released})
		delete(w.waits, "sweep")
		delete(w.jobs, "sweep")
		w.until(2)
		if !released {
			w.reason("next", batch.ReasonDependencyNeverSatisfied, "sweep was deleted before it had completed")
			continue
		}
		w.reason("next", batch.ReasonDependency, "no workload of that name is known")
		w.array("sweep", 3, 0, 1, nil)
		w.until(70)
		w.want("sweep-2=2", "next=62")
	}
}

// A start lets in an earlier member of an array, and another that was planned
// takes part no more: its place is left to others in the same plan.
func TestArrayMemberThatIsPutBackLeavesItsPlaceToOthersInTheSamePlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.node("n2", 8, func(n *batch.Node) { n.Ready = false })
	w.submit(job{name: "r", gpu: 8, walltime: 60})
	w.until(0)
	member := func(index int, edit func(*batch.Workload)) func(*batch.Workload) {
		return func(w *batch.Workload) {
			edit(w)
			w.Array = &batch.ArrayMember{Name: "sweep", Index: index, Count: 2, Limit: 1}
		}
	}
	w.submit(
		job{name: "sweep-0", gpu: 8, walltime: 60, edit: member(0, func(w *batch.Workload) { after("after:opens")(w); on("n2")(w) })},
		job{name: "sweep-1", gpu: 8, walltime: 60, edit: member(1, func(*batch.Workload) {})},
		job{name: "last", gpu: 8, walltime: 60})
	w.until(0)
	w.want("sweep-1~60", "last~120")
	w.submit(job{name: "opens", walltime: 60})
	w.until(0)
	w.want("opens=0", "last~60")
	w.reason("sweep-1", batch.ReasonArrayLimit)
}

// Who takes part since a start of this very plan may be the first for whom like
// nodes are taken together: what was held on single nodes is of no use then.
func TestRoundsAfterAStartCountNodesAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(3, 8)
	w.submit(job{name: "all", gpu: 8, walltime: 60, edit: on("n1")}, job{name: "most", gpu: 6, walltime: 60, edit: on("n2")})
	w.until(0)
	w.submit(job{name: "grows", pods: 3, gpu: 2, walltime: 60, edit: least(1)},
		job{name: "big", gpu: 8, walltime: 10, edit: on("n1")},
		job{name: "next", gpu: 8, walltime: 10, edit: func(w *batch.Workload) { after("after:grows")(w); on("n1")(w) }})
	w.until(0)
	w.want("grows=0", "big~60", "next~70")
	w.until(70)
	w.want("big=60", "next=70")
}
