package framework_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/framework"
)

// TestADeletedPodHasEndedWhenThatWasAskedFor, and not at the end of its grace:
// an end in the future is none.
func TestADeletedPodHasEndedWhenThatWasAskedFor(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	gone := metav1.NewTime(asked.Add(2 * time.Minute))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "single", DeletionTimestamp: &gone, DeletionGracePeriodSeconds: new(int64(120))},
		Spec:       corev1.PodSpec{NodeName: "n1"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	end := framework.Pod{}.Owner(pod).End
	if end == nil || end.State != batch.Cancelled || !end.Time.Equal(asked) {
		t.Errorf("it has ended as %+v, and was deleted at %v", end, asked)
	}
}
