package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// throttled is how many of its pods an array may have at a time.
func throttled(members, atOnce int) trait {
	return func(j *batchv1.Job) {
		j.Spec.Completions, j.Spec.Parallelism = new(int32(members)), new(int32(atOnce))
		annotated(v1alpha1.ArrayAnnotation, "true")(j)
	}
}

// TestArrayIsNoGang: each index of an array runs by itself, in order, where
// there is room; its Job completes as any other.
func TestArrayIsNoGang(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	array := team.submit(job("sweep", throttled(7, 3), gpus(8), walltime("1m"), runsFor(time.Second)))
	team.eventually(patience, "the array is complete", func() (string, bool) {
		now := array.now()
		return fmt.Sprintf("succeeded %d", now.Status.Succeeded), now.Status.Succeeded == 7
	})
	list := &v1alpha1.QueuedWorkloadList{}
	if err := team.client.List(t.Context(), list, client.InNamespace(team.name)); err != nil {
		t.Fatal(err)
	}
	members := list.Items
	slices.SortFunc(members, func(a, b v1alpha1.QueuedWorkload) int {
		return cmp.Compare(memberIndex(t, &a), memberIndex(t, &b))
	})
	if len(members) != 7 {
		t.Fatalf("%d workloads, want one for each of 7 indexes", len(members))
	}
	for i := range members {
		if got := memberIndex(t, &members[i]); got != i {
			t.Errorf("member %d is missing", i)
		}
		// The Job controller makes a few pods at once, and those of one second
		// may be seen in any order: the first that is seen starts if it fits.
		if i > 0 && members[i-1].CreationTimestamp.Before(&members[i].CreationTimestamp) &&
			members[i].Status.Allocation.StartTime.Before(&members[i-1].Status.Allocation.StartTime) {
			t.Errorf("member %d started before member %d, which was there before it", i, i-1)
		}
	}
}

func memberIndex(t *testing.T, qw *v1alpha1.QueuedWorkload) int {
	t.Helper()
	_, text, _ := strings.Cut(qw.Annotations[v1alpha1.NameAnnotation], "-")
	index, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is called %q", qw.Name, qw.Annotations[v1alpha1.NameAnnotation])
	}
	return index
}

// TestDependencies: a job waits for what it was told to wait for, and says
// when that can never be.
func TestDependencies(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	prepare := team.submit(job("prepare", gpus(1), walltime("1m"), held, runsFor(time.Second)))
	train := team.submit(job("train", gpus(1), walltime("1m"), runsFor(time.Second), annotated(v1alpha1.AfterAnnotation, "afterok:prepare")))
	train.mustWait("Dependency", "prepare")
	train.mustHaveNoPods()
	broken := team.submit(job("broken", gpus(1), walltime("1m"), runsFor(time.Second), exits(1)))
	never := team.submit(job("never", gpus(1), walltime("1m"), annotated(v1alpha1.AfterAnnotation, "afterok:broken")))
	cleanup := team.submit(job("cleanup", gpus(1), walltime("1m"), runsFor(time.Second), annotated(v1alpha1.AfterAnnotation, "afternotok:broken")))
	broken.mustEnd("Failed")
	cleanup.mustEnd("Completed")
	never.mustWait("DependencyNeverSatisfied", "broken")
	prepare.change(func(j *batchv1.Job) { delete(j.Annotations, v1alpha1.HoldAnnotation) })
	train.mustEnd("Completed")
	never.change(func(j *batchv1.Job) { delete(j.Annotations, v1alpha1.AfterAnnotation) })
	never.mustRun()
}

// TestSingleton: of one user's jobs of one name, one runs at a time.
func TestSingleton(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	nightly := func(name string) *work {
		return team.submit(job(name, gpus(1), walltime("10m"), annotated(v1alpha1.AfterAnnotation, "singleton"),
			func(j *batchv1.Job) { j.Labels[v1alpha1.JobNameLabel] = "nightly" }))
	}
	first := nightly("first")
	first.mustRun()
	second := nightly("second")
	second.mustWait("Dependency", "first")
	first.finish()
	first.mustEnd("Completed")
	second.mustRun()
}

