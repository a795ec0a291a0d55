package pod

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/controller/queued"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/metrics"
)

// evict ends a pod that is a workload of its own and was taken back. A pod
// can't be suspended, so it is deleted, with the grace that is its own.
//
// Running work is at stake, and the cache may be behind: what the API server
// says counts.
func (r *Reconciler) evict(ctx context.Context, pod *corev1.Pod, workload *v1alpha1.QueuedWorkload) error {
	if convert.Gated(pod) || pod.DeletionTimestamp != nil || convert.Pod(pod).Terminal() {
		return nil // it never ran, and may wait again; or it ends already
	}
	now := &v1alpha1.QueuedWorkload{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(workload), now); err != nil {
		return fmt.Errorf("read the workload of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if now.UID != workload.UID || !convert.Stopped(now) {
		return nil // its event comes back here
	}
	r.Announce(ctx, now)
	// A pod of a running Job that is deleted counts: as a failure, or, where it
	// saves its work and exits 0, as the success of its index. One that has left
	// its Job counts for nothing; the Job controller makes the index anew, and
	// that one waits in the old place.
	if metav1.GetControllerOf(pod) != nil {
		if err := queued.LeaveJob(ctx, r.Client, r.Metrics, pod); err != nil {
			return err
		}
	}
	err := r.Client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
	if err != nil && !queued.Gone(err) {
		r.Metrics.Wrote("pod", metrics.ResultFailed)
		return fmt.Errorf("delete pod %s/%s, which was taken back: %w", pod.Namespace, pod.Name, err)
	}
	r.Metrics.Wrote("pod", metrics.ResultOK)
	return nil
}
