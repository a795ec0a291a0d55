package framework_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/framework"
)

// TestMembersSayWhatTheirJobSaid: the pods of an array go through the queue
// one by one, and nothing of that stays in the Job when it is taken back.
func TestMembersSayWhatTheirJobSaid(t *testing.T) {
	t.Parallel()
	before := waitingJob()
	before.Annotations[v1alpha1.ArrayAnnotation] = "true"
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
