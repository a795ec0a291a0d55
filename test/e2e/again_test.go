package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestB12DeletedAndMadeAgain: a Job that is deleted and made again under its
// name is another Job, in each of 20 rounds: half of them while it runs, half
// while it waits, some with another size. The new one has one workload, and of
// the old one no charge is left.
func TestB12DeletedAndMadeAgain(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 2))
	for round := range 20 {
		old := job("train", pods(2), gpus(1), walltime("1h"), stopsIn(300*time.Millisecond, 5*time.Second))
		again := job("train", pods(2-round/2%2), gpus(1), walltime("1h"))
		if round%2 == 0 {
			remade(team, old, again, round)
		} else {
			remadeWhileItWaits(team, old, again)
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

// remade replaces a Job that runs.
func remade(team *team, old, again *batchv1.Job, round int) {
	first := team.submit(old)
	first.mustRun()
	first.mustBeDeleted()
	if round%6 == 4 {
		first.podsGone(patience) // not all users are that fast
	}
	second := team.submit(again)
	mustHaveTakenOver(first, second)
}

// remadeWhileItWaits replaces a Job that waits for a node.
func remadeWhileItWaits(team *team, old, again *batchv1.Job) {
	blocker := team.submit(job("blocker", gpus(2), walltime("1h")))
	blocker.mustRun()
	first := team.submit(old)
	first.mustWait("Resources")
	first.mustBeDeleted()
	second := team.submit(again)
	second.mustWait("Resources")
	blocker.mustBeDeleted()
	mustHaveTakenOver(first, second)
	first.mustHaveNoPods()
}

// mustHaveTakenOver says that of two Jobs of one name the second runs, and
// that nothing is left of the first.
func mustHaveTakenOver(first, second *work) {
	t := second.t
	t.Helper()
	count := int(*second.job.Spec.Parallelism)
	began, _ := second.bound(count, patience)
	second.mustRun()
	first.podsGone(soon)
	if gone := releases(first); count <= len(gone) && began.Before(gone[count-1]) {
		t.Errorf("the new Job was started %s before %d pods of the old one were gone, whose places it needs", gone[count-1].Sub(began), count)
	}
	eventually(t, soon, "the old workload is gone, the new one is the only one", func() (string, bool) {
		return fmt.Sprint(len(first.records()), " old, ", len(second.records()), " new"), len(first.records()) == 0 && len(second.records()) == 1
	})
	if got := *second.record().Spec.PodSets[0].Count; int(got) != count {
		t.Errorf("the new workload has %d pods, want %d", got, count)
	}
	second.mustUse(second.team.name, gpu, fmt.Sprint(count))
	second.mustBeDeleted()
	second.podsGone(patience)
	second.mustUse(second.team.name, gpu, "")
}

// releases are the times at which its pods have left their nodes, in order.
func releases(w *work) []time.Time {
	var out []time.Time
	for _, pod := range w.pods() {
		out = append(out, pod.released())
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// mustUse waits until a ClusterQueue says that so much of a resource is used;
// empty: none.
func (t *team) mustUse(queue, resource, want string) {
	t.t.Helper()
	t.eventually(soon, fmt.Sprintf("ClusterQueue %s uses %q %s", queue, want, resource), func() (string, bool) {
		got := t.used(queue, resource)
		return fmt.Sprintf("%q", got), got == want
	})
}

// used is what a ClusterQueue says is used of a resource; empty: nothing.
func (t *team) used(queue, resource string) string {
	t.t.Helper()
	object := &v1alpha1.ClusterQueue{}
	if err := t.client.Get(t.t.Context(), client.ObjectKey{Name: queue}, object); err != nil {
		t.t.Fatalf("read ClusterQueue %s: %v", queue, err)
	}
	for _, u := range object.Status.Usage {
		if u.Resource == resource && u.Used != "0" {
			return u.Used
		}
	}
	return ""
}

// TestB56NamesNearTheLimits: names that the API server takes work, and those
// that could not work are refused with the limit.
func TestB56NamesNearTheLimits(t *testing.T) {
	t.Parallel()
	long := func(head string, n int) string { return head + strings.Repeat("x", n-len(head)) }
	name := long("b56-", 63)
	team := newTeam(t, nodes(1, 8), called(name))
	team.makeQueue(long("b56-queue-", 63), nil)
	team.makeDoor(long("door-", 63), long("b56-queue-", 63))

	var all []*work
	for _, name := range []string{long("a-", 52), long("a-", 57), long("a-", 61)} {
		all = append(all, team.submit(job(name, gpus(1))))
	}
	plain := func(j *batchv1.Job) { j.Spec.CompletionMode = nil } // an Indexed Job needs room for the index
	for _, twin := range []string{"1", "2"} {
		all = append(all, team.submit(job(long("twin-", 62)+twin, gpus(1), plain, through(long("door-", 63)))))
	}
	all = append(all, team.submitPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: long("pod.", 253), Labels: map[string]string{v1alpha1.QueueLabel: long("door-", 63)}},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "train"}}},
	}))
	seen := map[string]bool{}
	for _, w := range all {
		qw := w.mustRun()
		if seen[qw.Name] {
			t.Errorf("two workloads are called %s", qw.Name)
		}
		seen[qw.Name] = true
	}
	for _, tooLong := range []client.Object{
		&v1alpha1.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: long("q-", 64)}, Spec: v1alpha1.LocalQueueSpec{ClusterQueueNames: []string{"a"}}},
		&v1alpha1.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: "q"}, Spec: v1alpha1.LocalQueueSpec{ClusterQueueNames: []string{long("q-", 64)}}},
		&v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: long("q-", 253)}},
		&v1alpha1.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: long("q-", 64)}},
	} {
		err := team.client.Create(t.Context(), tooLong)
		if err == nil || !strings.Contains(err.Error(), "63") {
			t.Errorf("%T with a name that is too long: %v, want a refusal that names the limit, 63", tooLong, err)
		}
	}
	if log := team.controllerLog(); strings.Contains(log, "must be no more than 63") {
		t.Errorf("the controller has tried to make something with a name that is too long")
	}
}

// controllerLog is what the controller has logged so far.
func (t *team) controllerLog() string {
	t.t.Helper()
	raw, err := os.ReadFile(filepath.Join(t.sandbox.Dir, "logs", "controller.log"))
	if err != nil {
		t.t.Fatal(err)
	}
	return string(raw)
}
