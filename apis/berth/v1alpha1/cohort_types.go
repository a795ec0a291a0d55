package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CohortSpec says what a cohort has beside what its members have.
// +kubebuilder:validation:XValidation:rule="has(self.parentName) || !has(self.flavors) || self.flavors.all(f, !has(f.resources) || f.resources.all(r, !has(r.borrowingLimit) && !has(r.lendingLimit)))",message="borrowingLimit and lendingLimit need a cohort above to borrow from and to lend to: set spec.parentName, or leave them out",fieldPath=".flavors"
type CohortSpec struct {
	// parentName is the Cohort that this one is a member of: what its own
	// members leave idle is lent there, and borrowed from there. A circle of
	// parents stops the queues in it, and their Active conditions say so. Left
	// out: none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ParentName string `json:"parentName,omitempty"`

	// flavors are quotas of the cohort itself: any of its members may use them,
	// beside what they have. Left out: the members' own quotas are all there
	// is.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Flavors []CohortFlavor `json:"flavors,omitempty"`
}

// CohortFlavor has the quotas of a cohort in one flavor.
type CohortFlavor struct {
	// name is the name of a ResourceFlavor.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// resources are the quotas, of one resource each.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Resources []FlavorQuota `json:"resources,omitempty"`
}

// CohortStatus is what Berth answers.
type CohortStatus struct {
	// conditions has one of type Active: whether the members share quota.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// usage is what all queues below the cohort hold together, by flavor and
	// resource; borrowed and lent are between this cohort and the others below
	// its parent.
	// +optional
	// +listType=map
	// +listMapKey=flavor
	// +listMapKey=resource
	// +kubebuilder:validation:MaxItems=256
	Usage []QueueUsage `json:"usage,omitempty"`

	// gpus is how many GPUs (nvidia.com/gpu) of all flavors are used below the
	// cohort, of how many: "12/64". Absent without GPUs.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	GPUs string `json:"gpus,omitempty"`
}

// Cohort is a group of ClusterQueues, and of Cohorts, that lend each other the
// quota that they leave idle.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=berth
// +kubebuilder:printcolumn:name="Parent",type=string,JSONPath=`.spec.parentName`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].status`
// +kubebuilder:printcolumn:name="GPUs",type=string,JSONPath=`.status.gpus`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Active")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:fieldPath=".metadata",rule="size(self.metadata.name) <= 63",message="a Cohort's name has at most 63 characters"
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.parentName) || self.spec.parentName != self.metadata.name",messageExpression="'Cohort ' + self.metadata.name + ' cannot be its own parent: name another one, or leave parentName out at the top of the tree'",fieldPath=".spec.parentName"
type Cohort struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the cohort has beside what its members have.
	// +optional
	Spec CohortSpec `json:"spec,omitempty"`
	// status is what Berth answers.
	// +optional
	Status CohortStatus `json:"status,omitempty"`
}

// CohortList is a list of Cohorts.
//
// +kubebuilder:object:root=true
type CohortList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cohort `json:"items"`
}
