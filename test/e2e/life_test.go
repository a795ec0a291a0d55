package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

// TestEnds: how a Job ended is told apart.
func TestEnds(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	ends := map[string]*work{
		"Completed": team.submit(job("good", gpus(1), walltime("10m"), runsFor(time.Second))),
		"Failed":    team.submit(job("bad", gpus(1), walltime("10m"), runsFor(time.Second), exits(3))),
		"Timeout":   team.submit(job("slow", pods(2), gpus(1), walltime("3s"))),
	}
	for state, w := range ends {
		qw := w.mustEnd(state)
		if n := len(qw.Status.Runs); n != 1 || qw.Status.Runs[0].State != state {
			t.Errorf("%s: runs on record: %+v, want one that is %s", w.what(), qw.Status.Runs, state)
		}
	}
	slow := ends["Timeout"]
	ran := slow.podsGone(patience).Sub(slow.record().Status.Allocation.StartTime.Time)
	if ran < 3*time.Second {
		t.Errorf("a job with a walltime of 3s has ended %s after its start", ran)
	}
	team.mustTake(ran, 8*time.Second, "from the start of a job with a walltime of 3s to its end")
	team.mustUse(team.name, gpu, "")
}

// TestCronJobIsQueued: what makes a Job makes no difference.
func TestCronJobIsQueued(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	blocker := team.submit(job("blocker", gpus(8), walltime("10m")))
	blocker.mustRun()
	template := job("unused", gpus(8), walltime("10m"), runsFor(time.Second))
	team.create(&batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: "nightly"},
		Spec: batchv1.CronJobSpec{
			Schedule: "* * * * *", ConcurrencyPolicy: batchv1.ForbidConcurrent,
			JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: template.Labels, Annotations: template.Annotations}, Spec: template.Spec,
			},
		},
	})
	var made *work
	eventually(t, time.Minute+patience, "the CronJob has made a Job", func() (string, bool) {
		var jobs batchv1.JobList
		if err := team.client.List(t.Context(), &jobs, client.InNamespace(team.name)); err != nil {
			return err.Error(), false
		}
		for i := range jobs.Items {
			if strings.HasPrefix(jobs.Items[i].Name, "nightly-") {
				made = &work{team: team, object: &jobs.Items[i], job: &jobs.Items[i]}
			}
		}
		return "", made != nil
	})
	qw := made.mustWait("Resources")
	if want := "system:serviceaccount:kube-system:cronjob-controller"; qw.Spec.Submitter != want {
		t.Errorf("submitter is %q, want %q", qw.Spec.Submitter, want)
	}
	made.mustHaveNoPods()
	blocker.mustBeDeleted()
	made.mustEnd("Completed")
}

// TestBarePodIsAWorkloadOfOne: a Pod with the label waits behind its gate, runs
// where it was told, and is over when it ends.
func TestBarePodIsAWorkloadOfOne(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	blocker := team.submit(job("blocker", gpus(8), walltime("10m")))
	blocker.mustRun()
	pod := team.submitPod(queuedPod("alone", 8, time.Second))
	pod.mustWait("Resources", "asks 1 × 8 nvidia.com/gpu")
	if gone := team.submitPod(queuedPod("gone", 8, time.Second)); true {
		gone.mustWait("Resources")
		gone.mustBeDeleted()
		eventually(t, soon, "the workload of the deleted Pod is gone", func() (string, bool) { return "", gone.record() == nil })
	}
	blocker.mustBeDeleted()
	qw := pod.mustEnd("Completed")
	if qw.Spec.Submitter == "" || qw.Status.Allocation.Deadline == nil {
		t.Errorf("submitter %q, deadline %v: want both", qw.Spec.Submitter, qw.Status.Allocation.Deadline)
	}
}

// queuedPod is a Pod with a queue label that asks for GPUs.
func queuedPod(name string, gpus int, runs time.Duration) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{v1alpha1.QueueLabel: queueName},
			Annotations: map[string]string{v1alpha1.WalltimeAnnotation: "10m"},
		},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "train"}}},
	}
	if runs > 0 {
		pod.Annotations[simulate.RuntimeAnnotation] = runs.String()
	}
	ask(&pod.Spec.Containers[0], gpu, fmt.Sprint(gpus))
	return pod
}

// TestDeletedWhileItWaits: nothing is left of it, and whoever waited behind it
// does not wait longer.
func TestDeletedWhileItWaits(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	blocker := team.submit(job("blocker", gpus(8), walltime("10m")))
	blocker.mustRun()
	gang := team.submit(job("gang", pods(2), gpus(8), walltime("10m")))
	gang.mustWait("Resources")
	later := team.submit(job("later", gpus(8), walltime("1h"))) // also by name: the second may be the same
	later.mustWait("Priority")
	gang.mustBeDeleted()
	later.mustRun()
	eventually(t, soon, "the workload of gang is gone", func() (string, bool) { return "", gang.record() == nil })
	gang.mustHaveNoPods()
}

