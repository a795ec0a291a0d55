package live

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

func TestAPodRemovedByForceHoldsItsPlaceUntilItsNodeHasKilledIt(t *testing.T) {
	t.Parallel()
	deleted := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := func(phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"},
			Spec:       corev1.PodSpec{NodeName: "n"},
			Status:     corev1.PodStatus{Phase: phase, StartTime: new(metav1.NewTime(deleted.Add(-time.Hour)))},
		}
	}
	deleting := func(pod *corev1.Pod, grace int64) *corev1.Pod {
		pod.DeletionTimestamp = new(metav1.NewTime(deleted.Add(time.Duration(grace) * time.Second)))
		pod.DeletionGracePeriodSeconds = &grace
		return pod
	}
	cases := []struct {
		name string
		seen *corev1.Pod   // while it was there
		last *corev1.Pod   // as it went
		gone time.Duration // after its deletion
		want time.Duration // after its deletion; 0: its place is free
	}{
		{"its end was reported", deleting(pod(corev1.PodRunning), 30), deleting(pod(corev1.PodFailed), 30), 10 * time.Second, 0},
		{"by force in its grace", deleting(pod(corev1.PodRunning), 30), deleting(pod(corev1.PodRunning), 0), 10 * time.Second, 33 * time.Second},
		{"by force as its grace ends", deleting(pod(corev1.PodRunning), 30), deleting(pod(corev1.PodRunning), 0), 31 * time.Second, 33 * time.Second},
		{"by force long after", deleting(pod(corev1.PodRunning), 30), deleting(pod(corev1.PodRunning), 0), time.Minute, 65 * time.Second},
		{"by force from the start", pod(corev1.PodRunning), pod(corev1.PodRunning), 0, 5 * time.Second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var heard []batch.Event
			clock := clocktesting.NewFakePassiveClock(deleted)
			intake := &Intake{clock: clock, observe: func(e batch.Event) { heard = append(heard, e) }, deadlines: map[batch.PodUID]deadline{}}
			intake.pod(c.seen)
			clock.SetTime(deleted.Add(c.gone))
			intake.podGone(c.last)
			want := batch.PodGone{UID: "p"}
			if c.want > 0 {
				want.By = deleted.Add(c.want)
			}
			if diff := cmp.Diff(want, heard[len(heard)-1]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestWhoWasNotThereLearnsOfPodsThatWereRemovedByForce from the status of their
// queue: after a restart, and whoever asks what would be planned.
func TestWhoWasNotThereLearnsOfPodsThatWereRemovedByForce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	queue := &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	queue.Status.Lingering = []v1alpha1.LingeringPod{
		{Name: "lab/a-0", UID: "u", Node: "n1", Workload: "lab/job-a-1", Until: metav1.NewTime(now.Add(time.Minute))},
		{Name: "lab/a-1", UID: "v", Node: "n1", Workload: "lab/job-a-1", Until: metav1.NewTime(now)},
	}
	var gone []batch.Event
	intake := NewIntake(nil, clocktesting.NewFakePassiveClock(now), func(e batch.Event) {
		if _, is := e.(batch.PodGone); is {
			gone = append(gone, e)
		}
	})
	intake.queue(t.Context())(queue)
	if diff := cmp.Diff([]batch.Event{batch.PodGone{UID: "u", By: now.Add(time.Minute)}}, gone); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
