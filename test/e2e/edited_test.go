package e2e

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestEditOfWhatWaitsWhileTheControllerIsDown: what an answer rests on stands beside it,
// so an edit that nobody saw is known for one, and what was promised to others holds as
// far as it would have if somebody had.
func TestEditOfWhatWaitsWhileTheControllerIsDown(t *testing.T) {
	team := newTeam(t, nodes(1, 8))
	blocker := team.submit(job("blocker", gpus(8), walltime("1h")))
	blocker.mustRun()
	edited := team.submit(job("edited", gpus(8), walltime("10m")))
	edited.mustWait("Resources", "starts at")
	other := team.submit(job("other", gpus(8), walltime("10m")))
	was := map[*work]*v1alpha1.QueuedWorkload{edited: edited.record(), other: other.mustWait("Resources", "starts at")}
	for w, qw := range was {
		if qw.Status.Basis == "" {
			t.Errorf("nothing says what the answer to %s rests on:\n%s", w.what(), describe(qw))
		}
	}
	team.whileTheControllerIsDown(func() {
		edited.change(func(j *batchv1.Job) { j.Annotations[v1alpha1.WalltimeAnnotation] = "40m" })
	})
	eventually(t, patience, "edited is answered anew", func() (string, bool) {
		is := edited.record().Status
		return describe(edited.record()), is.Basis != "" && is.Basis != was[edited].Status.Basis && is.PlannedStartTime.Equal(was[edited].Status.PlannedStartTime)
	})
	eventually(t, patience, "other is moved by it", func() (string, bool) {
		is := other.record().Status
		want := was[other].Status.PlannedStartTime.Add(30 * time.Minute)
		return describe(other.record()), is.Basis == was[other].Status.Basis && is.PlannedStartTime.Time.Equal(want)
	})
	other.mustWait("Resources", "moved later by: edit of higher-ranked "+team.name+"/edited")
}
