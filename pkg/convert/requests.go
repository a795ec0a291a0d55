package convert

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/berth-dev/berth/pkg/batch"
)

// PodDefaults is what the API server adds to a pod when it is made, and what
// a pod template therefore does not show yet.
type PodDefaults struct {
	// Overhead by RuntimeClass name.
	Overhead map[string]corev1.ResourceList
	// LimitRanges of the namespace.
	LimitRanges []corev1.LimitRange
	// PriorityClasses by name: the value that a pod gets.
	PriorityClasses map[string]int32
	// DefaultPriorityClass is the name of the global default; empty: none.
	DefaultPriorityClass string
}

// TemplateRequests is what one pod made from a template will ask for in all:
// after the defaults of the API server (limits without requests, RuntimeClass
// overhead, LimitRange defaults), as kube-scheduler counts it: containers,
// the peak of init containers with the sidecars before them, overhead,
// pod-level requests.
func TemplateRequests(template corev1.PodSpec, defaults PodDefaults) corev1.ResourceList {
	pod := &corev1.Pod{Spec: *template.DeepCopy()}
	for i := range pod.Spec.InitContainers {
		defaultRequests(&pod.Spec.InitContainers[i].Resources, defaults.LimitRanges)
	}
	for i := range pod.Spec.Containers {
		defaultRequests(&pod.Spec.Containers[i].Resources, defaults.LimitRanges)
	}
	defaultPodLevel(pod)
	if name := pod.Spec.RuntimeClassName; name != nil && pod.Spec.Overhead == nil {
		pod.Spec.Overhead = defaults.Overhead[*name]
	}
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}

// defaultRequests fills in the requests that a container does not state: from
// its own limits first (API defaulting), then from the LimitRanges of its
// namespace (admission).
func defaultRequests(r *corev1.ResourceRequirements, ranges []corev1.LimitRange) {
	fill := func(list corev1.ResourceList) {
		for name, quantity := range list { //order:any each entry is set by itself
			if _, set := r.Requests[name]; set {
				continue
			}
			if r.Requests == nil {
				r.Requests = corev1.ResourceList{}
			}
			r.Requests[name] = quantity
		}
	}
	fill(r.Limits)
	for _, limits := range ranges {
		for _, item := range limits.Spec.Limits {
			if item.Type == corev1.LimitTypeContainer {
				fill(item.DefaultRequest)
			}
		}
	}
}

// defaultPodLevel fills in pod-level requests where only pod-level limits are
// stated: what the containers ask for together, else the limit.
func defaultPodLevel(pod *corev1.Pod) {
	level := pod.Spec.Resources
	if level == nil || len(level.Limits) == 0 {
		return
	}
	containers := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
	for name, limit := range level.Limits { //order:any each entry is set by itself
		if _, set := level.Requests[name]; set || !resourcehelper.IsSupportedPodLevelResource(name) {
			continue
		}
		if level.Requests == nil {
			level.Requests = corev1.ResourceList{}
		}
		level.Requests[name] = limit
		if asked, some := containers[name]; some {
			level.Requests[name] = asked
		}
	}
}

// PodRequests is what an existing pod holds on its node: requests in the spec,
// or what the node has allotted where a resize is under way, plus its pod slot.
func PodRequests(pod *corev1.Pod) batch.Resources {
	list := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
	return withSlot(list)
}

// withSlot adds the pod's own slot: nodes bound the number of pods.
func withSlot(list corev1.ResourceList) batch.Resources {
	out := Resources(list)
	out[batch.ResourcePods] = 1
	return out
}

// gpus is the number of GPUs in a list.
func gpus(list corev1.ResourceList) int64 {
	quantity := list[corev1.ResourceName(batch.ResourceGPU)]
	return quantity.Value()
}
