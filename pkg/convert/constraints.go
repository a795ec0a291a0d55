package convert

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-dev/berth/pkg/batch"
)

// nodeSelector is what a pod set demands of its nodes.
func nodeSelector(selector map[string]string, affinity *corev1.Affinity) batch.NodeSelector {
	out := batch.NodeSelector{Labels: selector}
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return out
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		out.AnyOf = append(out.AnyOf, batch.NodeTerm{
			Labels: requirements(term.MatchExpressions),
			Names:  requirements(term.MatchFields),
		})
	}
	if out.AnyOf == nil {
		// A required selector without terms matches no node.
		out.AnyOf = []batch.NodeTerm{{}}
	}
	return out
}

func requirements(list []corev1.NodeSelectorRequirement) []batch.Requirement {
	var out []batch.Requirement
	for _, r := range list {
		out = append(out, batch.Requirement{Key: r.Key, Op: batch.Operator(r.Operator), Values: r.Values})
	}
	return out
}

// labelSelector converts a LabelSelector; nil matches everything here.
func labelSelector(selector *metav1.LabelSelector) batch.LabelSelector {
	var out batch.LabelSelector
	if selector == nil {
		return out
	}
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		out.All = append(out.All, batch.Requirement{Key: key, Op: batch.OpIn, Values: []string{selector.MatchLabels[key]}})
	}
	for _, r := range selector.MatchExpressions {
		out.All = append(out.All, batch.Requirement{Key: r.Key, Op: batch.Operator(r.Operator), Values: r.Values})
	}
	return out
}

func tolerations(list []corev1.Toleration) []batch.Toleration {
	var out []batch.Toleration
	for _, t := range list {
		out = append(out, batch.Toleration{Key: t.Key, Op: string(t.Operator), Value: t.Value, Effect: string(t.Effect)})
	}
	return out
}

// perNodeMax is 1 where the pods of a set refuse to share a node with one
// another (required anti-affinity by host name on labels that they carry, or a
// host port), else 0.
func perNodeMax(set podRules) int {
	if len(set.hostPorts) > 0 {
		return 1
	}
	for _, term := range set.antiAffinity() {
		if term.TopologyKey == corev1.LabelHostname && matchesOwn(term, set.labels) {
			return 1
		}
	}
	return 0
}

// unplannable says, in words, which rule of a pod set Berth cannot plan with;
// empty if there is none. Accepting one in silence would start gangs that
// kube-scheduler then cannot place.
func unplannable(set podRules) string {
	if a := set.affinity; a != nil && a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		return "required podAffinity is not supported yet; use preferredDuringSchedulingIgnoredDuringExecution or a nodeSelector"
	}
	for _, term := range set.antiAffinity() {
		if term.TopologyKey != corev1.LabelHostname {
			return fmt.Sprintf("required podAntiAffinity by %q is not supported yet; only %q is", term.TopologyKey, corev1.LabelHostname)
		}
		if !matchesOwn(term, set.labels) {
			return "required podAntiAffinity against other pods is not supported yet; only of a Job's pods to one another"
		}
	}
	for _, constraint := range set.spread {
		if constraint.WhenUnsatisfiable == corev1.DoNotSchedule {
			return fmt.Sprintf("topologySpreadConstraints with DoNotSchedule (key %q) are not supported yet; use ScheduleAnyway", constraint.TopologyKey)
		}
	}
	return ""
}

// podRules are the rules between pods in a pod set.
type podRules struct {
	affinity *corev1.Affinity
	spread   []corev1.TopologySpreadConstraint
	labels   map[string]string

	hostPorts []int32
}

func (r podRules) antiAffinity() []corev1.PodAffinityTerm {
	if r.affinity == nil || r.affinity.PodAntiAffinity == nil {
		return nil
	}
	return r.affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func matchesOwn(term corev1.PodAffinityTerm, own map[string]string) bool {
	if term.LabelSelector == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	return err == nil && selector.Matches(labels.Set(own))
}
