package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of all kinds of Berth.
const GroupName = "berth.dev"

// GroupVersion is the group and version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// AddToScheme registers the kinds of this package with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Account{}, &AccountList{},
		&ClusterQueue{}, &ClusterQueueList{},
		&Cohort{}, &CohortList{},
		&LocalQueue{}, &LocalQueueList{},
		&ResourceFlavor{}, &ResourceFlavorList{},
		&QueuedWorkload{}, &QueuedWorkloadList{},
		&SchedulingPolicy{}, &SchedulingPolicyList{},
		&Topology{}, &TopologyList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
