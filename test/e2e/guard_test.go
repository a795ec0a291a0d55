package e2e

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// mustBeRefused says that something was refused in these words.
func mustBeRefused(t *testing.T, what string, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v; want a refusal that says %q", what, err, words)
	}
}

// TestQueuedJobCannotJumpTheQueue: whoever may edit the Job can't start it, and
// can't take away what Berth has written.
func TestQueuedJobCannotJumpTheQueue(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	ada := team.as("ada")
	team.submit(job("blocker", gpus(8), walltime("10m"))).mustRun()
	waiting := team.submitAs(ada, job("waiting", gpus(8), walltime("10m")))
	waiting.mustWait("Resources")
	start := func(j *batchv1.Job) { j.Spec.Suspend = new(false) }
	mustBeRefused(t, "start a queued Job", waiting.tryChange(ada, start), "Berth starts it when its turn comes")
	mustBeRefused(t, "start a queued Job as admin", waiting.tryChange(team.client, start), "Berth starts it when its turn comes")

	_, err := team.trySubmit(ada, job("unsuspended", gpus(8), walltime("10m"), func(j *batchv1.Job) { j.Spec.Suspend = new(false) }))
	if err != nil {
		t.Errorf("a Job that says suspend: false is suspended, not refused: %v", err)
	}
	qw := waiting.record()
	if err := team.tryEdit(team.client, qw, func() { qw.Spec.Priority = new(int32(1000000)) }); err == nil {
		t.Errorf("anybody can give his workload a priority")
	}
	qw = waiting.record()
	qw.Status.PlannedStartTime = nil
	if err := team.client.Status().Update(t.Context(), qw); err == nil {
		t.Errorf("anybody can write the status of a workload")
	}
	waiting.mustHaveNoPods()
}

// TestManagedNamespace: all work goes through the queue `default`, and nobody
// goes round it.
func TestManagedNamespace(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8), labelledNamespace(v1alpha1.ManagedNamespaceLabel, "true"))
	team.makeDoor(v1alpha1.DefaultLocalQueue, team.name)
	ada := team.as("ada")

	plain := team.submitAs(ada, job("plain", gpus(4), walltime("10m"), unlabelledButTimed))
	qw := plain.mustRun()
	if qw.Spec.QueueName != v1alpha1.DefaultLocalQueue || qw.Spec.Submitter != "ada" {
		t.Errorf("queue %q, submitter %q: want default and ada", qw.Spec.QueueName, qw.Spec.Submitter)
	}
	pod := queuedPod("pod", 4, 0)
	pod.Labels, pod.Annotations, pod.Namespace = nil, nil, team.name
	if err := ada.Create(t.Context(), pod); err != nil {
		t.Fatalf("make a Pod: %v", err)
	}
	(&work{team: team, object: pod}).mustRun()

	pinned := unmanaged("pinned", team.nodes[0], 1)
	pinned.Namespace, pinned.Spec.NodeName = team.name, team.nodes[0]
	mustBeRefused(t, "a Pod that names its node", ada.Create(t.Context(), pinned), "pods are placed by Berth")

	waiting := queuedPod("waiting", 8, 0)
	waiting.Namespace = team.name
	if err := ada.Create(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	full := &work{team: team, object: waiting}
	full.mustWait("Resources")
	mustBeRefused(t, "drop the gate", team.tryEdit(ada, waiting, func() { waiting.Spec.SchedulingGates = nil }), "is removed by Berth only")
	mustBeRefused(t, "drop the label", team.tryEdit(ada, waiting, func() { delete(waiting.Labels, v1alpha1.QueueLabel) }), "label berth.dev/queue-name")
	full.mustNotBeBound()

	paused := team.submitAs(ada, job("paused", gpus(8), walltime("10m"), through(v1alpha1.DefaultLocalQueue)))
	paused.mustWait("Resources")
	mustBeRefused(t, "leave the queue", paused.tryChange(ada, func(j *batchv1.Job) { delete(j.Labels, v1alpha1.QueueLabel) }), "every Job in it goes through a queue")
}

