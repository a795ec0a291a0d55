package pod

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
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

// Reconciler gives pods their hosts.
type Reconciler struct {
	Client  client.Client
	Reader  client.Reader // from the API server itself, past the cache
	Clock   clock.PassiveClock
	Metrics *metrics.Set
	// Announce tells the pods of a workload why they are ended.
	Announce func(ctx context.Context, workload *v1alpha1.QueuedWorkload)
	// Observe takes what the core must hear of: a pod that may not be released.
	Observe func(batch.Event)

	mu sync.Mutex
	// given are the ranks of pods that were released by this process and that
	// the cache may still show as gated.
	given map[batch.WorkloadID]map[batch.PodUID]int
	// refusals count how often a pod's release was refused, by workload.
	refusals map[batch.WorkloadID]int
}

const concurrency = 8

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.given = map[batch.WorkloadID]map[batch.PodUID]int{}
	r.refusals = map[batch.WorkloadID]int{}
	return ctrl.NewControllerManagedBy(mgr).
		Named("pod").
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(workloadOf)).
		Watches(&v1alpha1.QueuedWorkload{}, &handler.EnqueueRequestForObject{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(r)
}

// workloadOf is the workload to look at when a pod has changed: one that waits
// for its host, or one that leaves a place to the pod that replaces it.
func workloadOf(_ context.Context, object client.Object) []reconcile.Request {
	pod := object.(*corev1.Pod)
	id := convert.PodWorkload(pod)
	if id == "" || !convert.Gated(pod) && !convert.Pod(pod).Terminal() && pod.DeletionTimestamp == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: convert.SplitID(id)}}
}

// Reconcile implements reconcile.Reconciler; the request names a workload.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	id := convert.WorkloadID(request.Namespace, request.Name)
	workload, err := queued.Find(ctx, r.Client, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	pods, err := queued.Pods(ctx, r.Client, id)
	if err != nil {
		return ctrl.Result{}, err
	}
	if workload == nil {
		r.forget(id)
	}
	if own := ownWorkload(pods); own != nil {
		if workload, err = r.follow(ctx, own, workload); err != nil {
			return ctrl.Result{}, err
		}
		if workload != nil && convert.Stopped(workload) {
			return ctrl.Result{}, r.evict(ctx, own, workload)
		}
	}
	if workload == nil || workload.Status.Allocation == nil || convert.Evicted(workload) || convert.Finished(workload) {
		r.forget(id)
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.release(ctx, workload, ofThisRun(pods, workload))
}

// ofThisRun leaves out what an earlier run has left on a node that was lost: it
// has no place in this one.
func ofThisRun(pods []*corev1.Pod, workload *v1alpha1.QueuedWorkload) []*corev1.Pod {
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		run := convert.Pod(pod).Run
		return run > 0 && run <= convert.Restarts(workload)
	})
}

// ownWorkload is the pod that is its own workload; nil if there is none.
func ownWorkload(pods []*corev1.Pod) *corev1.Pod {
	if len(pods) == 1 && convert.OwnWorkload(pods[0]) {
		return pods[0]
	}
	return nil
}

// follow makes the workload of a pod that is one, or brings it up to date while it
// waits. A pod that is being deleted or was never gated gets none: it would be
// a workload that nobody can start.
func (r *Reconciler) follow(ctx context.Context, pod *corev1.Pod, workload *v1alpha1.QueuedWorkload) (*v1alpha1.QueuedWorkload, error) {
	if pod.DeletionTimestamp != nil || !convert.Gated(pod) {
		return workload, nil
	}
	if workload != nil && (workload.Status.Allocation != nil || convert.Finished(workload)) {
		return workload, nil
	}
	defaults, err := queued.Defaults(ctx, r.Client, pod.Namespace)
	if err != nil {
		return nil, err
	}
	spec := framework.Pod{}.Spec(pod, defaults)
	if workload == nil {
		return queued.Create(ctx, r.Client, r.Metrics, framework.Pod{}, pod, spec)
	}
	if queued.Same(workload.Spec, spec) {
		return workload, nil
	}
	return queued.Update(ctx, r.Client, r.Metrics, workload, spec)
}

func (r *Reconciler) forget(id batch.WorkloadID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.given, id)
	delete(r.refusals, id)
}
