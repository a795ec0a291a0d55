package e2e

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestGangWaitsWholeForItsLastNode: a gang of 4 × 8 GPUs does not start on the
// three nodes that are free; it says why it waits and when it will start, and
// starts within two seconds of the last pod of the fourth node being gone, rank
// 0 on the first node.
func TestGangWaitsWholeForItsLastNode(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(4, 8))
	blocker := team.submit(job("blocker", pods(2), gpus(4), walltime("10m"), on(team.nodes[1])))
	until := blocker.mustRun().Status.Allocation.Deadline

	gang := team.submit(job("gang", pods(4), gpus(8), walltime("1h")))
	waiting := gang.mustWait("Resources", "asks 4 × 8 nvidia.com/gpu", "24 of 32", "room for 3 of 4 pods", "at ")
	if !waiting.Status.PlannedStartTime.Equal(until) {
		t.Errorf("planned start %v, want the blocker's deadline %v", waiting.Status.PlannedStartTime, until)
	}
	gang.mustHaveNoPods()

	blocker.mustBeDeleted()
	gone := blocker.podsGone(patience)
	first, last := gang.bound(4, patience)
	if first.Before(gone) {
		t.Errorf("a pod of the gang was bound %s before the last pod of the blocker was gone", gone.Sub(first))
	}
	team.mustTake(last.Sub(gone), 2*time.Second, "from the end of the last pod that was in the way to the binding of the gang's last")
	running := gang.mustRun()
	if diff := cmp.Diff(team.nodes, gang.hosts()); diff != "" {
		t.Errorf("ranks are not in the order of the nodes (-nodes +hosts by rank):\n%s", diff)
	}
	if diff := cmp.Diff(team.nodes, hostsOf(running)); diff != "" {
		t.Errorf("the allocation says something else (-nodes +allocation):\n%s", diff)
	}
}

// hostsOf are the hosts of an allocation by rank.
func hostsOf(qw *v1alpha1.QueuedWorkload) []string {
	var out []string
	for _, run := range qw.Status.Allocation.PodSets[0].Domains {
		out = append(out, slices.Repeat([]string{run.Host}, int(run.Pods))...)
	}
	return out
}

// TestTwoGangsOfOneSecondRunOneAfterTheOther: each needs all nodes; they never
// share them, one runs whole, then the other.
func TestTwoGangsOfOneSecondRunOneAfterTheOther(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(4, 8))
	gangs := make([]*work, 2)
	var group sync.WaitGroup
	for i, name := range []string{"left", "right"} {
		group.Go(func() {
			gangs[i] = team.submit(job(name, pods(4), gpus(8), walltime("1h"), runsFor(4*time.Second)))
		})
	}
	group.Wait()
	for _, gang := range gangs {
		gang.mustEnd("Completed")
		gang.podsGone(soon)
	}
	slices.SortFunc(gangs, func(a, b *work) int { return a.pods()[0].Bound.Compare(b.pods()[0].Bound) })
	gone := gangs[0].podsGone(soon)
	first, last := gangs[1].bound(4, soon)
	if first.Before(gone) {
		t.Errorf("the second gang began %s before the first had ended", gone.Sub(first))
	}
	t.Logf("the second gang was bound %s after the first had ended", last.Sub(gone))
	for _, gang := range gangs {
		if n := len(gang.pods()); n != 4 {
			t.Errorf("%s has had %d pods, want 4: it was started more than once", gang.what(), n)
		}
	}
}

// TestReplacedPodTakesThePlaceOfItsIndex: of a gang that loses a pod the others
// go on, and the new pod runs where the lost one ran.
func TestReplacedPodTakesThePlaceOfItsIndex(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(3, 8))
	gang := team.submit(job("gang", pods(3), gpus(8), walltime("1h"), func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(3)) }))
	gang.mustRun()
	team.inspector.expectLosses(team.name, 30*time.Second)
	before, hosts := gang.pods(), gang.hosts()
	lost := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: before[1].Name}}
	team.remove(lost)
	gang.bound(4, patience)
	gang.mustRun()
	if diff := cmp.Diff(hosts, gang.hosts()); diff != "" {
		t.Errorf("hosts by index (-before +after):\n%s", diff)
	}
	after := gang.pods()
	if after[0].UID != before[0].UID || after[len(after)-1].UID != before[2].UID {
		t.Errorf("the other pods of the gang were replaced too")
	}
	if qw := gang.record(); qw.Status.Restarts != nil {
		t.Errorf("the gang was started again")
	}
}

// TestIndexesThatHaveFinishedFreeTheirPlaces: what a gang has done needs no
// nodes any more.
func TestIndexesThatHaveFinishedFreeTheirPlaces(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	gang := team.submit(job("gang", pods(2), gpus(8), walltime("1h")))
	gang.mustRun()
	waiting := team.submit(job("waiting", gpus(8), walltime("10m"), runsFor(time.Second)))
	waiting.mustWait("Resources")
	first := gang.pod(0)
	gang.finishPod(first)
	if qw := waiting.mustEnd("Completed"); hostsOf(qw)[0] != first.Node {
		t.Errorf("waiting ran on %s, want %s, which index 0 has left", hostsOf(qw)[0], first.Node)
	}
	eventually(t, soon, "index 1 goes on alone", func() (string, bool) {
		now := gang.hosts()
		return fmt.Sprint(now), len(now) == 1 && now[0] == gang.pod(1).Node
	})
}

// TestGangThatCannotBeMadeWholeDoesNotRunInPart: a ResourceQuota lets half of
// its pods be made; none of them may hold a node meanwhile.
func TestGangThatCannotBeMadeWholeDoesNotRunInPart(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(4, 8))
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: "half"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourceName("requests." + gpu): resource.MustParse("16"),
		}},
	}
	team.create(quota)
	// The quota's controller has to have counted first, or all pods are refused.
	team.eventually(patience, "the quota is in force", func() (string, bool) {
		err := team.client.Get(t.Context(), client.ObjectKeyFromObject(quota), quota)
		return fmt.Sprint(quota.Status, err), err == nil && len(quota.Status.Hard) > 0
	})
	half := team.submit(job("half", pods(4), gpus(8), walltime("10m")))
	half.mustBe("Starting", patience)
	team.eventually(patience, "two of its pods exist", func() (string, bool) {
		return fmt.Sprintf("%d pods", len(half.pods())), len(half.pods()) == 2
	})
	nextSecond(t)
	for _, pod := range half.pods() {
		if pod.holds() {
			t.Errorf("pod %s runs, and two of its gang can't be made", pod.Name)
		}
	}
	team.edit(quota, func() { quota.Spec.Hard[corev1.ResourceName("requests."+gpu)] = resource.MustParse("32") })
	half.mustRun()
}

// TestPodsWithAHostPortShareNoNode.
func TestPodsWithAHostPortShareNoNode(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(3, 8))
	gang := team.submit(job("gang", pods(2), gpus(1), walltime("10m"), with(func(s *corev1.PodSpec) {
		s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8081}}
	})))
	gang.mustRun()
	if hosts := gang.hosts(); len(hosts) != 2 || hosts[0] == hosts[1] {
		t.Errorf("two pods with one host port run on %v", hosts)
	}
	tooMany := team.submit(job("too-many", pods(4), gpus(1), walltime("10m"), with(func(s *corev1.PodSpec) {
		s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8081}}
	})))
	tooMany.mustWait("NeverFits")
}
