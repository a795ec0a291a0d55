package framework

import (
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// IsArray says whether a queued Job is an array: no gang, but as many workloads
// as it has indexes. Its pods are made at once, as many as its parallelism
// allows, and wait gated, each for itself; the rest exist only as a number.
func IsArray(job *batchv1.Job) bool {
	return job.Labels[v1alpha1.QueueLabel] != "" && job.Annotations[v1alpha1.ArrayAnnotation] == "true"
}

// memberOptions are what each member of an array takes over from its Job.
var memberOptions = []string{
	v1alpha1.TimeMinAnnotation, v1alpha1.BeginAnnotation, v1alpha1.EndBeforeAnnotation,
	v1alpha1.AfterAnnotation, v1alpha1.ExclusiveAnnotation, v1alpha1.SubmitterAnnotation,
}

// StartArray changes an array so that its pods are made: each is born gated,
// and says by itself what its Job said.
func (Job) StartArray(job *batchv1.Job) {
	Job{}.Restore(job)
	m := mark{}
	template := &job.Spec.Template
	label := func(key, value string) {
		if template.Labels[key] != value {
			m.Labels = append(m.Labels, key)
			setKey(&template.Labels, key, value)
		}
	}
	label(v1alpha1.WorkloadLabel, v1alpha1.ArrayMember)
	label(v1alpha1.QueueLabel, job.Labels[v1alpha1.QueueLabel])
	if name := job.Labels[v1alpha1.JobNameLabel]; name != "" {
		label(v1alpha1.JobNameLabel, name)
	}
	// The Job's own limit would count while its members wait: each has it
	// for itself.
	m.ActiveDeadlineSeconds, job.Spec.ActiveDeadlineSeconds = job.Spec.ActiveDeadlineSeconds, nil
	if limit := walltime(job.Annotations[v1alpha1.WalltimeAnnotation], m.ActiveDeadlineSeconds); limit != "" {
		m.Annotations = append(m.Annotations, v1alpha1.WalltimeAnnotation)
		setKey(&template.Annotations, v1alpha1.WalltimeAnnotation, string(limit))
	}
	for _, key := range memberOptions {
		if said, some := job.Annotations[key]; some {
			m.Annotations = append(m.Annotations, key)
			setKey(&template.Annotations, key, said)
		}
	}
	m.Annotations = append(m.Annotations, v1alpha1.QueuedAtAnnotation, v1alpha1.MembersAnnotation)
	if members := job.Spec.Completions; members != nil {
		setKey(&template.Annotations, v1alpha1.MembersAnnotation, strconv.Itoa(int(*members)))
	}
	setKey(&template.Annotations, v1alpha1.QueuedAtAnnotation, job.CreationTimestamp.UTC().Format(time.RFC3339))
	m.put(job)
	job.Spec.Suspend = new(false)
}
