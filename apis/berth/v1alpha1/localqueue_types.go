package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LocalQueueSpec says which ClusterQueue is behind the door.
type LocalQueueSpec struct {
	// clusterQueueNames are the ClusterQueues that work of this LocalQueue may
	// run in: it takes the earliest start that one of them offers, then the
	// higher tier, then the one listed first.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ClusterQueueNames []string `json:"clusterQueueNames,omitempty"`

	// accountName is the Account that work of this LocalQueue is charged to
	// unless it names another. Left out: none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	AccountName string `json:"accountName,omitempty"`

	// hold says whether work of this LocalQueue may start: None or Hold
	// (nothing new starts; what runs goes on). Left out: None.
	// +optional
	// +default="None"
	// +kubebuilder:validation:Enum=None;Hold
	Hold HoldPolicy `json:"hold,omitempty"`
}

// HoldPolicy says whether waiting work is kept from starting.
type HoldPolicy string

// The values of HoldPolicy.
const (
	HoldNone HoldPolicy = "None"
	HoldAll  HoldPolicy = "Hold"
)

// LocalQueueStatus is what Berth answers.
type LocalQueueStatus struct {
	// conditions has one of type Active: whether work sent here can start now.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// graceSeconds is the longest grace of the ClusterQueues behind this door;
	// the admission policy raises terminationGracePeriodSeconds of new Jobs
	// and Pods to it. Absent: nothing is raised.
	// +optional
	// +kubebuilder:validation:Minimum=0
	GraceSeconds *int64 `json:"graceSeconds,omitempty"`

	// grace is graceSeconds as people write it: "2m". Absent: the pods' own
	// grace is all there is.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Grace string `json:"grace,omitempty"`

	// pending is the number of workloads that wait behind this door.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pending *int32 `json:"pending,omitempty"`

	// running is the number of workloads of this door that hold an allocation.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Running *int32 `json:"running,omitempty"`
}

// LocalQueue is the door to a ClusterQueue in a namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=lq,categories=berth
// +kubebuilder:printcolumn:name="ClusterQueues",type=string,JSONPath=`.spec.clusterQueueNames`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].status`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.pending`
// +kubebuilder:printcolumn:name="Running",type=integer,JSONPath=`.status.running`
// +kubebuilder:printcolumn:name="Grace",type=string,JSONPath=`.status.grace`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Active")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:fieldPath=".metadata",rule="size(self.metadata.name) <= 63",message="a LocalQueue's name has at most 63 characters, because Jobs name it in a label"
type LocalQueue struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which ClusterQueue is behind the door.
	// +required
	Spec LocalQueueSpec `json:"spec,omitempty"`
	// status is what Berth answers.
	// +optional
	Status LocalQueueStatus `json:"status,omitempty"`
}

// LocalQueueList is a list of LocalQueues.
//
// +kubebuilder:object:root=true
type LocalQueueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LocalQueue `json:"items"`
}
