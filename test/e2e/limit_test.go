package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
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
	eventually(t, soon, "the deadline and the Job's limit follow", func() (string, bool) {
		j := &batchv1.Job{}
		if err := team.client.Get(t.Context(), client.ObjectKeyFromObject(running.object), j); err != nil {
			return err.Error(), false
		}
		held, limit := running.record().Status.Allocation, *j.Spec.ActiveDeadlineSeconds
		return fmt.Sprint(held.Deadline, limit), held.Deadline != nil && held.Deadline.Sub(began.Time) == 20*time.Minute && limit > 1100 && limit <= 1200
	})
	eventually(t, soon, "who waits is told", func() (string, bool) {
		qw := waiting.record()
		return describe(qw), qw.Status.PlannedStartTime != nil && qw.Status.PlannedStartTime.Sub(began.Time) == 20*time.Minute &&
			strings.Contains(describe(qw), "moved later by: edit of "+team.name+"/running")
	})
	edit("1s")
	running.mustBe("Timeout", patience)
	waiting.mustRun()
}
