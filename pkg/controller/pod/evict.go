package pod

import (
	"context"
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/metrics"
)

// jobLabels tie a pod to its Job: the Job's selector asks for the first.
var jobLabels = []string{batchv1.ControllerUidLabel, "controller-uid"}

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
	if metav1.GetControllerOf(pod) != nil {
		if err := r.leaveJob(ctx, pod); err != nil {
			return err
		}
	}
	err := r.Client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		r.Metrics.Wrote("pod", metrics.ResultFailed)
		return fmt.Errorf("delete pod %s/%s, which was taken back: %w", pod.Namespace, pod.Name, err)
	}
	r.Metrics.Wrote("pod", metrics.ResultOK)
	return nil
}

// leaveJob takes a member of an array out of its Job before it is deleted. A
// pod of a running Job that is deleted counts: as a failure, or, where it saves
// its work and exits 0, as the success of its index. One that has left counts
// for nothing; the Job controller makes the index anew, and that one waits in
// the old place.
func (r *Reconciler) leaveJob(ctx context.Context, pod *corev1.Pod) error {
	labels := map[string]any{}
	for _, key := range jobLabels {
		labels[key] = nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":             pod.UID,
		"labels":          labels,
		"ownerReferences": []map[string]any{{"$patch": "delete", "uid": metav1.GetControllerOf(pod).UID}},
	}})
	if err != nil {
		return fmt.Errorf("patch for pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	err = r.Client.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, body))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		r.Metrics.Wrote("pod", metrics.ResultFailed)
		return fmt.Errorf("take pod %s/%s out of its Job: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}
