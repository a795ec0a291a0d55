package framework_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/framework"
)

func waitingJob() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "train", UID: "u1",
			Labels:      map[string]string{v1alpha1.QueueLabel: "gpu"},
			Annotations: map[string]string{v1alpha1.WalltimeAnnotation: "2:00:00", v1alpha1.SubmitterAnnotation: "ada"},
		},
		Spec: batchv1.JobSpec{
			Suspend: new(true), Parallelism: new(int32(4)), Completions: new(int32(4)),
			CompletionMode: new(batchv1.IndexedCompletion),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "train"}},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"zone": "a"},
					Tolerations:  []corev1.Toleration{{Key: "mine", Operator: corev1.TolerationOpExists}},
				},
			},
		},
	}
}

// TestB11RestoreLeavesWhatTheAuthorWrote: nothing of a start may stay in the
// template, or the Job could only ever run where it ran before.
func TestB11RestoreLeavesWhatTheAuthorWrote(t *testing.T) {
	t.Parallel()
	for _, own := range []*int64{nil, new(int64(600))} {
		before := waitingJob()
		before.Spec.ActiveDeadlineSeconds = own
		job := before.DeepCopy()
		now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
		release := framework.Release{
			Workload: "job-train-1", Run: 0, Queue: "gpu", Walltime: 2 * time.Hour, Deadline: now.Add(2 * time.Hour), Now: now,
			Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
		}
		for range 3 { // also when an earlier run could not be cleaned up before
			framework.Job{}.Start(job, release)
		}
		if *job.Spec.Suspend || len(job.Spec.Template.Spec.Tolerations) != 2 || job.Spec.ActiveDeadlineSeconds == nil {
			t.Errorf("start did not release the Job: %+v", job.Spec)
		}
		framework.Job{}.Stop(job)
		framework.Job{}.Restore(job)
		if diff := cmp.Diff(before.Spec.Template.Spec, job.Spec.Template.Spec); diff != "" {
			t.Errorf("template (-written +restored):\n%s", diff)
		}
		if diff := cmp.Diff(own, job.Spec.ActiveDeadlineSeconds); diff != "" {
			t.Errorf("activeDeadlineSeconds (-written +restored):\n%s", diff)
		}
		if _, left := job.Annotations[v1alpha1.RestoreAnnotation]; left || job.Spec.Template.Labels[v1alpha1.WorkloadLabel] != "" || len(job.Spec.Template.Annotations) > 0 {
			t.Errorf("marks of the run stay: %v %v", job.Annotations, job.Spec.Template.ObjectMeta)
		}
	}
}

func TestStartKeepsTheShorterLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name string
		own  *int64
		left time.Duration
		want int64
	}{
		{"the walltime alone", nil, time.Hour, 3600},
		{"the author's own limit is shorter", new(int64(60)), time.Hour, 60},
		{"the author's own limit is longer", new(int64(7200)), time.Hour, 3600},
		{"parts of a second are rounded up", nil, 1500 * time.Millisecond, 2},
		{"a deadline that has passed while Berth was down", nil, -time.Minute, 1},
	} {
		job := waitingJob()
		job.Spec.ActiveDeadlineSeconds = test.own
		framework.Job{}.Start(job, framework.Release{Workload: "w", Deadline: now.Add(test.left), Now: now})
		if got := *job.Spec.ActiveDeadlineSeconds; got != test.want {
			t.Errorf("%s: %d seconds, want %d", test.name, got, test.want)
		}
	}
}

