//go:build linux

package kubelet

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/test/kubelet/evidence"
	"github.com/berth-dev/berth/test/kubelet/node"
)

// TestB08KubeletThatDies and is started again much later.
func TestB08KubeletThatDies(t *testing.T) {
	unhurried(t)
	t.Parallel()
	mustLoseOneNode(t, func(t *team, n *node.Node) { t.must(n.KillKubelet()) }, (*team).boot)
}

// TestB08KubeletThatHangs and goes on much later, as if nothing had been.
func TestB08KubeletThatHangs(t *testing.T) {
	unhurried(t)
	t.Parallel()
	mustLoseOneNode(t,
		func(t *team, n *node.Node) { t.must(n.FreezeKubelet()) },
		func(t *team, n *node.Node) { t.must(n.ThawKubelet()) })
}

// mustLoseOneNode says what becomes of a node whose kubelet is away for longer
// than nodeFailure.timeout. Its gang is taken back whole and runs elsewhere, and
// its queue pays for that alone; a Job that is deleted in the foreground goes.
// The processes there live on, and nobody gets their GPUs. When the kubelet is
// back, it ends what was left, and the node is used again.
func mustLoseOneNode(t *testing.T, goAway, comeBack func(*team, *node.Node)) {
	t.Helper()
	team, own := newTeamWithOneNode(t)
	g := &gang{work: team.submit(team.job("gang"))}
	unwanted := team.submit(team.job("unwanted", pods(1), team.asks(0), on(own.Name)))
	g.pods = g.mustRun()
	left := unwanted.mustRun()
	goAway(team, own)
	away := time.Now()
	team.useSpare()
	unwanted.deleteInForeground()

	there, elsewhere := g.split(own.Name)
	lost := g.mustBeLostWith(own)
	if after := lost.Sub(away); after < lossTimeout {
		t.Errorf("it was taken back %s after its node fell silent, before the timeout", after)
	}
	team.mustBeSoon("the end of the gang", away, lost, nodeTimeout+lossTimeout+2*handOver)
	team.mustGetSIGTERM(elsewhere, lost)
	again := g.mustRunAgainWithout(own, g.pods)
	if end := team.mustDie(elsewhere); again.Before(end) {
		t.Errorf("it was started again at %s, before its process on a node that answers was dead (%s)", again.Format(clock), end.Format(clock))
	}
	team.mustUse(2 * unitsPerNode)
	unwanted.mustBeForgotten()

	next := team.submit(team.job("next", pods(1), on(own.Name)))
	next.mustWait("NodesUnavailable", "not ready")
	left = append(left, there...)
	for _, pod := range left {
		if told, ok := team.life(pod).First(evidence.Signal, ""); ok || time.Since(team.life(pod).End()) > silence {
			t.Errorf("%s is dead, or was told %q: this run shows nothing", pod.Name, told)
		}
	}
	comeBack(team, own)
	for _, pod := range left {
		team.mustHappen(pod, patience, evidence.Signal, terminated)
	}
	next.mustFollow(team.mustDie(there))
	team.mustDie(left)
	g.mustCountNothing()
	if n := g.record().Status.Restarts; n == nil || *n != 1 {
		t.Errorf("%s was started again %v times, want once", g.job.Name, n)
	}
}

// mustBeLostWith says that a run is given up because of a node, and when that was
// seen.
func (w *work) mustBeLostWith(n *node.Node) time.Time {
	w.t.Helper()
	eventually(w.t, nodeTimeout+lossTimeout+patience, w.job.Name+" is taken back", func() (string, bool) {
		qw := w.record()
		return describe(qw), len(qw.Status.Runs) > 0 || qw.Status.Notice != nil
	})
	at := time.Now()
	w.mustHaveRun("Requeued", "NodeLost", fmt.Sprintf("node %s was not ready for %s", n.Name, lossTimeout))
	return at
}

// deleteInForeground deletes the Job, and wants it to wait for its pods.
func (w *work) deleteInForeground() {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), w.job, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		w.t.Fatalf("delete %s: %v", w.job.Name, err)
	}
}

// mustBeForgotten waits until the Job's object is gone.
func (w *work) mustBeForgotten() {
	w.t.Helper()
	eventually(w.t, patience, w.job.Name+" is gone", func() (string, bool) {
		err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.job), &batchv1.Job{})
		return fmt.Sprint(err), apierrors.IsNotFound(err)
	})
}

// mustUse waits until the team's queue pays for so many units.
func (t *team) mustUse(units int) {
	t.t.Helper()
	queue := &v1alpha1.ClusterQueue{}
	eventually(t.t, patience, fmt.Sprintf("the queue uses %d", units), func() (string, bool) {
		if err := t.client.Get(t.t.Context(), client.ObjectKey{Name: t.name}, queue); err != nil {
			t.t.Fatal(err)
		}
		for _, u := range queue.Status.Usage {
			if u.Resource == string(t.resource) {
				return u.Used, u.Used == fmt.Sprint(units)
			}
		}
		return fmt.Sprintf("%+v", queue.Status.Usage), false
	})
}
