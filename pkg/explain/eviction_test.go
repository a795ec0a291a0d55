package explain_test

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/explain"
)

func TestEvictionsInWords(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	notice := batch.Notice{Cause: batch.CausePreempted, By: "team/urgent", Time: noon, Until: noon.Add(2 * time.Minute)}
	for _, test := range []struct {
		name string
		is   batch.Eviction
		want string
	}{
		{
			"noticed, and its pods run on",
			batch.Eviction{Notice: notice},
			"preempted by team/urgent; its pods run on until 2026-01-05T12:02:00Z at the latest, or until all have acknowledged; it waits again, at its old place, when they are gone",
		},
		{
			"told to end with the notice",
			batch.Eviction{Notice: notice, Stopped: noon, Final: batch.Preempted},
			"preempted by team/urgent; its pods were told to end at 2026-01-05T12:00:00Z and have their terminationGracePeriodSeconds for it; it ends as Preempted when they are gone",
		},
		{
			"stopped at the end of its grace",
			batch.Eviction{Notice: notice, Stopped: noon.Add(2 * time.Minute)},
			"preempted by team/urgent; its pods were told to end at 2026-01-05T12:02:00Z and have their terminationGracePeriodSeconds for it; it waits again, at its old place, when they are gone",
		},
	} {
		if got := explain.Eviction(test.is); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}