func TestB17WalltimeOfAJob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		annotation string
		seconds    *int64
		want       v1alpha1.WorkloadWalltime
	}{
		{"30", nil, "30m"},
		{"30:00", nil, "30m"},
		{"1:00:00", nil, "1h"},
		{"2-12", nil, "2d12h"},
		{"UNLIMITED", nil, "UNLIMITED"},
		{"1h", nil, "1h"},
		{"1h", new(int64(60)), "1m"}, // it ends itself then
		{"1m", new(int64(3600)), "1m"},
		{"UNLIMITED", new(int64(60)), "1m"},
		{"", new(int64(5400)), "1h30m"},
		{"", nil, ""},
		{"-5", nil, "-5"}, // kept as written; the workload says InvalidSpec
	} {
		job := waitingJob()
		job.Annotations[v1alpha1.WalltimeAnnotation] = test.annotation
		job.Spec.ActiveDeadlineSeconds = test.seconds
		if got := (framework.Job{}).Spec(job, convert.PodDefaults{}).Walltime; got != test.want {
			t.Errorf("annotation %q, activeDeadlineSeconds %v: %q, want %q", test.annotation, test.seconds, got, test.want)
		}
	}
}

// TestOurOwnLimitIsNotTheAuthors: after a start activeDeadlineSeconds is
// Berth's, and must not come back as what the author declared.
func TestOurOwnLimitIsNotTheAuthors(t *testing.T) {
	t.Parallel()
	job := waitingJob()
	delete(job.Annotations, v1alpha1.WalltimeAnnotation)
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	framework.Job{}.Start(job, framework.Release{Workload: "w", Deadline: now.Add(time.Hour), Now: now})
	if got := (framework.Job{}).Spec(job, convert.PodDefaults{}).Walltime; got != "" {
		t.Errorf("declared walltime after a start: %q, want none", got)
	}
}

func TestOwnerOfAJob(t *testing.T) {
	t.Parallel()
	ended := metav1.NewTime(time.Date(2026, 1, 5, 1, 0, 0, 0, time.UTC))
	for _, test := range []struct {
		name string
		edit func(*batchv1.Job)
		want batch.Owner
	}{
		{
			"a new Job that was suspended from the start makes no pods",
			func(*batchv1.Job) {},
			batch.Owner{Suspended: true, Needed: []int{4}},
		},
		{
			"a suspension that the Job controller has not seen is none yet",
			func(job *batchv1.Job) { job.Status.StartTime = &ended },
			batch.Owner{Needed: []int{4}},
		},
		{
			"finished indexes leave their places",
			func(job *batchv1.Job) {
				job.Spec.Suspend = new(false)
				job.Status.CompletedIndexes, job.Status.Succeeded = "0,2-3", 3
			},
			batch.Owner{Needed: []int{1}, Done: [][]int{{0, 2, 3}}},
		},
		{
			"more completions than places: the last ones need fewer",
			func(job *batchv1.Job) {
				job.Spec.Suspend = new(false)
				job.Spec.Completions = new(int32(10))
				job.Status.CompletedIndexes, job.Status.Succeeded = "0-7", 8
			},
			batch.Owner{Needed: []int{2}},
		},
		{
			"the walltime ended it",
			func(job *batchv1.Job) {
				job.Status.Conditions = []batchv1.JobCondition{{
					Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonDeadlineExceeded, LastTransitionTime: ended,
				}}
			},
			batch.Owner{Suspended: true, Needed: []int{4}, End: &batch.End{State: batch.Timeout, Time: ended.UTC()}},
		},
		{
			"a Job of no pods",
			func(job *batchv1.Job) { job.Spec.Parallelism = new(int32(0)) },
			batch.Owner{Suspended: true, Paused: true, Needed: []int{0}},
		},
		{
			"its end is decided: there is nothing to start",
			func(job *batchv1.Job) {
				job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue}}
			},
			batch.Owner{Suspended: true, Paused: true, Needed: []int{4}},
		},
		{
			"its end is decided while it runs: its pods end by themselves",
			func(job *batchv1.Job) {
				framework.Job{}.Start(job, framework.Release{Run: 2})
				job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}}
			},
			batch.Owner{Started: true, Run: 2, Needed: []int{4}},
		},
	} {
		job := waitingJob()
		test.edit(job)
		got := framework.Job{}.Owner(job)
		test.want.Termination = 30 * time.Second // what the API server makes of none
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestPausedJobStaysPausedWhenItIsTakenBack: an elastic Job that was made
// smaller, and then set to no pods, gets its author's size back when it asks
// for some again, not before.
func TestPausedJobStaysPausedWhenItIsTakenBack(t *testing.T) {
	t.Parallel()
	job := waitingJob()
	size := *job.Spec.Parallelism
	framework.Job{}.Start(job, framework.Release{Workload: "w", Pods: size - 1})
	if *job.Spec.Parallelism != size-1 {
		t.Fatalf("started with %d pods, want %d", *job.Spec.Parallelism, size-1)
	}
	job.Spec.Parallelism = new(int32(0))
	framework.Job{}.Stop(job)
	framework.Job{}.Restore(job)
	if *job.Spec.Parallelism != 0 {
		t.Errorf("it asks for %d pods, and its author wants none", *job.Spec.Parallelism)
	}
}

// TestTerminationIsThatOfThePods, of a Job and of a Pod.
func TestTerminationIsThatOfThePods(t *testing.T) {
	t.Parallel()
	job := waitingJob()
	job.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(120))
	if got := (framework.Job{}).Owner(job).Termination; got != 2*time.Minute {
		t.Errorf("of a Job: %s, want 2m", got)
	}
	pod := &corev1.Pod{Spec: job.Spec.Template.Spec}
	if got := (framework.Pod{}).Owner(pod).Termination; got != 2*time.Minute {
		t.Errorf("of a Pod: %s, want 2m", got)
	}
}

