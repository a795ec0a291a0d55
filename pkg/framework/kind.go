package framework

import (
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

// hold is what an object's author says about holding it.
func hold(object client.Object) v1alpha1.HoldPolicy {
	if object.GetAnnotations()[v1alpha1.HoldAnnotation] == "true" {
		return v1alpha1.HoldAll
	}
	return v1alpha1.HoldNone
}
