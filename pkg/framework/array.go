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
	v1alpha1.AccountAnnotation, v1alpha1.TopologyAnnotation, v1alpha1.CheckpointAnnotation,
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

// WaitsWhole says whether an array waits as a whole: its author holds it, and
// none of its members has been made.
func WaitsWhole(job *batchv1.Job) bool {
	_, started := restoreMark(job)
	return IsArray(job) && !started && job.Annotations[v1alpha1.HoldAnnotation] == "true"
}

// Members counts the members of an array.
type Members struct {
	All       int
	Succeeded int
	Failed    int // for good
	Exist     int // have a pod that waits or runs
	AtOnce    int // may exist at the same time: the Job's parallelism
}

// MembersOf counts the members of an array, as the Job controller has them.
func MembersOf(job *batchv1.Job) Members {
	m := Members{Succeeded: int(job.Status.Succeeded), Exist: int(job.Status.Active), AtOnce: 1}
	if job.Spec.Completions != nil {
		m.All = int(*job.Spec.Completions)
	}
	if job.Spec.Parallelism != nil {
		m.AtOnce = int(*job.Spec.Parallelism)
	}
	if job.Status.FailedIndexes != nil {
		m.Failed = len(indexes(*job.Status.FailedIndexes, m.All))
	}
	return m
}

// Unmade is how many have not had their turn to be made.
func (m Members) Unmade() int { return max(0, m.All-m.Succeeded-m.Failed-m.Exist) }

// Missing is how many might exist now and do not.
func (m Members) Missing() int { return max(0, min(m.Unmade(), m.AtOnce-m.Exist)) }
