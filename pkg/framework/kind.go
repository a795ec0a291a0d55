package framework

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// Kind is one kind of job. The object that its methods take is of that kind.
type Kind interface {
	// Name is the kind's name in the API ("Job").
	Name() string
	// QueueName is the LocalQueue that the object goes through; empty: it is
	// not ours.
	QueueName(object client.Object) string
	// Spec is what the object asks for.
	Spec(object client.Object, defaults convert.PodDefaults) v1alpha1.QueuedWorkloadSpec
	// Owner is how far the object has come.
	Owner(object client.Object) batch.Owner
}

// ID is the identity of the workload that an object owns.
func ID(kind Kind, object client.Object) batch.WorkloadID {
	return convert.WorkloadID(object.GetNamespace(), convert.WorkloadName(kind.Name(), object.GetName(), object.GetUID()))
}

// wishes reads what an object's author may say whatever its kind.
func wishes(spec *v1alpha1.QueuedWorkloadSpec, object client.Object) {
	said := object.GetAnnotations()
	spec.Hold = v1alpha1.HoldNone
	if said[v1alpha1.HoldAnnotation] == "true" {
		spec.Hold = v1alpha1.HoldAll
	}
	spec.TimeMin = walltime(said[v1alpha1.TimeMinAnnotation], nil)
	spec.Begin = convert.Cut(said[v1alpha1.BeginAnnotation], textMax)
	spec.EndBefore = convert.Cut(said[v1alpha1.EndBeforeAnnotation], textMax)
	spec.JobName = object.GetLabels()[v1alpha1.JobNameLabel]
	spec.Exclusive = v1alpha1.ExclusiveMode(said[v1alpha1.ExclusiveAnnotation])
	if after := said[v1alpha1.AfterAnnotation]; after != "" {
		for text := range strings.SplitSeq(after, ",") {
			spec.After = append(spec.After, strings.TrimSpace(text))
		}
	}
}

// textMax is the longest text that a QueuedWorkload keeps of a time.
const textMax = 64
