package job

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestMembersThatDoNotComeAreTold once, when none has come for a while, and
// again only if some have come in between.
func TestMembersThatDoNotComeAreTold(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	wall := clocktesting.NewFakePassiveClock(began)
	recorder := events.NewFakeRecorder(10)
	r := &Reconciler{Clock: wall, Recorder: recorder}
	sweep := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "sweep"},
		Spec:       batchv1.JobSpec{Completions: new(int32(100)), Parallelism: new(int32(12))},
	}
	for _, step := range []struct {
		second    int
		exist     int32
		succeeded int32
		again     int // seconds; 0: when the Job changes
		told      string
	}{
		{second: 0, exist: 0, again: 15},
		{second: 5, exist: 4, again: 15},
		{second: 19, exist: 4, again: 1},
		{second: 20, exist: 4, told: "8 of the 12 members that may exist at a time are not there"},
		{second: 21, exist: 4},
		{second: 30, exist: 3, succeeded: 1}, // one has ended, and none has come
		{second: 40, exist: 12, succeeded: 1},
		{second: 41, exist: 11, succeeded: 2, again: 15},
		{second: 42, exist: 12, succeeded: 2},
		{second: 60, exist: 8, succeeded: 92}, // the last
		{second: 70, exist: 7, succeeded: 92, again: 15},
		{second: 85, exist: 7, succeeded: 92, told: "1 of the 8 members that may exist"},
	} {
		wall.SetTime(began.Add(time.Duration(step.second) * time.Second))
		sweep.Status.Active, sweep.Status.Succeeded = step.exist, step.succeeded
		if got := r.watchMembers(sweep); got != time.Duration(step.again)*time.Second {
			t.Errorf("second %d: looks again after %s, want %d s", step.second, got, step.again)
		}
		select {
		case got := <-recorder.Events:
			if step.told == "" || !strings.Contains(got, step.told) {
				t.Errorf("second %d: told %q, want %q", step.second, got, step.told)
			}
		default:
			if step.told != "" {
				t.Errorf("second %d: nothing is told, want %q", step.second, step.told)
			}
		}
	}
}
