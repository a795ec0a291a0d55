package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

// outcomes are what is on record with a job of what it depends on.
func (w *world) outcomes(name string) []batch.Outcome {
	w.t.Helper()
	workload, ok := w.core.Workload(id(name))
	if !ok {
		w.t.Fatalf("%s is not known", name)
	}
	return workload.Outcomes
}

// TestWhatWasDeletedIsRememberedOverARestart: each kind of dependency on work
// that has ended and was deleted counts after a restart as before, also while
// the dependent waits for something else.
func TestWhatWasDeletedIsRememberedOverARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "good", gpu: 1, walltime: 5}, job{name: "bad", gpu: 1, walltime: 60, runs: -1},
		job{name: "away", gpu: 1, walltime: 60, runs: -1}, job{name: "full", gpu: 5, walltime: 40})
	w.until(1)
	for _, of := range []string{"good", "bad", "away"} {
		for _, kind := range []string{"after", "afterok", "afterany", "afternotok"} {
			w.submit(job{name: kind + "-" + of, gpu: 8, walltime: 1, edit: after(kind + ":" + of)})
		}
	}
	w.until(10)
	w.endAs("bad", batch.Failed)
	w.until(20)
	for _, name := range []string{"good", "bad", "away"} {
		w.remove(name)
	}
	w.until(21)
	want := []batch.Outcome{{Name: "away", ID: id("away"), State: batch.Cancelled}}
	if diff := cmp.Diff(want, w.outcomes("afterok-away")); diff != "" {
		t.Errorf("what is on record with afterok-away (-want +got):\n%s", diff)
	}
	before := w.core.Plan(w.now)
	w.restart(w.events)
	w.settle()
	if !before.Empty() {
		t.Errorf("before the restart something was left to do: %s", brief(before))
	}
	w.reason("afternotok-good", batch.ReasonDependencyNeverSatisfied, "afternotok:good cannot be met: it has completed")
	w.reason("afterok-bad", batch.ReasonDependencyNeverSatisfied, "bad has failed")
	w.reason("afterok-away", batch.ReasonDependencyNeverSatisfied, "away was deleted before it had completed")
	w.until(100)
	for _, name := range []string{
		"after-good", "afterok-good", "afterany-good", "after-bad", "afterany-bad", "afternotok-bad",
		"after-away", "afterany-away", "afternotok-away",
	} {
		if got := w.started(name); got < 40 {
			t.Errorf("%s started at %d, want it after full has ended, at 40", name, got)
		}
	}
	w.want("afternotok-good=-", "afterok-bad=-", "afterok-away=-")
}

// TestOnlyThatItHasStartedIsRememberedOfWhatRuns: that lets go whoever waited
// for the start, and says nothing about the end.
func TestOnlyThatItHasStartedIsRememberedOfWhatRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "a", gpu: 1, walltime: 60, runs: -1}, job{name: "full", gpu: 7, walltime: 40, runs: 40})
	w.until(1)
	w.submit(job{name: "started", gpu: 7, walltime: 5, edit: after("after:a")},
		job{name: "ended", gpu: 7, walltime: 5, edit: after("afterany:a")},
		job{name: "both", gpu: 7, walltime: 5, edit: after("afterok:a", "after:a")})
	w.until(10)
	if got := w.outcomes("ended"); got != nil {
		t.Errorf("of what runs %v is on record with one that waits for its end", got)
	}
	w.remove("a") // while the controller is down: the new one has never seen it
	w.restart(w.events)
	w.until(50)
	w.want("started=40", "ended=-", "both=-")
	w.reason("ended", batch.ReasonDependency, "no workload of that name is known")
	w.reason("both", batch.ReasonDependency, "a to complete (afterok), and no workload of that name is known")
}

// TestNewWorkOfTheNameCountsAndNotWhatIsRemembered.
func TestNewWorkOfTheNameCountsAndNotWhatIsRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "a", gpu: 1, walltime: 5}, job{name: "full", gpu: 7, walltime: 60})
	w.submit(job{name: "b", gpu: 8, walltime: 5, edit: after("afterok:a")})
	w.until(10)
	w.remove("a")
	w.restart(w.events)
	w.settle()
	w.submit(job{name: "a", gpu: 8, walltime: 50})
	w.until(20)
	w.reason("b", batch.ReasonDependency, "a to complete (afterok)")
	if got := w.outcomes("b"); got != nil {
		t.Errorf("%v is on record of the older a", got)
	}
	w.until(130)
	w.want("a=60", "b=110")
}

// TestOutcomeOfAnArray is one for all its members, and goes with the wish.
func TestOutcomeOfAnArray(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.array("sweep", 3, 0, 1, nil)
	w.submit(job{name: "full", gpu: 5, walltime: 200},
		job{name: "ok", gpu: 8, walltime: 10, edit: after("afterok:sweep")},
		job{name: "notok", gpu: 8, walltime: 10, edit: after("afternotok:sweep")})
	w.until(5)
	w.endAs("sweep-1", batch.Failed)
	w.until(10)
	if got := w.outcomes("notok"); got != nil {
		t.Errorf("%v is on record while members run", got)
	}
	w.until(70)
	want := []batch.Outcome{{Name: "sweep", State: batch.Failed, Member: new(1)}}
	if diff := cmp.Diff(want, w.outcomes("notok")); diff != "" {
		t.Errorf("on record (-want +got):\n%s", diff)
	}
	for i := range 3 {
		w.remove([]string{"sweep-0", "sweep-1", "sweep-2"}[i])
	}
	w.restart(w.events)
	w.settle()
	w.reason("ok", batch.ReasonDependencyNeverSatisfied, "afterok:sweep cannot be met: its member 1 has failed")
	w.until(210)
	w.want("notok=200", "ok=-")

	free := w.jobs["ok"]
	free.edit = nil
	w.step(batch.WorkloadObserved{Workload: w.workload(free)})
	w.until(220)
	w.want("ok=210")
	if got := w.outcomes("ok"); got != nil {
		t.Errorf("%v is on record with one that depends on nothing", got)
	}
}
