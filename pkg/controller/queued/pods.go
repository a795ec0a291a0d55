package queued

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// PodsByWorkload is the cache's index of pods by the workload they belong to.
const PodsByWorkload = "berth.workload"

// PodsByNode is the cache's index of pods by the node they are on.
const PodsByNode = "berth.node"

// IndexByNode is the function of PodsByNode.
func IndexByNode(object client.Object) []string {
	if node := object.(*corev1.Pod).Spec.NodeName; node != "" {
		return []string{node}
	}
	return nil
}

// IndexPods is the function of PodsByWorkload.
func IndexPods(object client.Object) []string {
	if id := convert.PodWorkload(object.(*corev1.Pod)); id != "" {
		return []string{string(id)}
	}
	return nil
}

// Pods are the pods of a workload.
func Pods(ctx context.Context, reader client.Reader, id batch.WorkloadID) ([]*corev1.Pod, error) {
	list := &corev1.PodList{}
	namespace := convert.SplitID(id).Namespace
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{PodsByWorkload: string(id)}); err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", id, err)
	}
	out := make([]*corev1.Pod, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}