// TestB25LimitOfARunningJobIsSetAnewOnce for each deadline that it is given: what
// somebody lowers meanwhile stays.
func TestB25LimitOfARunningJobIsSetAnewOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	job := waitingJob()
	framework.Job{}.Start(job, framework.Release{Workload: "job-train-1", Queue: "gpu", Walltime: time.Hour, Deadline: now.Add(time.Hour), Now: now})
	if (framework.Job{}).Relimit(job, now.Add(2*time.Hour), 0) {
		t.Error("a Job without a start time has its limit changed: it counts from there")
	}
	job.Status.StartTime = &metav1.Time{Time: now.Add(2 * time.Second)}
	limits := func(deadline time.Time, overrun time.Duration) (changed bool, seconds *int64) {
		changed = framework.Job{}.Relimit(job, deadline, overrun)
		return changed, job.Spec.ActiveDeadlineSeconds
	}
	if changed, got := limits(now.Add(time.Hour), 0); changed || *got != 3600 {
		t.Errorf("the deadline that it was started with: changed %t to %d", changed, *got)
	}
	if changed, got := limits(now.Add(2*time.Hour), time.Minute); !changed || *got != 7258 {
		t.Errorf("a later deadline: changed %t to %d, want 7258 s from its start", changed, *got)
	}
	job.Spec.ActiveDeadlineSeconds = new(int64(60))
	if changed, got := limits(now.Add(2*time.Hour), time.Minute); changed || *got != 60 {
		t.Errorf("what its author has lowered: changed %t to %d", changed, *got)
	}
	if changed, got := limits(time.Time{}, 0); !changed || got != nil {
		t.Errorf("no deadline: changed %t to %v", changed, got)
	}
	if changed, got := limits(now.Add(time.Hour), 0); !changed || *got != 3598 {
		t.Errorf("the first again: changed %t to %d", changed, *got)
	}
	if got := (framework.Job{}).Walltime(job); got != "2h" {
		t.Errorf("what it declares is %q", got)
	}
	job.Spec.Suspend = new(true)
	framework.Job{}.Restore(job)
	if job.Spec.ActiveDeadlineSeconds != nil {
		t.Errorf("a limit of %d is left behind", *job.Spec.ActiveDeadlineSeconds)
	}
}
