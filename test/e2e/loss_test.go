package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// lossTime is the default of nodeFailure.timeout.
const lossTime = time.Minute

// ignoring is a Job that does not count pods that others have ended. The API
// server demands that such a Job waits for the end of a pod before it makes
// another.
func ignoring(j *batchv1.Job) {
	j.Spec.PodReplacementPolicy = new(batchv1.Failed)
	j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:          batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}}}
}

// dies takes the kubelet from a node: nobody ends its pods any more. It says
// which pod of a workload is there.
func (t *team) dies(node string, works ...*work) (stuck []podLife) {
	t.t.Helper()
	for _, w := range works {
		for _, pod := range w.pods() {
			if pod.Node == node {
				t.neverDies(pod.Name)
				stuck = append(stuck, pod)
			}
		}
	}
	t.setReady(slices.Index(t.nodes, node), corev1.ConditionUnknown)
	return stuck
}

// TestB08ADeadNodeHoldsNobodyUp: its gangs are taken back whole and run
// elsewhere, also one whose Job waits for the end of a pod before it makes
// another; a Job that is deleted in the foreground goes; nobody pays for what is
// left, and nobody gets its place before that is gone.
func TestB08ADeadNodeHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(6, 8))
	team.inspector.expectLosses(team.name, 3*lossTime)
	gang := team.submit(job("gang", pods(2), gpus(8), walltime("1h")))
	gang.mustRun()
	careful := team.submit(job("careful", gpus(8), walltime("1h"), ignoring))
	careful.mustRun()
	unwanted := team.submit(job("unwanted", gpus(8), walltime("1h")))
	unwanted.mustRun()
	team.mustUse(team.name, gpu, "32")
	began := time.Now()
	lost := map[*work]podLife{}
	for _, w := range []*work{gang, careful, unwanted} {
		lost[w] = team.dies(w.pod(0).Node, w)[0]
	}
	if err := team.client.Delete(t.Context(), unwanted.object, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}

	for _, w := range []*work{gang, careful} {
		qw := mustLose(w, lost[w].Node)
		if early := qw.Status.Runs[0].Notice.Sub(began); early < lossTime-2*time.Second {
			t.Errorf("%s was taken back %s after its node fell silent, before the timeout", w.what(), early)
		}
		hosts := hostsOf(w.mustRun())
		if slices.Contains(hosts, lost[w].Node) {
			t.Errorf("%s runs on %s, of which one is lost", w.what(), hosts)
		}
		if s := w.now().Status; s.Failed != 0 || s.Active != int32(len(hosts)) {
			t.Errorf("%s: the Job counts %d failures and %d active pods, want none and %d", w.what(), s.Failed, s.Active, len(hosts))
		}
	}
	eventually(t, lossTime+patience, "the Job that was deleted is gone", func() (string, bool) {
		err := team.client.Get(t.Context(), client.ObjectKeyFromObject(unwanted.object), &batchv1.Job{})
		return fmt.Sprint(err), apierrors.IsNotFound(err)
	})
	team.mustUse(team.name, gpu, "24")

	// It comes back, with what was left there.
	node := lost[gang].Node
	next := team.submit(job("next", gpus(8), walltime("10m"), on(node)))
	next.mustWait("NodesUnavailable", "not ready")
	team.setReady(slices.Index(team.nodes, node), corev1.ConditionTrue)
	next.mustWait("Resources", "0 of 8 nvidia.com/gpu free")
	next.mustHaveNoPods()
	team.diesNow(lost[gang].Name)
	next.mustRun()
	for _, w := range []*work{careful, unwanted} {
		team.diesNow(lost[w].Name) // or its namespace would not go
	}
}

// mustLose waits until a run was given up because of a node.
func mustLose(w *work, node string) (qw *v1alpha1.QueuedWorkload) {
	w.t.Helper()
	eventually(w.t, lossTime+patience, w.what()+" is taken back", func() (string, bool) {
		qw = w.record()
		return describe(qw), qw != nil && len(qw.Status.Runs) > 0
	})
	if run := qw.Status.Runs[0]; run.State != "Requeued" || run.Cause != "NodeLost" || !containsAll(run.By, []string{node}) {
		w.t.Errorf("%s: its run is on record as %+v, want one that was requeued because %s was lost", w.what(), run, node)
	}
	return qw
}

// diesNow lets the simulated kubelet kill a pod that it would not.
func (t *team) diesNow(name string) {
	t.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name}}
	t.edit(pod, func() {
		pod.Annotations["sandbox.berth.dev/killed-at"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	})
}

// TestDrainTakesAGangBackWhole: kubectl drain cordons a node and evicts the pods
// there, one of a gang; all of it runs again elsewhere, and a Job that ignores
// what others do to its pods counts nothing.
func TestDrainTakesAGangBackWhole(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(3, 8))
	gang := team.submit(job("gang", pods(2), gpus(8), walltime("1h"), ignoring))
	gang.mustRun()
	drained := gang.pod(0)
	team.cordon(slices.Index(team.nodes, drained.Node), true)
	team.evict(drained.Name)
	var qw *v1alpha1.QueuedWorkload
	eventually(t, patience, "gang is taken back", func() (string, bool) {
		qw = gang.record()
		return describe(qw), qw != nil && len(qw.Status.Runs) > 0
	})
	if run := qw.Status.Runs[0]; run.State != "Requeued" || run.Cause != "Drained" || !containsAll(run.By, []string{drained.Name, "evicted"}) {
		t.Errorf("its run is on record as %+v, want one that was requeued because %s was evicted", run, drained.Name)
	}
	gang.mustRun()
	if hosts := gang.hosts(); len(hosts) != 2 || slices.Contains(hosts, drained.Node) {
		t.Errorf("gang runs on %s, want two nodes that are not drained", hosts)
	}
	if s := gang.now().Status; s.Failed != 0 {
		t.Errorf("the Job counts %d failures, want none", s.Failed)
	}
}
