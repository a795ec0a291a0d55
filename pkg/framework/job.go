package framework

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// Job is the kind batch/v1 Job. It waits suspended (the admission policy
// berth-job-queue saw to that), is started by lifting the suspension, and is
// taken back by suspending it again, which never counts as a failure.
type Job struct{}

var _ Kind = Job{}

// Name implements Kind.
func (Job) Name() string { return convert.KindJob }

// QueueName implements Kind.
func (Job) QueueName(object client.Object) string {
	if job := object.(*batchv1.Job); IsArray(job) && !WaitsWhole(job) {
		return "" // its members go through the queue, not the Job
	}
	return object.GetLabels()[v1alpha1.QueueLabel]
}

// Spec implements Kind.
func (Job) Spec(object client.Object, defaults convert.PodDefaults) v1alpha1.QueuedWorkloadSpec {
	job := object.(*batchv1.Job)
	template := &job.Spec.Template
	class, rank := priority(&template.Spec, defaults)
	count := podCount(job)
	if IsArray(job) {
		count = min(count, 1) // it is no gang: each member asks for itself
	}
	set := podSet(count, template.Labels, &template.Spec, defaults)
	set.MinCount = minPods(job, *set.Count)
	spec := v1alpha1.QueuedWorkloadSpec{
		QueueName:         job.Labels[v1alpha1.QueueLabel],
		PodSets:           []v1alpha1.PodSet{set},
		Walltime:          Job{}.Walltime(job),
		Priority:          rank,
		PriorityClassName: class,
		Submitter:         job.Annotations[v1alpha1.SubmitterAnnotation],
	}
	wishes(&spec, job)
	return spec
}

// minPods is the fewest pods that a Job may start with; nil: it is not elastic.
func minPods(job *batchv1.Job, count int32) *int32 {
	least, err := strconv.ParseInt(job.Annotations[v1alpha1.MinPodsAnnotation], 10, 32)
	if err != nil || least < 1 || int32(least) >= count {
		return nil
	}
	return new(int32(least))
}

// Owner implements Kind.
func (Job) Owner(object client.Object) batch.Owner {
	job := object.(*batchv1.Job)
	mark, marked := restoreMark(job)
	owner := batch.Owner{
		Suspended: Suspended(job),
		Paused:    job.Spec.Parallelism != nil && *job.Spec.Parallelism == 0 || Decided(job) && !marked,
		Started:   marked,
		Run:       mark.Run,
		Needed:    []int{needed(job)},
		End:       jobEnd(job),
		Cancel:    cancel(job),

		Termination: terminationOf(&job.Spec.Template.Spec),
	}
	if done := doneRanks(job); done != nil {
		owner.Done = [][]int{done}
	}
	return owner
}

// Suspended says whether the Job controller has taken note of a suspension:
// before that it may still be making pods.
func Suspended(job *batchv1.Job) bool {
	if job.Spec.Suspend == nil || !*job.Spec.Suspend {
		return false
	}
	return job.Status.StartTime == nil || condition(job, batchv1.JobSuspended)
}

// Decided says whether the Job controller knows how a Job ends, and makes no more
// pods of it, though it may not have ended it yet. It never changes its mind: the
// API server refuses that.
func Decided(job *batchv1.Job) bool {
	return condition(job, batchv1.JobSuccessCriteriaMet) || condition(job, batchv1.JobFailureTarget)
}

// podCount is how many pods of a Job run at the same time.
func podCount(job *batchv1.Job) int32 {
	count := int32(1)
	if job.Spec.Parallelism != nil {
		count = *job.Spec.Parallelism
	}
	if job.Spec.Completions != nil {
		count = min(count, *job.Spec.Completions)
	}
	return count
}

// needed is how many pods still run or must run at the same time.
func needed(job *batchv1.Job) int {
	if job.Spec.Completions == nil {
		// A work queue: once one pod has succeeded, no new ones are made.
		if job.Status.Succeeded > 0 {
			return int(job.Status.Active)
		}
		return int(podCount(job))
	}
	left := *job.Spec.Completions - job.Status.Succeeded
	return int(max(0, min(podCount(job), left)))
}

// Expected is how many pods a Job makes at its start: those of indexes that
// have finished, or failed for good, are not made again.
func Expected(job *batchv1.Job) int {
	expected := needed(job)
	if RankIsIndex(job) {
		expected = min(expected, int(podCount(job))-len(doneRanks(job)))
	}
	return expected
}

// RankIsIndex says whether the completion index of a Job's pods is their rank:
// then each index has a place of its own, and a replaced pod takes the place
// of its index.
func RankIsIndex(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion &&
		job.Spec.Completions != nil && *job.Spec.Completions <= podCount(job)
}

