package admission

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-dev/berth/pkg/scenario"
)

// Malformed implements scenario.Admitter: whether a text has the form is Kubernetes'
// own to say, and what would do is said shorter than by its regular expressions.
func (s *Server) Malformed(form scenario.Form, text string) (why string) {
	switch form {
	case scenario.FormKey:
		if len(validation.IsQualifiedName(text)) > 0 {
			return "is not the key of a label: write NAME or DOMAIN/NAME; NAME has at most 63 letters, digits, -, _ and ., and begins and ends with a letter or digit"
		}
	case scenario.FormValue:
		if len(validation.IsValidLabelValue(text)) > 0 {
			return "is not the value of a label: at most 63 letters, digits, -, _ and ., beginning and ending with a letter or digit"
		}
	case scenario.FormRequest:
		if !requestable(text) {
			return "is nothing that a pod can ask for: write cpu, memory, ephemeral-storage, hugepages-SIZE, or a name with its domain, such as nvidia.com/gpu"
		}
	case scenario.FormClass:
		if len(validation.IsDNS1123Subdomain(text)) > 0 {
			return "is not the name of a PriorityClass: at most 253 small letters, digits, - and ., beginning and ending with a letter or digit"
		}
	}
	return ""
}

// requestable says whether a server takes a resource in the requests of a container. The
// rule is that of k8s.io/kubernetes/pkg/apis/core/validation, which is no library.
func requestable(name string) bool {
	if len(validation.IsQualifiedName(name)) > 0 {
		return false
	}
	if !strings.Contains(name, "/") {
		own := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
		return slices.Contains(own, corev1.ResourceName(name)) || strings.HasPrefix(name, corev1.ResourceHugePagesPrefix)
	}
	if strings.Contains(name, corev1.ResourceDefaultNamespacePrefix) {
		return true
	}
	return !strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix) && len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+name)) == 0
}
