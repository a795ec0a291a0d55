package e2e

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestDependencyOnWhatIsNoLongerThere: a Job that has completed is removed by
// its time to live, another is deleted while it runs, and the controller dies.
// Those that depend on them know what came of them.
func TestDependencyOnWhatIsNoLongerThere(t *testing.T) {
	team := newTeam(t, nodes(1, 8))
	blocker := team.submit(job("blocker", gpus(6), walltime("1h")))
	blocker.mustRun()
	short := func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(5)) }
	good := team.submit(job("good", gpus(1), walltime("10m"), runsFor(time.Second), short))
	gone := team.submit(job("gone", gpus(1), walltime("10m")))
	gone.mustRun()
	next := team.submit(job("next", gpus(8), walltime("10m"), annotated(v1alpha1.AfterAnnotation, "afterok:good,afterany:gone")))
	never := team.submit(job("never", gpus(1), walltime("10m"), annotated(v1alpha1.AfterAnnotation, "afterok:gone")))

	gone.mustBeDeleted()
	never.mustWait("DependencyNeverSatisfied", "gone was deleted before it had completed")
	next.mustWait("Resources")
	for _, w := range []*work{good, gone} {
		eventually(t, patience, "the workload of "+w.what()+" is gone", func() (string, bool) { return "", w.record() == nil })
	}
	states := map[string]string{}
	for _, d := range next.record().Status.Dependencies {
		states[d.Name] = d.State
	}
	if states["good"] != "Completed" || states["gone"] != "Cancelled" {
		t.Errorf("on record with next: %v", states)
	}
	team.controllerDies()
	team.controllerStarts()
	team.controllerDecides()
	if text := fmt.Sprint(describe(next.record())); !containsAll(text, []string{"Pending=True Resources"}) {
		t.Errorf("after a restart next waits for something else:\n%s", text)
	}
	never.mustWait("DependencyNeverSatisfied", "gone was deleted before it had completed")
	blocker.mustBeDeleted()
	next.mustRun()
}