// doneRanks are the ranks of an Indexed Job that have finished, succeeded or
// failed for good.
func doneRanks(job *batchv1.Job) []int {
	if !RankIsIndex(job) {
		return nil
	}
	most := int(podCount(job))
	done := indexes(job.Status.CompletedIndexes, most)
	if job.Status.FailedIndexes != nil {
		done = append(done, indexes(*job.Status.FailedIndexes, most)...)
	}
	return done
}

// indexes reads a list such as "1,3-5,7"; numbers from most on are left out.
func indexes(text string, most int) []int {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		from, till, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(till); err != nil {
				continue
			}
		}
		for i := first; i <= last && i < most; i++ {
			out = append(out, i)
		}
	}
	return out
}

func jobEnd(job *batchv1.Job) *batch.End {
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		end := &batch.End{Time: c.LastTransitionTime.UTC(), Message: c.Message}
		switch {
		case c.Type == batchv1.JobComplete:
			end.State = batch.Completed
			if job.Status.CompletionTime != nil {
				end.Time = job.Status.CompletionTime.UTC()
			}
		case c.Type == batchv1.JobFailed && c.Reason == batchv1.JobReasonDeadlineExceeded:
			end.State = batch.Timeout
		case c.Type == batchv1.JobFailed:
			end.State = batch.Failed
			end.Message = c.Reason + ": " + c.Message
		default:
			continue
		}
		return end
	}
	if at := job.DeletionTimestamp; at != nil {
		return &batch.End{State: batch.Cancelled, Time: at.UTC(), Message: "the Job was deleted"}
	}
	return nil
}

func condition(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// mark is what RestoreAnnotation holds: which run a Job was started for, and
// what the start changed in it.
type mark struct {
	Run                   int                 `json:"run"`
	ActiveDeadlineSeconds *int64              `json:"activeDeadlineSeconds,omitempty"`
	Tolerations           []corev1.Toleration `json:"tolerations,omitempty"` // the author's
	TolerationsAdded      bool                `json:"tolerationsAdded,omitempty"`
	Labels                []string            `json:"labels,omitempty"`      // those added to the template
	Annotations           []string            `json:"annotations,omitempty"` // those added to the template
	Parallelism           *int32              `json:"parallelism,omitempty"` // the author's, if it was lowered
	Completions           *int32              `json:"completions,omitempty"` // the author's, if it was lowered
	Deadline              *string             `json:"deadline,omitempty"`    // for which the limit was set anew while it ran
}

// put writes the mark onto a Job.
func (m mark) put(job *batchv1.Job) {
	text, err := json.Marshal(m)
	if err != nil {
		panic("a struct of numbers and texts did not marshal: " + err.Error())
	}
	setKey(&job.Annotations, v1alpha1.RestoreAnnotation, string(text))
}

func restoreMark(job *batchv1.Job) (mark, bool) {
	text, marked := job.Annotations[v1alpha1.RestoreAnnotation]
	if !marked {
		return mark{}, false
	}
	var m mark
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return mark{}, false // only Berth may write it; a broken one restores nothing
	}
	return m, true
}

// Release is what a Job needs to know at its start.
type Release struct {
	Workload string // name of its QueuedWorkload
	Run      int
	Queue    string // ClusterQueue
	// LastEviction is why the run before was taken back; empty: there was none.
	LastEviction string
	Tolerations  []corev1.Toleration
	Pods         int32         // as many as were allocated
	Walltime     time.Duration // granted; 0: unlimited
	Overrun      time.Duration // how long it may go on past the deadline
	Deadline     time.Time     // zero: unlimited
	Now          time.Time
}

// templateKeys are the annotations that a start puts into the pod template.
var templateKeys = []string{
	v1alpha1.ClusterQueueAnnotation, v1alpha1.WalltimeSecondsAnnotation,
	v1alpha1.DeadlineAnnotation, v1alpha1.RestartCountAnnotation, v1alpha1.LastEvictionAnnotation,
}

// Start changes a Job so that its pods are made: the template says which
// workload they belong to, the walltime is written into the Job itself (it
// must be kept even while Berth is down), and the suspension is lifted.
func (Job) Start(job *batchv1.Job, r Release) {
	Job{}.Restore(job) // what an earlier run left, if it could not be cleaned up before
	m := mark{Run: r.Run, ActiveDeadlineSeconds: job.Spec.ActiveDeadlineSeconds}
	spec := &job.Spec.Template.Spec
	if len(r.Tolerations) > 0 {
		m.Tolerations, m.TolerationsAdded = spec.Tolerations, true
		spec.Tolerations = append(append([]corev1.Toleration{}, spec.Tolerations...), r.Tolerations...)
	}
	shrink(job, &m, r.Pods)
	m.put(job)
	setKey(&job.Spec.Template.Labels, v1alpha1.WorkloadLabel, r.Workload)
	annotations := &job.Spec.Template.Annotations
	setKey(annotations, v1alpha1.ClusterQueueAnnotation, r.Queue)
	setKey(annotations, v1alpha1.RestartCountAnnotation, strconv.Itoa(r.Run))
	if r.LastEviction != "" {
		setKey(annotations, v1alpha1.LastEvictionAnnotation, r.LastEviction)
	}
	if !r.Deadline.IsZero() {
		setKey(annotations, v1alpha1.WalltimeSecondsAnnotation, strconv.FormatInt(int64(r.Walltime/time.Second), 10))
		setKey(annotations, v1alpha1.DeadlineAnnotation, r.Deadline.UTC().Format(time.RFC3339))
		job.Spec.ActiveDeadlineSeconds = new(convert.SecondsLeft(m.ActiveDeadlineSeconds, r.Deadline.Sub(r.Now)+r.Overrun))
	}
	job.Spec.Suspend = new(false)
}

