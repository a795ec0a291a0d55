package convert

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berth-dev/berth/pkg/batch"
)

// PinnedAffinity is a pod's affinity with its host added. The host is named by
// a match on metadata.name, which kube-scheduler answers by looking at that
// one node, and which a gated pod may gain: to each term that is there, since
// terms are alternatives.
func PinnedAffinity(affinity *corev1.Affinity, host batch.NodeName) *corev1.Affinity {
	out := affinity.DeepCopy()
	if out == nil {
		out = &corev1.Affinity{}
	}
	if out.NodeAffinity == nil {
		out.NodeAffinity = &corev1.NodeAffinity{}
	}
	pin := corev1.NodeSelectorRequirement{
		Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{string(host)},
	}
	required := out.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
		out.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		term.MatchFields = append(term.MatchFields, pin)
	}
	return out
}
