//go:build linux

package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/test/kubelet/evidence"
)

// slowness is how many times as long as a kubelet by itself something may take
// on a machine that has too much to do.
const slowness = 5

// probes is how often it is looked how slow a kubelet is by itself.
const probes = 3

// mustBeSoon says that something did not take longer than it may. On a machine
// that is busy with other things a kubelet is slow by itself, so before it
// complains it looks how slow.
func (t *team) mustBeSoon(what string, took, limit time.Duration) {
	t.t.Helper()
	if took <= limit {
		return
	}
	var pace time.Duration
	for range probes { // one may be lucky
		pace = max(pace, t.pace())
	}
	if took > slowness*pace {
		t.t.Errorf("%s: after %s, want %s at most (a kubelet by itself takes %s now)", what, took.Round(time.Millisecond), limit, pace.Round(time.Millisecond))
		return
	}
	t.t.Logf("%s: after %s, more than %s, but a kubelet by itself takes %s now", what, took.Round(time.Millisecond), limit, pace.Round(time.Millisecond))
}

// pace is how long it takes now, without Berth, from the deletion of a pod to
// its SIGTERM.
func (t *team) pace() time.Duration {
	t.t.Helper()
	job := t.job(fmt.Sprint("pace-", teams.Add(1)), t.asks(0))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: job.Name}, Spec: job.Spec.Template.Spec}
	pod.Spec.NodeName = t.nodes[0].Name
	t.create(pod)
	t.mustHappen(podLife{Pod: *pod}, patience, evidence.Started, "")
	begin := time.Now()
	t.remove(pod)
	return t.mustHappen(podLife{Pod: *pod}, patience, evidence.Signal, terminated).At.Sub(begin)
}
