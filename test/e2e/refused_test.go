package e2e

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestJobWithoutAWalltime runs without a limit where the queue has none, and
// nothing is promised behind it; where the queue has a default it gets that.
func TestJobWithoutAWalltime(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	endless := team.submit(job("endless", gpus(8)))
	if until := endless.mustRun().Status.Allocation.Deadline; until != nil {
		t.Errorf("it has a deadline, %v, which nobody asked for", until)
	}
	if limit := endless.now().Spec.ActiveDeadlineSeconds; limit != nil {
		t.Errorf("its Job has a limit of %d seconds", *limit)
	}
	behind := team.submit(job("behind", gpus(8), walltime("10m")))
	if planned := behind.mustWait("Resources", "no start is known").Status.PlannedStartTime; planned != nil {
		t.Errorf("work behind a job without an end is promised a start at %v", planned)
	}
	endless.mustBeDeleted()
	behind.mustRun()
	behind.mustBeDeleted()

	team.makeQueue(team.name+"-hour", func(s *v1alpha1.ClusterQueueSpec) {
		s.Walltime = &v1alpha1.QueueWalltime{Default: "1h"}
	})
	team.makeDoor("hour", team.name+"-hour")
	allocation := team.submit(job("default", through("hour"))).mustRun().Status.Allocation
	if got := allocation.Deadline.Sub(allocation.StartTime.Time); got != time.Hour {
		t.Errorf("granted %s, want the queue's default of 1h", got)
	}
}

// TestWalltimeAboveTheMaximum is refused in words; nothing is deleted, and an
// edit of the Job lets it in.
func TestWalltimeAboveTheMaximum(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8), clusterQueue(func(s *v1alpha1.ClusterQueueSpec) {
		s.Walltime = &v1alpha1.QueueWalltime{Max: "2h"}
	}))
	for _, long := range []string{"2h1s", "UNLIMITED", "3-0:00"} {
		name := strings.ToLower(strings.ReplaceAll(long, ":", "-"))
		tooLong := team.submit(job("too-long-"+name, gpus(1), walltime(long)))
		tooLong.mustWait("WalltimeLimit", "2h at most")
		tooLong.mustHaveNoPods()
		tooLong.change(func(j *batchv1.Job) { j.Annotations[v1alpha1.WalltimeAnnotation] = "2h" })
		tooLong.mustRun()
	}
}

// TestUnknownQueue: a Job may come before its queue.
func TestUnknownQueue(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	early := team.submit(job("early", gpus(1), through("later")))
	early.mustWait("QueueNotFound", "LocalQueue later does not exist in namespace "+team.name)
	early.mustHaveNoPods()
	team.makeDoor("later", team.name+"-later")
	early.mustWait("QueueNotFound", "ClusterQueue "+team.name+"-later does not exist")
	team.makeQueue(team.name+"-later", nil)
	early.mustRun()
}

// TestNamespaceThatMayNotUseTheQueue waits until an admin lets it in.
func TestNamespaceThatMayNotUseTheQueue(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8), clusterQueue(func(s *v1alpha1.ClusterQueueSpec) {
		s.Access = &v1alpha1.QueueAccess{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"e2e/paid": "yes"}}}
	}))
	outside := team.submit(job("outside", gpus(1)))
	outside.mustWait("AccessDenied", "namespace "+team.name+" may not use ClusterQueue "+team.name)
	outside.mustHaveNoPods()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team.name}}
	team.edit(namespace, func() { namespace.Labels["e2e/paid"] = "yes" })
	outside.mustRun()
}

// TestForgedSubmitter: whoever makes a Job is on record, whatever it says
// itself, and nobody can change that afterwards.
func TestForgedSubmitter(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	ada := team.as("ada")
	forged := team.submitAs(ada, job("forged", gpus(1), annotated(v1alpha1.SubmitterAnnotation, "root")))
	if got := forged.now().Annotations[v1alpha1.SubmitterAnnotation]; got != "ada" {
		t.Errorf("the Job says that %q has submitted it, want ada", got)
	}
	if got := forged.mustRun().Spec.Submitter; got != "ada" {
		t.Errorf("the workload says that %q has submitted it, want ada", got)
	}
	for name, edit := range map[string]func(*batchv1.Job){
		"changed": func(j *batchv1.Job) { j.Annotations[v1alpha1.SubmitterAnnotation] = "root" },
		"removed": func(j *batchv1.Job) { delete(j.Annotations, v1alpha1.SubmitterAnnotation) },
	} {
		err := forged.tryChange(ada, edit)
		if err == nil || !strings.Contains(err.Error(), "berth.dev/submitter is written by Berth") {
			t.Errorf("the submitter may be %s: %v", name, err)
		}
	}
}

// TestMoreThanAnyNodeHas: 3 GPUs a pod where nodes have 2 is no matter of
// waiting, and is said at once.
func TestMoreThanAnyNodeHas(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(3, 2))
	greedy := team.submit(job("greedy", gpus(3)))
	greedy.mustWait("NeverFits", "asks 3 nvidia.com/gpu a pod", "has 2", "never starts unless")
	greedy.mustHaveNoPods()
	small := team.submit(job("small", pods(3), gpus(2)))
	small.mustRun() // it blocks nobody
}
