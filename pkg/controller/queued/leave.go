package queued

import (
	"context"
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/pkg/metrics"
)

// LeaveJob takes a pod out of its Job: it loses its owner and the labels by
// which the Job's selector finds it, and others that are named. Whatever becomes
// of it then counts for nothing, and nobody waits for it.
func LeaveJob(ctx context.Context, c client.Client, m *metrics.Set, pod *corev1.Pod, labels ...string) error {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return nil
	}
	gone := map[string]any{}
	for _, key := range append(labels, batchv1.ControllerUidLabel, "controller-uid") {
		gone[key] = nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":             pod.UID,
		"labels":          gone,
		"ownerReferences": []map[string]any{{"$patch": "delete", "uid": owner.UID}},
	}})
	if err != nil {
		return fmt.Errorf("patch for pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	err = c.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, body))
	if err != nil && !Gone(err) {
		m.Wrote("pod", metrics.ResultFailed)
		return fmt.Errorf("take pod %s/%s out of its Job: %w", pod.Namespace, pod.Name, err)
	}
	m.Wrote("pod", metrics.ResultOK)
	return nil
}
