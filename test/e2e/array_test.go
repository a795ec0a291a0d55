package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestHeldArrayIsSeen: before its members are made it waits as a whole and says
// so; released it is its members.
func TestHeldArrayIsSeen(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	array := team.submit(job("sweep", throttled(4, 2), gpus(1), walltime("1m"), runsFor(time.Second), held))
	array.mustWait("Held", "held by its author; none of its 4 members is made before")
	array.mustHaveEvent("Held", "none of its 4 members")
	next := team.submit(job("next", gpus(1), walltime("1m"), annotated(v1alpha1.AfterAnnotation, "afterok:sweep")))
	next.mustWait("Dependency", "sweep to complete")
	array.mustHaveNoPods()
	array.change(func(j *batchv1.Job) { delete(j.Annotations, v1alpha1.HoldAnnotation) })
	team.eventually(patience, "the array is complete, and no workload stands for it", func() (string, bool) {
		now := array.now()
		return fmt.Sprintf("succeeded %d, %s", now.Status.Succeeded, describe(array.record())), now.Status.Succeeded == 4 && array.record() == nil
	})
	next.mustRun()
}

// TestMembersThatCannotBeMadeAreSeen: a ResourceQuota refuses some pods of an
// array; the Job says so, and kubectl berth counts them.
func TestMembersThatCannotBeMadeAreSeen(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: "two"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourceName("requests." + gpu): resource.MustParse("2"),
		}},
	}
	team.create(quota)
	team.eventually(patience, "the quota is in force", func() (string, bool) {
		err := team.client.Get(t.Context(), client.ObjectKeyFromObject(quota), quota)
		return fmt.Sprint(quota.Status, err), err == nil && len(quota.Status.Hard) > 0
	})
	array := team.submit(job("sweep", throttled(9, 5), gpus(1), walltime("10m")))
	array.mustHaveEvent("3 of the 5 members that may exist at a time are not there")
	team.eventually(soon, "explain counts the members", func() (string, bool) {
		text := team.explain("sweep")
		return text, containsAll(text, []string{"an array of 9 members", "2 started", "7 not made yet", "3 that may exist now do not"})
	})
	team.edit(quota, func() { quota.Spec.Hard[corev1.ResourceName("requests."+gpu)] = resource.MustParse("20") })
	array.bound(5, patience)
}

// explain is what kubectl berth says of a job.
func (t *team) explain(name string) string {
	t.t.Helper()
	command := exec.CommandContext(t.t.Context(), filepath.Join(filepath.Dir(t.sandbox.Dir), "kubectl-berth"),
		"explain", name, "--kubeconfig", t.sandbox.Kubeconfig, "-n", t.name)
	out, err := command.CombinedOutput()
	if err != nil {
		t.t.Fatalf("explain %s: %v\n%s", name, err, out)
	}
	return string(out)
}

// TestCancelledArrayEnds: what runs is told to end, what waits never starts, no
// index is made again, and the Job stays there, suspended.
func TestCancelledArrayEnds(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 1))
	array := team.submit(job("sweep", throttled(6, 2), gpus(1), walltime("1h")))
	array.bound(1, patience)
	array.change(func(j *batchv1.Job) { j.Annotations[v1alpha1.CancelAnnotation] = "0" })
	team.eventually(patience, "the Job is suspended, with no pods", func() (string, bool) {
		now := array.now()
		suspended := now.Spec.Suspend != nil && *now.Spec.Suspend
		return fmt.Sprintf("suspended %t, %+v", suspended, now.Status), suspended && now.Status.Active == 0
	})
	team.mustUse(team.name, gpu, "")
	if s := array.now().Status; s.Failed != 0 || s.Succeeded != 0 {
		t.Errorf("the Job counts %+v, want neither failures nor successes", s)
	}
	ran := 0
	for _, pod := range array.pods() {
		if !pod.Bound.IsZero() {
			ran++
		}
	}
	if ran != 1 {
		t.Errorf("%d members ran, want the one that ran before", ran)
	}
}

// TestAnArrayKeepsTheSlotOfWhoWaitsToRunAgain: while a member that was taken back waits
// to run again the array stays at its throttle, and no other index is made for it.
func TestAnArrayKeepsTheSlotOfWhoWaitsToRunAgain(t *testing.T) {
	t.Parallel()
	team := preemptible(t, 0, nodes(1, 8))
	sweep := team.submit(job("sweep", throttled(2, 1), gpus(8), walltime("1h")))
	sweep.bound(1, patience)
	high := team.submit(job("high", gpus(8), walltime("10m"), through(urgent)))
	high.mustRun()
	sweep.mustHaveMade(0, 0)
	high.finish()
	sweep.bound(2, patience)
	sweep.mustHaveMade(0, 0)
	sweep.finish()
	sweep.bound(3, patience)
	sweep.mustHaveMade(0, 0, 1)
}

// mustHaveMade waits until pods of these indexes have been made, one after the other, and
// no more.
func (w *work) mustHaveMade(indexes ...int) {
	w.t.Helper()
	eventually(w.t, soon, fmt.Sprintf("pods of %s are made with the indexes %v", w.what(), indexes), func() (string, bool) {
		all := w.pods()
		slices.SortFunc(all, func(a, b podLife) int { return a.Created.Compare(b.Created) })
		var made []int
		for _, pod := range all {
			made = append(made, pod.Index)
		}
		return fmt.Sprint(made), slices.Equal(made, indexes)
	})
}
