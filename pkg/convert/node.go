package convert

import (
	"slices"
	"time"

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
	}
	out.Ready, out.NotReadySince = NodeReadiness(node)
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

// NodeReadiness is whether a node is ready, and since when it is not. One that has
// never said anything is not ready since it was made.
func NodeReadiness(node *corev1.Node) (ready bool, notSince time.Time) {
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status == corev1.ConditionTrue {
			return true, time.Time{}
		}
		return false, condition.LastTransitionTime.UTC()
	}
	return false, node.CreationTimestamp.UTC()
}
