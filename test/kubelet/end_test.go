//go:build linux

package kubelet

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/sandbox/simulate"
	"github.com/berth-dev/berth/test/kubelet/evidence"
)

const (
	// terminated is SIGTERM.
	terminated = "terminated"
	// kubeletTime is what a kubelet may take for what it is asked: it looks at a
	// pod every second or so.
	kubeletTime = 2 * time.Second
	// handOver is what it may take from the last sign of life of a process to
	// the making of the pod that gets its GPUs: the kubelet has to tell of the
	// one, and Berth to start the other.
	handOver = 5 * time.Second
)

// TestQueuedJobRunsOnRealNodes, with the resource that people ask for; commands
// run in its pods; and its end is known.
func TestQueuedJobRunsOnRealNodes(t *testing.T) {
	t.Parallel()
	if unable != "" {
		t.Skip(unable)
	}
	team := newTeamOn(t, shared.nodes, simulate.GPUResource, everybody)
	work := team.submit(team.job("train"))
	hosts := map[string]bool{}
	for _, pod := range work.mustRun() {
		hosts[pod.Spec.NodeName] = true
		if out, err := team.exec(pod, "sh", "-c", "exit 7"); err == nil || err.Error() != "exit status 7" {
			t.Errorf("exec in %s: %q, %v; want exit status 7", pod.Name, out, err)
		}
		// With process 1 all others of the container end, this one too: what it
		// would say of its own end is not to be relied on.
		_, _ = team.exec(pod, "sh", "-c", "kill -TERM 1")
		team.mustHappen(pod, patience, evidence.Leaving, "0")
	}
	if len(hosts) != 2 {
		t.Errorf("it runs on %v, want a pod on each node", hosts)
	}
	work.mustBe("Completed")
}

// TestCancelledJobHasTimeToSave: SIGTERM comes at once to all pods, and nobody
// is killed who leaves within the grace.
func TestCancelledJobHasTimeToSave(t *testing.T) {
	t.Parallel()
	team := newTeam(t)
	work := team.submit(team.job("saves", saves(3*time.Second)))
	pods := work.mustRun()
	team.mustGetSIGTERM(pods, work.cancel())
	for _, pod := range pods {
		team.mustHappen(pod, patience, evidence.Leaving, "0")
	}
	work.mustBeGone(patience)
}

// TestPodsThatIgnoreSIGTERM are killed at the end of their grace.
func TestPodsThatIgnoreSIGTERM(t *testing.T) {
	t.Parallel()
	team := newTeam(t)
	const patient = 5 * time.Second
	work := team.submit(team.job("stubborn", stubborn, grace(patient)))
	pods := work.mustRun()
	team.mustGetSIGTERM(pods, work.cancel())
	team.mustBeKilled(pods, patient)
	work.mustBeGone(patience)
}

// TestB01 GPUs are handed on only when the processes that have them are dead,
// and then soon.
func TestB01(t *testing.T) {
	t.Parallel()
	team := newTeam(t)
	const patient = 6 * time.Second
	first := team.submit(team.job("first", stubborn, grace(patient)))
	pods := first.mustRun()
	next := team.submit(team.job("next"))
	next.mustWait("Resources")
	team.mustGetSIGTERM(pods, first.cancel())
	next.mustHaveNoPods()
	next.mustFollow(team.mustBeKilled(pods, patient))
}

// TestWalltimeEndsWithTheGraceOfThePods: SIGTERM at the deadline, SIGKILL at
// the end of their own grace, and a state that says it.
func TestWalltimeEndsWithTheGraceOfThePods(t *testing.T) {
	t.Parallel()
	team := newTeam(t)
	const promised, patient = 20 * time.Second, 4 * time.Second
	work := team.submit(team.job("limited", stubborn, grace(patient), walltime(promised.String())))
	pods := work.mustRun()
	deadline := work.record().Status.Allocation.StartTime.Add(promised)
	team.mustGetSIGTERM(pods, deadline)
	for _, pod := range pods {
		if told, _ := team.life(pod).First(evidence.Signal, ""); told.At.Before(deadline.Add(-time.Second)) { // the API's times have whole seconds
			t.Errorf("%s was told %s, before its deadline %s", pod.Name, told, deadline.Format(clock))
		}
	}
	team.mustBeKilled(pods, patient)
	work.mustBe("Timeout")
	work.mustBeGone(patience)
}