// unlabelledButTimed names no queue. A walltime without a queue is refused
// where the namespace is not managed, so it is left out too.
func unlabelledButTimed(j *batchv1.Job) {
	unlabelled(j)
	delete(j.Annotations, v1alpha1.WalltimeAnnotation)
}

// mustNotBeBound says that none of its pods has ever had a node.
func (w *work) mustNotBeBound() {
	w.t.Helper()
	for _, pod := range w.pods() {
		if !pod.Bound.IsZero() {
			w.t.Errorf("pod %s waits, and was bound to %s", pod.Name, pod.Node)
		}
	}
}

// b17 is a text for a walltime, and how it is shown in plain form; empty: it is
// refused.
type b17 struct{ text, plain v1alpha1.WorkloadWalltime }

// TestB17SlurmTimeStrings: a walltime is read as Slurm reads it, shown in plain
// form, and refused with the forms that would do where it is none.
func TestB17SlurmTimeStrings(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	for i, c := range []b17{
		{"30", "30m"},
		{"4:00", "4m"},
		{"30:00", "30m"},
		{"1:00:00", "1h"},
		{"2-12", "2d12h"},
		{"3-0:00", "3d"},
		{"1-00:00:00", "1d"},
		{"UNLIMITED", "UNLIMITED"},
		{"unlimited", "UNLIMITED"},
		{"1h", "1h"},
		{"90m", "1h30m"},
		{"1d12h", "1d12h"},
		{"0", ""},
		{"", ""},
		{"30:60", ""},
		{"-5", ""},
		{"0s", ""},
		{"1.5h", ""},
		{"2-24", ""},
		{"an hour", ""},
		{"99999d", ""},
	} {
		w, err := team.trySubmit(team.client, job(fmt.Sprint("time-", i), held, walltime(string(c.text))))
		if c.plain == "" {
			mustBeRefused(t, fmt.Sprintf("walltime %q", c.text), err, `write a duration ("90s", "30m", "2h", "1d12h"), a form of Slurm`)
			continue
		}
		if err != nil {
			t.Errorf("walltime %q: %v", c.text, err)
			continue
		}
		if got := w.mustWait("Held").Spec.Walltime; got != c.plain {
			t.Errorf("walltime %q is shown as %q, want %q", c.text, got, c.plain)
		}
	}
	for _, text := range []v1alpha1.Duration{"30", "2-12", "30:00", "-5", "UNLIMITED", "0s", "1.5h"} {
		queue := &v1alpha1.ClusterQueue{Spec: v1alpha1.ClusterQueueSpec{Walltime: &v1alpha1.QueueWalltime{Max: text}}}
		queue.Name = team.name + "-refused"
		if err := team.client.Create(t.Context(), queue); err == nil {
			t.Errorf("a ClusterQueue takes %q as its maximum, which is no duration", text)
			team.remove(queue)
		}
	}
}

// TestRunningJobKeepsWhatItWasPlannedFor: its queue and its size stand while it
// runs, and it may not grow.
func TestRunningJobKeepsWhatItWasPlannedFor(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	running := team.submit(job("running", pods(2), gpus(1), walltime("10m")))
	running.mustRun()
	mustBeRefused(t, "grow", running.tryChange(team.client, func(j *batchv1.Job) {
		j.Spec.Parallelism, j.Spec.Completions = new(int32(3)), new(int32(3))
	}), "spec.parallelism cannot be raised")
	mustBeRefused(t, "change the queue", running.tryChange(team.client, func(j *batchv1.Job) {
		j.Labels[v1alpha1.QueueLabel] = "other"
	}), "cannot change")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: running.pod(0).Name}}
	for _, key := range []string{"berth.dev/rank", "berth.dev/flavor", "berth.dev/cluster-queue"} {
		err := team.tryEdit(team.client, pod, func() { pod.Annotations[key] = "7" })
		mustBeRefused(t, "write "+key+" on a pod", err, "are written by Berth only")
	}
	mustBeRefused(t, "a Pod that says it belongs to a workload", team.client.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: team.name, Name: "forged", Labels: map[string]string{v1alpha1.WorkloadLabel: running.record().Name},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "train"}}},
	}), v1alpha1.WorkloadLabel)
}
