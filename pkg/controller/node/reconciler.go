package node

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/controller/queued"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/framework"
	"github.com/berth-dev/berth/pkg/metrics"
)

// EventLeftBehind is the reason of the Event on a pod that has left its Job.
const EventLeftBehind = "LeftBehind"

// again is after how long a Job is looked at once more that still runs.
const again = 2 * time.Second

// Reconciler takes pods on lost nodes out of their Jobs.
type Reconciler struct {
	Client   client.Client
	Reader   client.Reader // from the API server itself, past the cache
	Clock    clock.PassiveClock
	Metrics  *metrics.Set
	Recorder events.EventRecorder
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("node").
		For(&corev1.Node{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(nodeOf)).
		Watches(&v1alpha1.SchedulingPolicy{}, handler.EnqueueRequestsFromMapFunc(r.allNodes)).
		Complete(r)
}

// nodeOf is the node to look at when a pod has changed: where one of ours was
// told to end.
func nodeOf(_ context.Context, object client.Object) []reconcile.Request {
	pod := object.(*corev1.Pod)
	if pod.Spec.NodeName == "" || !leftBehind(pod) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: pod.Spec.NodeName}}}
}

// allNodes are looked at when the policy says anew when a node is lost.
func (r *Reconciler) allNodes(ctx context.Context, _ client.Object) []reconcile.Request {
	nodes := &corev1.NodeList{}
	if err := r.Client.List(ctx, nodes); err != nil {
		return nil // the cache answers; it fails only while shutting down
	}
	var out []reconcile.Request
	for i := range nodes.Items {
		if ready, _ := convert.NodeReadiness(&nodes.Items[i]); !ready {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&nodes.Items[i])})
		}
	}
	return out
}

// leftBehind says whether a pod of a Job of ours was told to end and has not.
func leftBehind(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && convert.PodWorkload(pod) != "" && !convert.OwnWorkload(pod) && !convert.Pod(pod).Terminal()
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	node := &corev1.Node{}
	if err := r.Client.Get(ctx, request.NamespacedName, node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // of one that was deleted the cluster removes the pods
	}
	ready, since := convert.NodeReadiness(node)
	if ready {
		return ctrl.Result{}, nil
	}
	timeout, err := r.timeout(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if left := since.Add(timeout).Sub(r.Clock.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.MatchingFields{queued.PodsByNode: node.Name}); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the pods on node %s: %w", node.Name, err)
	}
	result := ctrl.Result{}
	for i := range pods.Items {
		after, err := r.release(ctx, &pods.Items[i], node.Name)
		if err != nil {
			return ctrl.Result{}, err
		}
		if after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
			result.RequeueAfter = after
		}
	}
	return result, nil
}

// timeout is how long a node may be not ready.
func (r *Reconciler) timeout(ctx context.Context) (time.Duration, error) {
	policy := &v1alpha1.SchedulingPolicy{}
	err := r.Client.Get(ctx, types.NamespacedName{Name: v1alpha1.SchedulingPolicyName}, policy)
	if apierrors.IsNotFound(err) {
		return batch.DefaultNodeTimeout, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the SchedulingPolicy: %w", err)
	}
	read, err := convert.Policy(policy)
	return read.NodeTimeoutOf(), err
}

// runsWith says whether a Job runs, and a pod is of that run.
func runsWith(job *batchv1.Job, pod *corev1.Pod) bool {
	owner := framework.Job{}.Owner(job)
	return (job.Spec.Suspend == nil || !*job.Spec.Suspend) && convert.Pod(pod).Run > owner.Run
}

// release takes a pod that should be gone by now out of its Job, or says after
// how long to look again. A Job that runs keeps the pods of that run: it would take
// the loss of one for its own failure, and is going to be suspended.
func (r *Reconciler) release(ctx context.Context, pod *corev1.Pod, node string) (after time.Duration, err error) {
	if !leftBehind(pod) {
		return 0, nil
	}
	if left := pod.DeletionTimestamp.Sub(r.Clock.Now()); left > 0 {
		return left, nil
	}
	job := &batchv1.Job{}
	err = r.Reader.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: metav1.GetControllerOf(pod).Name}, job)
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil // nobody waits for it
	case err != nil:
		return 0, fmt.Errorf("read the Job of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	case job.DeletionTimestamp == nil && runsWith(job, pod):
		return again, nil
	}
	if err := queued.LeaveJob(ctx, r.Client, r.Metrics, pod, v1alpha1.WorkloadLabel, v1alpha1.QueueLabel); err != nil {
		return 0, err
	}
	if err := r.wake(ctx, job, pod.Name); err != nil {
		return 0, err
	}
	r.Recorder.Eventf(pod, nil, corev1.EventTypeWarning, EventLeftBehind, "Release",
		"node %s is lost and nobody can end this pod there; it has left Job %s, so that this need not wait for it", node, job.Name)
	return 0, nil
}

// wake makes the Job controller look at a Job whose pod has left it: it would
// wait for that pod, which it hears no more of.
func (r *Reconciler) wake(ctx context.Context, job *batchv1.Job, pod string) error {
	after := job.DeepCopy()
	metav1.SetMetaDataAnnotation(&after.ObjectMeta, v1alpha1.LeftBehindAnnotation, pod)
	if err := r.Client.Patch(ctx, after, client.MergeFrom(job)); err != nil && !queued.Gone(err) {
		r.Metrics.Wrote("job", metrics.ResultFailed)
		return fmt.Errorf("tell Job %s/%s that %s has left it: %w", job.Namespace, job.Name, pod, err)
	}
	r.Metrics.Wrote("job", metrics.ResultOK)
	return nil
}
