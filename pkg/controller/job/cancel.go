package job

import (
	"context"
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/controller/queued"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/framework"
	"github.com/berth-dev/berth/pkg/metrics"
)

// cancelArray ends an array as its user wants it. Each member hears of it as a
// workload of its own would, with its notice and its time. Those that run leave
// their Job, so that this can be suspended at once: that takes those away that
// wait, and no index is made again.
func (r *Reconciler) cancelArray(ctx context.Context, job *batchv1.Job) error {
	if suspended(job) {
		return nil
	}
	pods := &corev1.PodList{}
	mine := client.MatchingLabels{batchv1.ControllerUidLabel: string(job.UID)}
	if err := r.Client.List(ctx, pods, client.InNamespace(job.Namespace), mine); err != nil {
		return fmt.Errorf("list the members of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !metav1.IsControlledBy(pod, job) || convert.Pod(pod).Terminal() {
			continue
		}
		if err := r.cancelMember(ctx, pod, job.Annotations[v1alpha1.CancelAnnotation]); err != nil {
			return err
		}
		if convert.Gated(pod) {
			continue
		}
		if err := queued.LeaveJob(ctx, r.Client, r.Metrics, pod); err != nil {
			return err
		}
	}
	return r.change(ctx, job, "cancel array", func(job *batchv1.Job) { framework.Job{}.Stop(job) })
}

// cancelMember passes its Job's cancel on to a member.
func (r *Reconciler) cancelMember(ctx context.Context, pod *corev1.Pod, grace string) error {
	if _, told := pod.Annotations[v1alpha1.CancelAnnotation]; told || pod.DeletionTimestamp != nil {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]string{v1alpha1.CancelAnnotation: grace},
	}})
	if err != nil {
		return fmt.Errorf("patch for pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	err = r.Client.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, body))
	if queued.Gone(err) {
		return nil
	}
	if err != nil {
		r.Metrics.Wrote("pod", metrics.ResultFailed)
		return fmt.Errorf("cancel pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	r.Metrics.Wrote("pod", metrics.ResultOK)
	return nil
}