// TestForegroundDeletion: the Job stays until its pods are gone, and so does
// its charge.
func TestForegroundDeletion(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	first := team.submit(job("first", pods(2), gpus(4), walltime("10m"), stopsIn(3*time.Second, 30*time.Second)))
	first.mustRun()
	next := team.submit(job("next", gpus(8), walltime("10m")))
	next.mustWait("Resources")
	team.mustUse(team.name, gpu, "8")
	if err := team.client.Delete(t.Context(), first.object, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	mustHoldUntilItsPodsAreGone(first, "8")
	began, _ := next.bound(1, patience)
	if gone := first.podsGone(soon); began.Before(gone) {
		t.Errorf("next was bound %s before the last pod of first was gone", gone.Sub(began))
	}
	next.mustRun()
	eventually(t, patience, "Job and workload of first are gone", func() (string, bool) {
		err := team.client.Get(t.Context(), client.ObjectKeyFromObject(first.object), &batchv1.Job{})
		return fmt.Sprint(err), apierrors.IsNotFound(err) && first.record() == nil
	})
}

// TestRecordOfRunningWorkCannotBeDeleted; of waiting work it can, and comes back.
func TestRecordOfRunningWorkCannotBeDeleted(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	running := team.submit(job("running", gpus(8), walltime("10m")))
	err := team.client.Delete(t.Context(), running.mustRun())
	if err == nil || !strings.Contains(err.Error(), "this workload holds nodes, and its pods run") {
		t.Errorf("the workload of running work can be deleted: %v", err)
	}
	waiting := team.submit(job("waiting", gpus(8), walltime("10m"), runsFor(time.Second)))
	before := waiting.mustWait("Resources")
	behind := team.submit(job("waits-too", gpus(8), walltime("10m"), runsFor(time.Second)))
	behind.mustWait("Resources")
	if err := team.client.Delete(t.Context(), before); err != nil {
		t.Fatalf("delete the workload of waiting work: %v", err)
	}
	eventually(t, soon, "the workload is made again", func() (string, bool) {
		qw := waiting.record()
		return describe(qw), qw != nil && qw.UID != before.UID && state(qw) == "Pending"
	})
	running.mustBeDeleted()
	waiting.mustStartBefore(behind)
}

// TestSuspendedByItsUser: a running Job that somebody suspends gives its nodes
// back when its pods are gone, and waits again at its old place.
func TestSuspendedByItsUser(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	first := team.submit(job("first", pods(2), gpus(4), walltime("10m"), stopsIn(time.Second, 10*time.Second)))
	first.mustRun()
	uids := first.pods()
	first.change(func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
	first.podsGone(patience)
	first.bound(4, patience) // two of each run
	qw := first.mustRun()
	if qw.Status.Restarts == nil || *qw.Status.Restarts != 1 || len(qw.Status.Runs) != 1 || qw.Status.Runs[0].State != "Requeued" || qw.Status.Runs[0].Cause != "Suspended" {
		t.Errorf("restarts %v, runs %+v: want one run that was requeued because it was suspended", qw.Status.Restarts, qw.Status.Runs)
	}
	if all := first.pods(); len(all) != 4 || len(uids) != 2 {
		t.Errorf("it has had %d pods, want 2 and 2", len(all))
	}
	if status := first.now().Status; status.Failed > 0 {
		t.Errorf("the suspension counts as %d failures", status.Failed)
	}
}

// TestPodsKnowTheirRun: what Berth tells the containers in their environment.
func TestPodsKnowTheirRun(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	w := team.submit(job("env", gpus(1), walltime("10m")))
	qw := w.mustRun()
	pod := &corev1.Pod{}
	if err := team.client.Get(t.Context(), client.ObjectKey{Namespace: team.name, Name: w.pod(0).Name}, pod); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range pod.Spec.Containers[0].Env {
		got[e.Name] = e.Value
	}
	want := map[string]string{
		"BERTH_WORKLOAD": qw.Name, "BERTH_QUEUE": team.name, "BERTH_WALLTIME_SECONDS": "600",
		"BERTH_DEADLINE": qw.Status.Allocation.Deadline.UTC().Format(time.RFC3339), "BERTH_RESTART_COUNT": "0",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s=%q, want %q", name, got[name], value)
		}
	}
}

// TestGraceOfTheQueue: the pods of a Job get at least the grace of its queue,
// and keep more.
func TestGraceOfTheQueue(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8), clusterQueue(func(s *v1alpha1.ClusterQueueSpec) {
		s.Preemption = &v1alpha1.QueuePreemption{Grace: "2m"}
	}))
	door := &v1alpha1.LocalQueue{}
	eventually(t, soon, "the LocalQueue knows the grace", func() (string, bool) {
		err := team.client.Get(t.Context(), client.ObjectKey{Namespace: team.name, Name: queueName}, door)
		return fmt.Sprint(err, door.Status), err == nil && door.Status.GraceSeconds != nil && *door.Status.GraceSeconds == 120
	})
	// The API server reads its parameters from a cache of its own.
	n := 0
	eventually(t, soon, "a new Job gets the grace", func() (string, bool) {
		n++
		got := team.submit(job(fmt.Sprint("short-", n), held)).now().Spec.Template.Spec.TerminationGracePeriodSeconds
		return fmt.Sprint(*got), *got == 120
	})
	long := team.submit(job("long", held, stopsIn(time.Second, 300*time.Second)))
	if got := *long.now().Spec.Template.Spec.TerminationGracePeriodSeconds; got != 300 {
		t.Errorf("grace is %d, want the 300 of its author", got)
	}
}
