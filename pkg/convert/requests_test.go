package convert_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func container(requests corev1.ResourceList) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: requests}}
}

func sidecar(requests corev1.ResourceList) corev1.Container {
	c := container(requests)
	c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	return c
}

// TestB10TemplateRequests: what a pod of a template will ask for in all. Sums
// over the main containers alone start gangs that do not fit.
func TestB10TemplateRequests(t *testing.T) {
	t.Parallel()
	defaults := convert.PodDefaults{
		Overhead: map[string]corev1.ResourceList{"kata": list("cpu", "1")},
		LimitRanges: []corev1.LimitRange{{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, DefaultRequest: list("memory", "1Gi"),
		}}}}},
	}
	for _, test := range []struct {
		name string
		spec corev1.PodSpec
		want batch.Resources
	}{
		{
			name: "P1: a sidecar that starts before a plain init container counts while that runs",
			spec: corev1.PodSpec{
				InitContainers: []corev1.Container{sidecar(list("cpu", "100m")), container(list("cpu", "200m"))},
				Containers:     []corev1.Container{container(list("cpu", "100m"))},
			},
			want: batch.Resources{"cpu": 300},
		},
		{
			name: "P2: app, sidecar and the overhead of the RuntimeClass add up",
			spec: corev1.PodSpec{
				RuntimeClassName: new("kata"),
				InitContainers:   []corev1.Container{sidecar(list("cpu", "1"))},
				Containers:       []corev1.Container{container(list("cpu", "1"))},
			},
			want: batch.Resources{"cpu": 3000},
		},
		{
			name: "P3: a limit without a request is a request",
			spec: corev1.PodSpec{Containers: []corev1.Container{{
				Resources: corev1.ResourceRequirements{Limits: list("nvidia.com/gpu", "1")},
			}}},
			want: batch.Resources{"nvidia.com/gpu": 1},
		},
		{
			name: "P4: the peak of an init container counts",
			spec: corev1.PodSpec{
				InitContainers: []corev1.Container{container(list("nvidia.com/gpu", "4"))},
				Containers:     []corev1.Container{container(list("nvidia.com/gpu", "1"))},
			},
			want: batch.Resources{"nvidia.com/gpu": 4},
		},
		{
			name: "P5: pod-level requests replace those of the containers",
			spec: corev1.PodSpec{
				Resources:  &corev1.ResourceRequirements{Requests: list("cpu", "2")},
				Containers: []corev1.Container{container(list("cpu", "500m")), container(list("cpu", "500m"))},
			},
			want: batch.Resources{"cpu": 2000},
		},
		{
			name: "pod-level limits alone: the containers' requests together",
			spec: corev1.PodSpec{
				Resources:  &corev1.ResourceRequirements{Limits: list("cpu", "4")},
				Containers: []corev1.Container{container(list("cpu", "500m")), container(list("cpu", "500m"))},
			},
			want: batch.Resources{"cpu": 1000},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := convert.Resources(convert.TemplateRequests(test.spec, defaults))
			delete(got, "memory")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitRangeDefaultsCountForEachContainer(t *testing.T) {
	t.Parallel()
	defaults := convert.PodDefaults{LimitRanges: []corev1.LimitRange{{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, DefaultRequest: list("memory", "1Gi"),
	}}}}}}
	spec := corev1.PodSpec{Containers: []corev1.Container{container(nil), container(list("memory", "3Gi"))}}
	got := convert.Resources(convert.TemplateRequests(spec, defaults))
	if diff := cmp.Diff(batch.Resources{"memory": 4 << 30}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestAmountsThatAreTooLargeAreTheLargest: a sum never wraps, and neither does
// what it is made of.
func TestAmountsThatAreTooLargeAreTheLargest(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1e19", "99999999999999999999", "100E", "9223372036854775808"} {
		for _, name := range []corev1.ResourceName{"nvidia.com/gpu", corev1.ResourceMemory, corev1.ResourceCPU} {
			got := convert.Resources(corev1.ResourceList{name: resource.MustParse(text)})
			if got[batch.ResourceName(name)] != math.MaxInt64 {
				t.Errorf("%s of %s: %d", text, name, got[batch.ResourceName(name)])
			}
		}
	}
}
