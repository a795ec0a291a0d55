package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/config"
)

// TestB25EditOfARunningJob: the walltime of a running Job is edited. Its deadline
// and its limit follow within seconds, who waits behind it is told, and a limit
// that lies behind it ends it.
func TestB25EditOfARunningJob(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	running := team.submit(job("running", gpus(8), walltime("10m")))
	began := running.mustRun().Status.Allocation.StartTime
	waiting := team.submit(job("waiting", gpus(8), walltime("10m")))
	waiting.mustWait("Resources")

	edit := func(text string) {
		running.change(func(j *batchv1.Job) { j.Annotations[v1alpha1.WalltimeAnnotation] = text })
	}
	edit("20m")
	running.mustBeLimitedTo(20 * time.Minute)
	eventually(t, soon, "who waits is told", func() (string, bool) {
		qw := waiting.record()
		return describe(qw), qw.Status.PlannedStartTime != nil && qw.Status.PlannedStartTime.Sub(began.Time) == 20*time.Minute &&
			strings.Contains(describe(qw), "moved later by: edit of "+team.name+"/running")
	})
	edit("1s")
	running.mustBe("Timeout", patience)
	waiting.mustRun()
}

// mustBeLimitedTo waits until a run has a deadline so long after its start, and
// its Job a limit that ends it then.
func (w *work) mustBeLimitedTo(length time.Duration) {
	w.t.Helper()
	eventually(w.t, patience, fmt.Sprintf("the deadline and the limit of %s are those of %s", w.what(), length), func() (string, bool) {
		held, limit := w.record().Status.Allocation, time.Duration(*w.now().Spec.ActiveDeadlineSeconds)*time.Second
		return fmt.Sprint(held.Deadline, limit), held.Deadline != nil && held.Deadline.Sub(held.StartTime.Time) == length && limit > length-2*time.Minute && limit <= length
	})
}

// edits are how far an edit of the walltime of a run has come when the controller
// dies: what it has written by then.
var edits = []struct {
	name  string
	wrote func(t *team, berth client.Client, qw *v1alpha1.QueuedWorkload, walltime v1alpha1.WorkloadWalltime)
}{
	{"made", func(*team, client.Client, *v1alpha1.QueuedWorkload, v1alpha1.WorkloadWalltime) {}},
	{"noted", note},
	{"answered", func(t *team, berth client.Client, qw *v1alpha1.QueuedWorkload, walltime v1alpha1.WorkloadWalltime) {
		note(t, berth, qw, walltime)
		held := qw.Status.Allocation
		long, err := time.ParseDuration(string(walltime))
		if err != nil {
			t.t.Fatal(err)
		}
		held.Walltime, held.Deadline = &walltime, new(metav1.NewTime(held.StartTime.Add(long)))
		if err := berth.Status().Update(t.t.Context(), qw); err != nil {
			t.t.Fatal(err)
		}
	}},
}

// note writes another walltime into the spec of a workload.
func note(t *team, berth client.Client, qw *v1alpha1.QueuedWorkload, walltime v1alpha1.WorkloadWalltime) {
	qw.Spec.Walltime = walltime
	if err := berth.Update(t.t.Context(), qw); err != nil {
		t.t.Fatal(err)
	}
}

// TestB25KilledAtEachStepOfAnEdit: wherever it dies, its successor finishes what
// was begun.
func TestB25KilledAtEachStepOfAnEdit(t *testing.T) {
	team := newTeam(t, nodes(1, 8))
	berth := team.as("system:serviceaccount:" + config.Namespace + ":" + config.ControllerServiceAccount)
	for _, edit := range edits {
		running := team.submit(job("edit-is-"+edit.name, gpus(8), walltime("10m")))
		running.mustRun()
		running.mustBeLimitedTo(10 * time.Minute)
		const longer = "20m"
		team.whileTheControllerIsDown(func() {
			running.change(func(j *batchv1.Job) { j.Annotations[v1alpha1.WalltimeAnnotation] = longer })
			edit.wrote(team, berth, running.record(), longer)
		})
		running.mustBeLimitedTo(20 * time.Minute)
		running.finish()
		running.mustEnd("Completed")
	}
}
