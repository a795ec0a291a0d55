package framework

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// mainPodSet is the name of the only pod set of a Job or a bare pod.
const mainPodSet = "main"

// podSet is the group of like pods that a template makes.
func podSet(count int32, labels map[string]string, spec *corev1.PodSpec, defaults convert.PodDefaults) v1alpha1.PodSet {
	set := v1alpha1.PodSet{
		Name:                      mainPodSet,
		Count:                     &count,
		Requests:                  convert.TemplateRequests(*spec, defaults),
		NodeSelector:              spec.NodeSelector,
		Affinity:                  spec.Affinity,
		TopologySpreadConstraints: spec.TopologySpreadConstraints,
		Tolerations:               spec.Tolerations,
	}
	set.HostPorts = hostPorts(spec)
	if spec.Affinity != nil && spec.Affinity.PodAntiAffinity != nil {
		set.Labels = labels
	}
	return set
}

func value(seconds *int64) int64 {
	if seconds == nil {
		return 0
	}
	return *seconds
}

// hostPorts are the ports of its node that a pod takes, each once.
func hostPorts(spec *corev1.PodSpec) []int32 {
	var ports []int32
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, port := range containers[i].Ports {
				host := port.HostPort
				if host == 0 && spec.HostNetwork {
					host = port.ContainerPort // as the API server will say
				}
				if host != 0 {
					ports = append(ports, host)
				}
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// priority is the PriorityClass that pods of a template get, and its value:
// nil if the class does not exist.
func priority(spec *corev1.PodSpec, defaults convert.PodDefaults) (string, *int32) {
	name := spec.PriorityClassName
	if name == "" {
		name = defaults.DefaultPriorityClass
	}
	if name == "" {
		return "", nil
	}
	if value, known := defaults.PriorityClasses[name]; known {
		return name, &value
	}
	return name, nil
}

// walltime is what an object declares: the annotation, else the limit that the
// object has of its own, in seconds; of both the shorter, which ends it. A valid text is stored in plain form, a
// wrong one as it stands, so that the workload can say what is wrong with it.
func walltime(annotation string, seconds *int64) v1alpha1.WorkloadWalltime {
	if annotation == "" && seconds == nil {
		return ""
	}
	if annotation == "" {
		annotation = strconv.FormatInt(*seconds, 10) + "s"
	}
	length, err := batch.ParseWalltime(annotation)
	if err != nil {
		return v1alpha1.WorkloadWalltime(convert.Cut(annotation, textMax))
	}
	if own := batch.Walltime(time.Duration(value(seconds)) * time.Second); own > 0 && (length == batch.Unlimited || own < length) {
		length = own
	}
	return v1alpha1.WorkloadWalltime(batch.FormatWalltime(length))
}