// TestElasticJobStartsWithWhatFits, and completes with as many pods as it got.
func TestElasticJobStartsWithWhatFits(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(4, 8))
	other := team.submit(job("other", gpus(8), walltime("10m")))
	other.mustRun()
	elastic := team.submit(job("elastic", pods(8), gpus(8), walltime("10m"), annotated(v1alpha1.MinPodsAnnotation, "2")))
	qw := elastic.mustRun()
	if got := *qw.Status.Allocation.PodSets[0].Count; got != 3 {
		t.Errorf("started with %d pods, want 3: one node of four is taken", got)
	}
	if now := elastic.now(); *now.Spec.Parallelism != 3 || *now.Spec.Completions != 3 {
		t.Errorf("parallelism %d, completions %d, want 3 and 3", *now.Spec.Parallelism, *now.Spec.Completions)
	}
	elastic.finish()
	elastic.mustEnd("Completed")
}

// TestBeginTime: not before its time, and then by itself.
func TestBeginTime(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	begin := time.Now().Add(15 * time.Second).Truncate(time.Second)
	later := team.submit(job("later", gpus(1), walltime("1m"), annotated(v1alpha1.BeginAnnotation, begin.UTC().Format(time.RFC3339))))
	later.mustWait("BeginTime")
	started := later.mustRun().Status.Allocation.StartTime
	if started.Time.Before(begin) {
		t.Errorf("started at %v, its begin time is %v", started, begin)
	}
	team.mustTake(started.Sub(begin), 3*time.Second, "from its begin time to its start")
}

// TestTimeMinTakesTheGap: a job that can do with less takes what is left
// before a planned start, and that becomes its deadline.
func TestTimeMinTakesTheGap(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	long := team.submit(job("long", gpus(8), walltime("2m"), on(team.nodes[0])))
	long.mustRun()
	gang := team.submit(job("gang", pods(2), gpus(8), walltime("10m")))
	planned := gang.mustWait("Resources").Status.PlannedStartTime
	nextSecond(t) // jobs of one second rank by name
	flexible := team.submit(job("flexible", gpus(8), walltime("10m"), annotated(v1alpha1.TimeMinAnnotation, "20s")))
	qw := flexible.mustRun()
	if !qw.Status.Allocation.Deadline.Equal(planned) {
		t.Errorf("its deadline is %v, want the planned start of the gang, %v", qw.Status.Allocation.Deadline, planned)
	}
}

// TestSeveralQueuesTheEarliestStartWins.
func TestSeveralQueuesTheEarliestStartWins(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	spare := team.addNodes(nodeGroup(1, map[string]string{gpu: "8"}))
	team.create(&v1alpha1.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: team.name + "-spare"},
		Spec: v1alpha1.ResourceFlavorSpec{NodeSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"kubernetes.io/hostname": spare[0]},
		}},
	})
	team.makeQueue(team.name+"-spare", func(s *v1alpha1.ClusterQueueSpec) {
		s.Flavors = []v1alpha1.QueueFlavor{{Name: team.name + "-spare"}}
	})
	team.create(&v1alpha1.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: "either"},
		Spec:       v1alpha1.LocalQueueSpec{ClusterQueueNames: []string{team.name, team.name + "-spare"}},
	})
	all := team.submit(job("all", gpus(8), walltime("10m"), on(team.nodes[0])))
	all.mustRun()
	also := team.submit(job("also", gpus(8), walltime("10m"), through("either"), on(spare[0])))
	if got := also.mustRun().Status.Allocation.ClusterQueue; got != team.name {
		t.Errorf("it runs in %s, want %s, which is listed first and has room as well", got, team.name)
	}
	third := team.submit(job("third", gpus(8), walltime("10m"), through("either")))
	third.mustWait("Resources")
	also.mustBeDeleted()
	third.mustRun()
}

// TestExclusiveWorkloadSharesItsNodeWithNobody.
func TestExclusiveWorkloadSharesItsNodeWithNobody(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	alone := team.submit(job("alone", gpus(1), walltime("10m"), annotated(v1alpha1.ExclusiveAnnotation, "Workload")))
	alone.mustRun()
	other := team.submit(job("other", gpus(1), walltime("10m")))
	other.mustWait("Resources")
	other.mustHaveNoPods()
	alone.mustBeDeleted()
	other.mustRun()
}
