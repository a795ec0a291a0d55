package e2e

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCordonedNode takes no new work; what runs there stays; what waits for it
// says so, and starts when the cordon is lifted.
func TestCordonedNode(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	staying := team.submit(job("staying", gpus(4), walltime("10m"), on(team.nodes[0])))
	staying.mustRun()
	team.cordon(0, true)
	team.controllerDecides() // it has heard of the cordon before it hears of the gang
	gang := team.submit(job("gang", pods(2), gpus(4), walltime("10m"), apart))
	gang.mustWait("NodesUnavailable", "1 node", "cordoned")
	gang.mustHaveNoPods()
	elsewhere := team.submit(job("small", gpus(4), walltime("10m"), runsFor(time.Second)))
	if qw := elsewhere.mustEnd("Completed"); hostsOf(qw)[0] != team.nodes[1] {
		t.Errorf("small ran on %s, which is cordoned", hostsOf(qw)[0])
	}
	staying.mustRun()
	team.cordon(0, false)
	gang.mustRun()
	if n := len(staying.pods()); n != 1 {
		t.Errorf("what ran on the cordoned node has had %d pods, want its one", n)
	}
}

// apart keeps a Job's pods on different nodes.
func apart(j *batchv1.Job) {
	podLabel("e2e/job", j.Name)(j)
	j.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"e2e/job": j.Name}},
			TopologyKey:   corev1.LabelHostname,
		}},
	}}
}

func (t *team) cordon(i int, unschedulable bool) {
	t.t.Helper()
	node := t.node(i)
	t.edit(node, func() { node.Spec.Unschedulable = unschedulable })
}

// setReady says of a node what its kubelet would.
func (t *team) setReady(i int, status corev1.ConditionStatus) {
	t.t.Helper()
	for {
		node := t.node(i)
		for k := range node.Status.Conditions {
			if c := &node.Status.Conditions[k]; c.Type == corev1.NodeReady {
				c.Status, c.LastTransitionTime = status, metav1.Now()
			}
		}
		err := t.client.Status().Update(t.t.Context(), node)
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			t.t.Fatalf("set node %s ready %s: %v", node.Name, status, err)
		}
	}
}

// TestNodeThatIsNotReady takes nothing; what waits for it says so, and starts
// when it is back.
func TestNodeThatIsNotReady(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	team.setReady(1, corev1.ConditionFalse)
	team.controllerDecides() // it has heard of the node before it hears of the gang
	gang := team.submit(job("gang", pods(2), gpus(8), walltime("10m")))
	gang.mustWait("NodesUnavailable", "1 node", "not ready")
	gang.mustHaveNoPods()
	small := team.submit(job("small", gpus(8), walltime("10m"), runsFor(time.Second)))
	if qw := small.mustEnd("Completed"); hostsOf(qw)[0] != team.nodes[0] {
		t.Errorf("small ran on %s, which is not ready", hostsOf(qw)[0])
	}
	team.setReady(1, corev1.ConditionTrue)
	gang.mustRun()
}

// TestShortOutageEndsNothing: what runs on a node that is not ready for a
// moment goes on.
func TestShortOutageEndsNothing(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	running := team.submit(job("running", gpus(8), walltime("10m")))
	before := running.mustRun()
	team.setReady(0, corev1.ConditionFalse)
	waiting := team.submit(job("waiting", gpus(8), walltime("10m")))
	waiting.mustWait("NodesUnavailable")
	team.setReady(0, corev1.ConditionTrue)
	waiting.mustWait("Resources")
	after := running.mustRun()
	if !after.Status.Allocation.StartTime.Equal(&before.Status.Allocation.StartTime) || len(running.pods()) != 1 {
		t.Errorf("running was started again: %d pods", len(running.pods()))
	}
}

// TestDeletedNode: what ran there is taken back whole, before the cluster
// removes its pods and counts that as a failure; it waits first in line for
// another node, and what waits behind it says that there are too few.
func TestDeletedNode(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	gang := team.submit(job("gang", pods(2), gpus(8), walltime("10m")))
	gang.mustRun()
	waiting := team.submit(job("waiting", pods(2), gpus(8), walltime("10m")))
	waiting.mustWait("Resources")
	gone := team.nodes[1]
	team.remove(team.node(1))
	waiting.mustWait("NeverFits", "room for 1 of 2 such pods")
	waiting.mustHaveNoPods()
	if run := mustLose(gang, gone).Status.Runs[0]; run.By != "node "+gone+" was deleted" {
		t.Errorf("its run is on record as %+v", run)
	}
	gang.mustWait("NeverFits", "room for 1 of 2 such pods")
	team.mustUse(team.name, gpu, "")
	team.addNodes(nodeGroup(1, map[string]string{gpu: "8"}))
	gang.mustRun()
	if s := gang.now().Status; s.Failed != 0 {
		t.Errorf("the Job counts %d failures, want none", s.Failed)
	}
	gang.finish()
	waiting.mustRun()
}
