package convert_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// The planner matches selectors and taints by code of its own, because it may
// not import Kubernetes. These properties hold that code against the library
// that kube-scheduler uses: what the planner thinks fits must be what
// kube-scheduler thinks fits.

func someNode(t *rapid.T) *corev1.Node {
	key := rapid.SampledFrom([]string{"zone", "rack", "size"})
	value := rapid.SampledFrom([]string{"a", "b", "3", "10", "x1"})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   rapid.SampledFrom([]string{"n1", "n2", "n10"}).Draw(t, "name"),
		Labels: rapid.MapOfN(key, value, 0, 3).Draw(t, "labels"),
	}}
	for range rapid.IntRange(0, 2).Draw(t, "taints") {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
			Key:    key.Draw(t, "taint key"),
			Value:  value.Draw(t, "taint value"),
			Effect: rapid.SampledFrom([]corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}).Draw(t, "effect"),
		})
	}
	return node
}

func somePod(t *rapid.T) *corev1.Pod {
	key := rapid.SampledFrom([]string{"zone", "rack", "size"})
	value := rapid.SampledFrom([]string{"a", "b", "3", "10", "x1"})
	pod := &corev1.Pod{}
	if rapid.Bool().Draw(t, "has nodeSelector") {
		pod.Spec.NodeSelector = rapid.MapOfN(key, value, 0, 2).Draw(t, "nodeSelector")
	}
	if rapid.Bool().Draw(t, "has affinity") {
		selector := &corev1.NodeSelector{}
		for range rapid.IntRange(1, 3).Draw(t, "terms") {
			var term corev1.NodeSelectorTerm
			for range rapid.IntRange(0, 2).Draw(t, "expressions") {
				term.MatchExpressions = append(term.MatchExpressions, someRequirement(t, key, value))
			}
			if rapid.IntRange(0, 3).Draw(t, "by name") == 0 {
				term.MatchFields = append(term.MatchFields, corev1.NodeSelectorRequirement{
					Key: "metadata.name", Operator: rapid.SampledFrom([]corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn}).Draw(t, "op"),
					Values: []string{rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "host")},
				})
			}
			selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
		}
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}}
	}
	for range rapid.IntRange(0, 3).Draw(t, "tolerations") {
		toleration := corev1.Toleration{
			Operator: rapid.SampledFrom([]corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists}).Draw(t, "operator"),
			Effect:   rapid.SampledFrom([]corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}).Draw(t, "tolerated effect"),
		}
		toleration.Key = key.Draw(t, "tolerated key")
		switch {
		case toleration.Operator != corev1.TolerationOpExists:
			toleration.Value = value.Draw(t, "tolerated value")
		case rapid.Bool().Draw(t, "any key"):
			toleration.Key = ""
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
	}
	return pod
}

func someRequirement(t *rapid.T, key, value *rapid.Generator[string]) corev1.NodeSelectorRequirement {
	r := corev1.NodeSelectorRequirement{Key: key.Draw(t, "key"), Operator: rapid.SampledFrom([]corev1.NodeSelectorOperator{
		corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
		corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt,
	}).Draw(t, "operator")}
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		r.Values = rapid.SliceOfN(value, 1, 3).Draw(t, "values")
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		r.Values = []string{rapid.SampledFrom([]string{"2", "5", "10"}).Draw(t, "bound")}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
	}
	return r
}

func TestSelectorsMatchAsKubeSchedulerDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		node, pod := someNode(t), somePod(t)
		want, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
		if err != nil {
			t.Skip("kube-scheduler refuses the selector: ", err)
		}
		set := podSetOf(pod)
		seen := convert.Node(node)
		if got := set.Selector.Matches(&seen); got != want {
			t.Fatalf("selector %+v on node %+v: got %v, kube-scheduler says %v", set.Selector, seen, got, want)
		}
	})
}

func TestTaintsKeepPodsOffAsKubeSchedulerDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		node, pod := someNode(t), somePod(t)
		_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations,
			func(taint *corev1.Taint) bool { return taint.Effect != corev1.TaintEffectPreferNoSchedule }, false)
		seen := convert.Node(node)
		if got := batch.Tolerates(podSetOf(pod).Tolerations, seen.Taints); got == untolerated {
			t.Fatalf("tolerations %+v, taints %+v: got %v, kube-scheduler finds an untolerated taint: %v",
				pod.Spec.Tolerations, node.Spec.Taints, got, untolerated)
		}
	})
}

// podSetOf sends a pod the way that a Job's template goes.
func podSetOf(pod *corev1.Pod) batch.PodSet {
	workload := convert.Workload(&v1alpha1.QueuedWorkload{Spec: v1alpha1.QueuedWorkloadSpec{PodSets: []v1alpha1.PodSet{{
		Name: "main", Count: new(int32(1)), NodeSelector: pod.Spec.NodeSelector, Affinity: pod.Spec.Affinity, Tolerations: pod.Spec.Tolerations,
	}}}})
	return workload.PodSets[0]
}
