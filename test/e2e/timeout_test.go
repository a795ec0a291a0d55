package e2e

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestStartTimeout: what Berth has started and somebody else keeps from its
// nodes does not hold them for ever. The timeout is one of the whole cluster,
// so no other test may run beside this one.
func TestStartTimeout(t *testing.T) {
	team := newTeam(t, nodes(3, 8))
	gate := []corev1.PodSchedulingGate{{Name: "example.com/licence"}}
	pod := queuedPod("bare", 1, 0)
	pod.Spec.SchedulingGates = gate
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: team.nodes[2]}
	bare := team.submitPod(pod)
	gated := team.submit(job("gated", gpus(1), walltime("10m"), on(team.nodes[2]), with(func(s *corev1.PodSpec) { s.SchedulingGates = gate })))
	gang := team.submit(job("gang", pods(2), gpus(8), walltime("1h"), onAny(team.nodes[:2]),
		func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(3)) }))
	gang.mustRun()
	team.inspector.expectLosses(team.name, 30*time.Second)

	// Not before all have been started, however slow the machine is.
	for _, w := range []*work{bare, gated} {
		w.mustBe("Starting", patience)
	}
	policy := &v1alpha1.SchedulingPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SchedulingPolicyName},
		Spec:       v1alpha1.SchedulingPolicySpec{StartTimeout: "6s"},
	}
	team.create(policy)
	defer team.remove(policy)

	// The place of index 1 takes nothing new, and its pod is lost.
	lost := gang.pod(1)
	place := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: lost.Node}}
	team.edit(place, func() { place.Spec.Unschedulable = true })
	team.remove(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: lost.Name}})

	mustBeTakenBack(gated, "waiting for the gate example.com/licence")
	gated.mustNotBeBound()
	gated.mustBeDeleted() // or it is tried again
	mustBeTakenBack(gang, "a pod that was lost could not be replaced", "kube-scheduler")
	gang.podsGone(soon)
	if got := state(bare.record()); got != "Starting" {
		t.Errorf("the bare Pod is %s; it can't be started again, so it must be waited for", got)
	}
	team.edit(pod, func() { pod.Spec.SchedulingGates = nil })
	bare.mustRun()
	team.mustUse(team.name, gpu, "1")
}

// mustBeTakenBack waits until a run was given up for these reasons.
func mustBeTakenBack(w *work, parts ...string) {
	w.t.Helper()
	var qw *v1alpha1.QueuedWorkload
	eventually(w.t, patience, w.what()+" is taken back", func() (string, bool) {
		qw = w.record()
		return describe(qw), qw != nil && len(qw.Status.Runs) > 0
	})
	if run := qw.Status.Runs[0]; run.State != "Requeued" || run.Cause != "StartTimeout" || !containsAll(run.By, parts) {
		w.t.Errorf("%s: its run is on record as %+v, want one that was requeued because of %q", w.what(), run, parts)
	}
}
