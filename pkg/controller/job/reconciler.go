package job

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/controller/queued"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/framework"
	"github.com/berth-dev/berth/pkg/metrics"
)

// Reconciler is the controller of batch/v1 Jobs.
type Reconciler struct {
	Client  client.Client
	Reader  client.Reader // from the API server itself, past the cache
	Clock   clock.PassiveClock
	Metrics *metrics.Set
	// Announce tells the pods of a workload why they are ended.
	Announce func(ctx context.Context, workload *v1alpha1.QueuedWorkload)
	// Observe takes what the core must hear of: a Job that refuses to start.
	Observe func(batch.Event)
	// Recorder tells people of what no workload's status can say.
	Recorder events.EventRecorder

	stalls stalls
}

const concurrency = 8

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("job").
		For(&batchv1.Job{}).
		Owns(&v1alpha1.QueuedWorkload{}).
		Watches(&schedulingv1.PriorityClass{}, handler.EnqueueRequestsFromMapFunc(r.jobsOfClass)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	job := &batchv1.Job{}
	if err := r.Client.Get(ctx, request.NamespacedName, job); err != nil {
		r.stalls.forget(request.NamespacedName)
		// A Job that is gone takes its workload with it (owner reference).
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if job.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	key := types.NamespacedName{Namespace: job.Namespace, Name: convert.WorkloadName(convert.KindJob, job.Name, job.UID)}
	workload, err := queued.Find(ctx, r.Client, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	if (framework.Job{}).QueueName(job) == "" {
		if err := r.leave(ctx, job, workload); err != nil || !framework.IsArray(job) {
			return ctrl.Result{}, err
		}
		return r.array(ctx, job)
	}
	if workload, err = r.follow(ctx, job, workload); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.obey(ctx, job, workload)
}

// leave forgets a Job that no longer goes through a queue.
func (r *Reconciler) leave(ctx context.Context, job *batchv1.Job, workload *v1alpha1.QueuedWorkload) error {
	if workload == nil {
		return nil
	}
	if err := r.Client.Delete(ctx, workload); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the workload of Job %s/%s, which left its queue: %w", job.Namespace, job.Name, err)
	}
	return nil
}

// follow makes the Job's workload, or brings its spec up to date while it
// waits. What runs was planned as it was, and its record stays, but for its walltime.
func (r *Reconciler) follow(ctx context.Context, job *batchv1.Job, workload *v1alpha1.QueuedWorkload) (*v1alpha1.QueuedWorkload, error) {
	if workload != nil && (workload.Status.Allocation != nil || convert.Finished(workload)) {
		return r.followLimit(ctx, job, workload)
	}
	if workload == nil && ended(job) {
		return nil, nil // it ran before it was ever queued
	}
	defaults, err := queued.Defaults(ctx, r.Client, job.Namespace)
	if err != nil {
		return nil, err
	}
	spec := framework.Job{}.Spec(job, defaults)
	if workload == nil {
		return queued.Create(ctx, r.Client, r.Metrics, framework.Job{}, job, spec)
	}
	if queued.Same(workload.Spec, spec) {
		return workload, nil
	}
	return queued.Update(ctx, r.Client, r.Metrics, workload, spec)
}

// followLimit brings the walltime of a run up to date: of all that was asked for,
// its author may change that alone while it runs.
func (r *Reconciler) followLimit(ctx context.Context, job *batchv1.Job, workload *v1alpha1.QueuedWorkload) (*v1alpha1.QueuedWorkload, error) {
	limit := framework.Job{}.Walltime(job)
	if limit == workload.Spec.Walltime || standing(workload) != mustRun || ended(job) || !startedFor(job, workload) {
		return workload, nil
	}
	spec := *workload.Spec.DeepCopy()
	spec.Walltime = limit
	return queued.Update(ctx, r.Client, r.Metrics, workload, spec)
}

// obey makes the Job do what its workload's status says.
func (r *Reconciler) obey(ctx context.Context, job *batchv1.Job, workload *v1alpha1.QueuedWorkload) error {
	if framework.Decided(job) && !ended(job) {
		return r.letEnd(ctx, job)
	}
	switch standing(workload) {
	case mustRun:
		return r.run(ctx, job, workload)
	case mayGoOn:
	case mustStop:
		if !suspended(job) && !ended(job) {
			r.Announce(ctx, workload)
			return r.change(ctx, job, "suspend", func(job *batchv1.Job) { framework.Job{}.Stop(job) })
		}
		return r.restore(ctx, job)
	case mustWait, mustNotRun:
		if !suspended(job) && !ended(job) {
			return r.recall(ctx, job, workload)
		}
		return r.restore(ctx, job)
	case hasEnded:
	}
	return nil
}

// run makes the Job run as its workload's allocation says.
func (r *Reconciler) run(ctx context.Context, job *batchv1.Job, workload *v1alpha1.QueuedWorkload) error {
	switch {
	case suspended(job):
		return r.start(ctx, job, workload)
	case ended(job):
		return nil
	case !startedFor(job, workload):
		return r.recall(ctx, job, workload)
	default:
		return r.relimit(ctx, job, workload)
	}
}

// letEnd lets the Job controller write down the end that it has decided. It can't
// while a Job is suspended: it takes the start time away with the suspension, and
// the API server refuses an end without one. That is so where the last pod was
// evicted, and has ended after Berth had suspended the Job: it would wait for a
// place to do nothing there. No pod is made of a Job whose end is decided, and
// those that it has the Job controller ends itself, so there is nothing to suspend.
func (r *Reconciler) letEnd(ctx context.Context, job *batchv1.Job) error {
	if !framework.Suspended(job) || job.Status.StartTime != nil || job.Status.Active > 0 {
		return nil // it ends by itself, or its next status comes back here
	}
	return r.change(ctx, job, "let end", framework.Job{}.LetEnd)
}

// recall suspends a Job that runs although its workload has no allocation, or
// another one than the Job was started for: the workload was deleted, somebody
// with the right to has lifted the suspension, or the Job still runs as an
// earlier run. Running work is at stake, so the cache's word is not enough:
// right after a change of leader it may be behind.
func (r *Reconciler) recall(ctx context.Context, job *batchv1.Job, workload *v1alpha1.QueuedWorkload) error {
	now := &v1alpha1.QueuedWorkload{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(workload), now); err != nil {
		return fmt.Errorf("read the workload of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	if at := standing(now); at == hasEnded || (at == mustRun || at == mayGoOn) && startedFor(job, now) {
		return nil // its event comes back here
	}
	return r.change(ctx, job, "suspend", func(job *batchv1.Job) { framework.Job{}.Stop(job) })
}

// startedFor says whether a Job was started for the run that its workload is in.
func startedFor(job *batchv1.Job, workload *v1alpha1.QueuedWorkload) bool {
	owner := framework.Job{}.Owner(job)
	return owner.Started && owner.Run == convert.Restarts(workload)
}

// The standing of a workload, as far as its Job is concerned.
type standingKind int

const (
	mustWait standingKind = iota
	mustRun
	mayGoOn // it was noticed: what runs has its grace, what does not is not started
	mustStop
	mustNotRun // it was taken back for good; its Job stays suspended, never deleted
	hasEnded   // by itself
)

func standing(workload *v1alpha1.QueuedWorkload) standingKind {
	switch {
	case workload == nil:
		return hasEnded
	case convert.EndedByUs(workload):
		return mustNotRun
	case convert.Finished(workload):
		return hasEnded
	case workload.Status.Allocation == nil:
		return mustWait
	case convert.Stopped(workload):
		return mustStop
	case convert.Evicted(workload):
		return mayGoOn
	default:
		return mustRun
	}
}

// start lifts the suspension, in one patch with all that the run needs.
func (r *Reconciler) start(ctx context.Context, job *batchv1.Job, workload *v1alpha1.QueuedWorkload) error {
	run := convert.Restarts(workload)
	if startedFor(job, workload) {
		// It was started for this very run and somebody else has suspended it
		// since: the core sees that and takes the run back.
		return nil
	}
	if !framework.Suspended(job) || job.Status.Active > 0 {
		// The Job controller has not taken note of the last suspension yet,
		// and until then the template cannot be changed. Its status comes back here.
		return nil
	}
	allocation := workload.Status.Allocation
	tolerations, err := queued.FlavorTolerations(ctx, r.Client, allocation.Flavor)
	if err != nil {
		return err
	}
	release := framework.Release{
		Workload: workload.Name, Run: run, Queue: allocation.ClusterQueue,
		Tolerations: tolerations, Pods: *allocation.PodSets[0].Count, Now: r.Clock.Now(),
		LastEviction: convert.LastEviction(workload),
	}
	if allocation.Deadline != nil {
		release.Deadline = allocation.Deadline.Time
		release.Walltime = allocation.Deadline.Sub(allocation.StartTime.Time)
		if release.Overrun, err = queued.Overrun(ctx, r.Client, allocation.ClusterQueue); err != nil {
			return err
		}
	}
	err = r.change(ctx, job, "start", func(job *batchv1.Job) { framework.Job{}.Start(job, release) })
	if queued.Refused(err) {
		r.Observe(batch.StartRefused{ID: convert.WorkloadID(workload.Namespace, workload.Name), Run: run, Text: err.Error()})
		return nil
	}
	return err
}

// relimit has a running Job ended at its deadline, where that was moved.
func (r *Reconciler) relimit(ctx context.Context, job *batchv1.Job, workload *v1alpha1.QueuedWorkload) error {
	allocation := workload.Status.Allocation
	deadline := time.Time{}
	if allocation.Deadline != nil {
		deadline = allocation.Deadline.Time
	}
	if !(framework.Job{}).Relimit(job.DeepCopy(), deadline, 0) {
		return nil
	}
	overrun, err := queued.Overrun(ctx, r.Client, allocation.ClusterQueue)
	if err != nil {
		return err
	}
	return r.change(ctx, job, "limit", func(job *batchv1.Job) { framework.Job{}.Relimit(job, deadline, overrun) })
}

// restore gives the Job back the template that its author wrote, once the Job
// controller has taken note of the suspension and no pod is active.
func (r *Reconciler) restore(ctx context.Context, job *batchv1.Job) error {
	if !framework.Suspended(job) || job.Status.Active > 0 || !(framework.Job{}).Owner(job).Started {
		return nil // the Job controller's next status comes back here
	}
	return r.change(ctx, job, "restore", func(job *batchv1.Job) { framework.Job{}.Restore(job) })
}

// change patches a Job, provided that it still is what the change was made for.
func (r *Reconciler) change(ctx context.Context, job *batchv1.Job, deed string, edit func(*batchv1.Job)) error {
	after := job.DeepCopy()
	edit(after)
	err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(job, client.MergeFromWithOptimisticLock{}))
	switch {
	case err == nil:
		r.Metrics.Wrote("job", metrics.ResultOK)
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // gone, or newer than the cache knew: that version's event comes back here
	case queued.Refused(err):
		r.Metrics.Wrote("job", metrics.ResultRefused)
	default:
		r.Metrics.Wrote("job", metrics.ResultFailed)
	}
	return fmt.Errorf("%s Job %s/%s: %w", deed, job.Namespace, job.Name, err)
}

// suspended says what the Job's author and Berth want of it; whether the Job
// controller has taken note is another question (framework.Suspended).
func suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

func ended(job *batchv1.Job) bool { return (framework.Job{}).Owner(job).End != nil }

// jobsOfClass are the Jobs whose priority comes from a PriorityClass: those
// that name it and still wait.
func (r *Reconciler) jobsOfClass(ctx context.Context, class client.Object) []reconcile.Request {
	jobs := &batchv1.JobList{}
	if err := r.Client.List(ctx, jobs); err != nil {
		return nil // the cache answers; it fails only while shutting down
	}
	var out []reconcile.Request
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if job.Labels[v1alpha1.QueueLabel] != "" && job.Spec.Template.Spec.PriorityClassName == class.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(job)})
		}
	}
	return out
}
