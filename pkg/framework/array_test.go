package framework_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/framework"
)

// TestMembersSayWhatTheirJobSaid: the pods of an array go through the queue
// one by one, and nothing of that stays in the Job when it is taken back.
func TestMembersSayWhatTheirJobSaid(t *testing.T) {
	t.Parallel()
	before := waitingJob()
	before.Annotations[v1alpha1.ArrayAnnotation] = "true"
	before.Annotations[v1alpha1.AccountAnnotation], before.Annotations[v1alpha1.SubmitterAnnotation] = "lab", "ann"
	job := before.DeepCopy()
	for range 2 {
		framework.Job{}.StartArray(job)
	}
	template := job.Spec.Template
	if *job.Spec.Suspend || template.Labels[v1alpha1.QueueLabel] != "gpu" || template.Labels[v1alpha1.WorkloadLabel] != v1alpha1.ArrayMember {
		t.Errorf("the members do not go through the queue: %+v", template.ObjectMeta)
	}
	if got := template.Annotations[v1alpha1.WalltimeAnnotation]; got != "2h" {
		t.Errorf("walltime of a member: %q", got)
	}
	if account, user := template.Annotations[v1alpha1.AccountAnnotation], template.Annotations[v1alpha1.SubmitterAnnotation]; account != "lab" || user != "ann" {
		t.Errorf("a member is charged to %q by %q, want lab by ann", account, user)
	}
	if got := (framework.Job{}).QueueName(job); got != "" {
		t.Errorf("the Job itself waits in queue %q", got)
	}
	framework.Job{}.Stop(job)
	framework.Job{}.Restore(job)
	if diff := cmp.Diff(before.Spec.Template.Labels, job.Spec.Template.Labels); diff != "" {
		t.Errorf("labels (-written +restored):\n%s", diff)
	}
	if len(job.Spec.Template.Annotations) > 0 {
		t.Errorf("annotations that stay: %v", job.Spec.Template.Annotations)
	}
}

// TestHeldArrayWaitsAsAWhole: before its members are made it has a workload of
// its own, which asks for what one member does.
func TestHeldArrayWaitsAsAWhole(t *testing.T) {
	t.Parallel()
	job := waitingJob()
	job.Spec.Completions, job.Spec.Parallelism = new(int32(100)), new(int32(12))
	job.Annotations[v1alpha1.ArrayAnnotation] = "true"
	if got := (framework.Job{}).QueueName(job); got != "" {
		t.Errorf("an array that nobody holds waits in queue %q as a whole", got)
	}
	job.Annotations[v1alpha1.HoldAnnotation] = "true"
	if got := (framework.Job{}).QueueName(job); got != "gpu" {
		t.Errorf("a held array waits in queue %q, want gpu", got)
	}
	spec := framework.Job{}.Spec(job, convert.PodDefaults{})
	if got := *spec.PodSets[0].Count; got != 1 || spec.Hold != v1alpha1.HoldAll {
		t.Errorf("it asks for %d pods and its hold is %s, want 1 and Hold", got, spec.Hold)
	}
	if got := framework.Record(job)[v1alpha1.MembersAnnotation]; got != "100" {
		t.Errorf("it is on record with %q members, want 100", got)
	}
	framework.Job{}.StartArray(job)
	if got := (framework.Job{}).QueueName(job); got != "" {
		t.Errorf("an array that is held after its members were made waits in queue %q as a whole", got)
	}
}
