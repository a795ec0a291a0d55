package e2e

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// condition says whether a condition of the Job is true.
func (w *work) condition(kind batchv1.JobConditionType) bool {
	w.t.Helper()
	for _, c := range w.now().Status.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// TestAnEndThatIsDecidedOfASuspendedJob: its last pod was evicted, and ends after
// Berth has suspended the Job. The Job ends all the same, as its pod did, whatever
// happens meanwhile, and no other pod is made. Without help it can't: the API
// server refuses the end of a Job that is suspended.
func TestAnEndThatIsDecidedOfASuspendedJob(t *testing.T) {
	team := newTeam(t, nodes(1, 8))
	waits := func(j *batchv1.Job) { j.Spec.PodReplacementPolicy = new(batchv1.Failed) }
	none := func(*work) {}
	unattended := func(w *work) {
		team.whileTheControllerIsDown(func() {
			decided := func() bool {
				return w.condition(batchv1.JobSuccessCriteriaMet) || w.condition(batchv1.JobFailureTarget)
			}
			eventually(t, patience, "the end of "+w.what()+" is decided", func() (string, bool) { return fmt.Sprintf("%+v", w.now().Status), decided() })
			nextSecond(t)
			if w.condition(batchv1.JobComplete) || w.condition(batchv1.JobFailed) {
				t.Errorf("%s has ended without help", w.what())
			}
		})
	}
	cancelled := func(w *work) {
		w.change(func(j *batchv1.Job) { j.Annotations[v1alpha1.CancelAnnotation] = "0" })
	}
	for _, c := range []struct {
		name      string
		code      int
		counts    trait
		meanwhile func(*work)
		state     string
		end       batchv1.JobConditionType
	}{
		{"done", 0, ignoring, none, "Completed", batchv1.JobComplete},
		{"done-unattended", 0, ignoring, unattended, "Completed", batchv1.JobComplete},
		{"failed", 3, waits, none, "Failed", batchv1.JobFailed},
		{"failed-unattended", 3, waits, unattended, "Failed", batchv1.JobFailed},
		{"cancelled", 0, ignoring, cancelled, "Cancelled", batchv1.JobComplete},
	} {
		w := team.submit(job(c.name, gpus(8), walltime("1h"), stopsIn(5*time.Second, 30*time.Second), exits(c.code), c.counts))
		w.mustRun()
		team.cordon(0, true)
		team.evict(w.pod(0).Name)
		eventually(t, patience, w.what()+" is suspended", func() (string, bool) { return fmt.Sprintf("%+v", w.now().Status), w.condition(batchv1.JobSuspended) })
		c.meanwhile(w)
		w.mustEnd(c.state)
		eventually(t, patience, w.what()+" is "+string(c.end), func() (string, bool) { return fmt.Sprintf("%+v", w.now().Status), w.condition(c.end) })
		if n := len(w.pods()); n != 1 {
			t.Errorf("%s has had %d pods, want one", w.what(), n)
		}
		team.cordon(0, false)
	}
}

// evict evicts a pod, as kubectl drain does.
func (t *team) evict(name string) {
	t.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name}}
	if err := t.client.SubResource("eviction").Create(t.t.Context(), pod, &policyv1.Eviction{}); err != nil {
		t.t.Fatalf("evict %s: %v", name, err)
	}
}