// Walltime is the limit that a Job declares; empty: none.
func (Job) Walltime(job *batchv1.Job) v1alpha1.WorkloadWalltime {
	seconds := job.Spec.ActiveDeadlineSeconds
	if mark, started := restoreMark(job); started {
		seconds = mark.ActiveDeadlineSeconds // ours stands in the Job now
	}
	return walltime(job.Annotations[v1alpha1.WalltimeAnnotation], seconds)
}

// Relimit changes a running Job so that it is ended at a deadline (zero: never),
// or as long after it as it may overrun, and reports whether it did. It is done
// once for each deadline: what somebody has lowered since stays.
func (Job) Relimit(job *batchv1.Job, deadline time.Time, overrun time.Duration) bool {
	m, marked := restoreMark(job)
	if !marked || job.Status.StartTime == nil {
		return false
	}
	was, is := job.Spec.Template.Annotations[v1alpha1.DeadlineAnnotation], ""
	if m.Deadline != nil {
		was = *m.Deadline
	}
	if !deadline.IsZero() {
		is = deadline.UTC().Format(time.RFC3339)
	}
	if was == is {
		return false
	}
	job.Spec.ActiveDeadlineSeconds = m.ActiveDeadlineSeconds
	if !deadline.IsZero() {
		job.Spec.ActiveDeadlineSeconds = new(convert.SecondsLeft(m.ActiveDeadlineSeconds, deadline.Add(overrun).Sub(job.Status.StartTime.Time)))
	}
	m.Deadline = &is
	m.put(job)
	return true
}

// shrink makes an elastic Job as large as what it was given. Where each index
// has a pod of its own the completions follow, since a gang of five that was
// told it is eight would wait for three that never come.
func shrink(job *batchv1.Job, m *mark, pods int32) {
	count := podCount(job)
	if pods <= 0 || pods >= count {
		return
	}
	m.Parallelism = &count
	if RankIsIndex(job) {
		m.Completions = job.Spec.Completions
		job.Spec.Completions = &pods
	}
	job.Spec.Parallelism = &pods
}

// Stop changes a running Job so that it makes no more pods and those it has
// end with their grace. Nothing of the old placement may stay in its template,
// but that can be changed only when the Job controller has taken note: see
// Restore.
func (Job) Stop(job *batchv1.Job) {
	job.Spec.Suspend = new(true)
}

// Restore takes back what Start changed and reports whether there was
// anything. The Job must be suspended, with no pods counted as active.
func (Job) Restore(job *batchv1.Job) bool {
	m, marked := restoreMark(job)
	if !marked {
		return false
	}
	if m.TolerationsAdded {
		job.Spec.Template.Spec.Tolerations = m.Tolerations
	}
	job.Spec.ActiveDeadlineSeconds = m.ActiveDeadlineSeconds
	if paused := job.Spec.Parallelism != nil && *job.Spec.Parallelism == 0; m.Parallelism != nil && !paused {
		job.Spec.Parallelism = m.Parallelism
	}
	if m.Completions != nil {
		job.Spec.Completions = m.Completions
	}
	for _, key := range m.Labels {
		delete(job.Spec.Template.Labels, key)
	}
	for _, key := range m.Annotations {
		delete(job.Spec.Template.Annotations, key)
	}
	delete(job.Annotations, v1alpha1.RestoreAnnotation)
	delete(job.Spec.Template.Labels, v1alpha1.WorkloadLabel)
	for _, key := range templateKeys {
		delete(job.Spec.Template.Annotations, key)
	}
	return true
}

// LetEnd resumes a Job of which the end is decided, so that it can end, with the
// template that its author wrote. It must be suspended, with no pods counted as
// active.
func (j Job) LetEnd(job *batchv1.Job) {
	j.Restore(job)
	job.Spec.Suspend = new(false)
}

func setKey(keys *map[string]string, key, value string) {
	if *keys == nil {
		*keys = map[string]string{}
	}
	(*keys)[key] = value
}
