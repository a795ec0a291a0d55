package convert

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/berth-dev/berth/pkg/batch"
)

// Node is a node as the planner sees it. A cordon becomes the taint that
// Kubernetes gives it, so that a pod that tolerates it may still go there.
func Node(node *corev1.Node) batch.Node {
	out := batch.Node{
		Name:     batch.NodeName(node.Name),
		Labels:   node.Labels,
		Capacity: Resources(node.Status.Allocatable),
		Ready:    ready(node),
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute {
			out.Taints = append(out.Taints, batch.Taint{Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect)})
		}
	}
	cordon := batch.Taint{Key: corev1.TaintNodeUnschedulable, Effect: string(corev1.TaintEffectNoSchedule)}
	if node.Spec.Unschedulable && !slices.Contains(out.Taints, cordon) {
		out.Taints = append(out.Taints, cordon)
	}
	return out
}

func ready(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
