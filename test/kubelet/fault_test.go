//go:build linux

package kubelet

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/test/kubelet/evidence"
)

// TestForceDeletedPodWhoseProcessLivesOn: a pod that is deleted by force while
// it ends is gone for the API, and its process has the time that the first
// deletion gave it. Nobody gets its GPUs before.
func TestForceDeletedPodWhoseProcessLivesOn(t *testing.T) {
	t.Parallel()
	team := newTeam(t)
	const patient = 15 * time.Second
	forced := team.submit(team.job("forced", stubborn, grace(patient)))
	pods := forced.mustRun()
	next := team.submit(team.job("next"))
	next.mustWait("Resources")
	team.mustGetSIGTERM(pods, forced.cancel())
	for i := range pods {
		if err := team.client.Delete(t.Context(), &pods[i].Pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pods[i].UID}); err != nil {
			t.Fatal(err)
		}
	}
	forced.mustBeGone(patience)
	for _, pod := range pods {
		if time.Since(team.life(pod).End()) > silence {
			t.Fatalf("%s is dead already: this run shows nothing", pod.Name)
		}
	}
	next.mustHaveNoPods()
	next.mustFollow(team.mustBeKilled(pods, patient))
}

// TestKubeletThatHangs while a job is cancelled: its pod knows of nothing and
// works on, and nobody gets its GPUs, however long it takes.
func TestKubeletThatHangs(t *testing.T) {
	t.Parallel()
	team := newTeamWithNodes(t, 1)
	const patient = 2 * time.Second
	work := team.submit(team.job("unaware", pods(1), grace(patient)))
	running := work.mustRun()
	if err := team.nodes[0].FreezeKubelet(); err != nil {
		t.Fatal(err)
	}
	next := team.submit(team.job("next", pods(1)))
	next.mustWait("Resources")
	work.cancel()
	// Longer than the grace, shorter than it takes until the node is lost.
	time.Sleep(patient + 5*time.Second)
	if told, ok := team.life(running[0]).First(evidence.Signal, ""); ok {
		t.Errorf("it was told %s by a kubelet that hangs", told)
	}
	next.mustHaveNoPods()
	if err := team.nodes[0].ThawKubelet(); err != nil {
		t.Fatal(err)
	}
	team.mustHappen(running[0], patience, evidence.Signal, terminated)
	next.mustFollow(team.mustDie(running))
}

// TestKubeletThatDiesInTheGrace: what it has begun its successor ends, and
// until then nobody gets the GPUs.
func TestKubeletThatDiesInTheGrace(t *testing.T) {
	t.Parallel()
	team := newTeamWithNodes(t, 1)
	const patient = 6 * time.Second
	work := team.submit(team.job("stubborn", pods(1), stubborn, grace(patient)))
	running := work.mustRun()
	next := team.submit(team.job("next", pods(1)))
	next.mustWait("Resources")
	team.mustGetSIGTERM(running, work.cancel())
	if err := team.nodes[0].KillKubelet(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(patient + time.Second) // nobody is there to kill it when its time has come
	if end := team.life(running[0]).End(); time.Since(end) > silence {
		t.Fatalf("it died at %s without a kubelet: this run shows nothing", end)
	}
	next.mustHaveNoPods()
	if err := team.nodes[0].StartKubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := team.mustDie(running)
	// A kubelet that is new takes back what others have said of its node.
	team.equip(team.nodes[0])
	next.mustFollow(last)
}

// TestPodThatIsStuck past its grace holds its GPUs, and whoever waits for them
// is told which pod it is; when its node is lost, that.
func TestPodThatIsStuck(t *testing.T) {
	t.Parallel()
	team := newTeamWithNodes(t, 1)
	work := team.submit(team.job("stuck", pods(1), stubborn, grace(2*time.Second)))
	running := work.mustRun()
	if err := team.nodes[0].KillKubelet(); err != nil {
		t.Fatal(err)
	}
	next := team.submit(team.job("next", pods(1)))
	work.cancel()
	next.mustWait("Resources", "overrun of "+team.name+"/"+running[0].Name)
	next.mustWait("NodesUnavailable", "not ready")
	if time.Since(team.life(running[0]).End()) > silence {
		t.Error("it is dead: this run shows nothing")
	}
}
