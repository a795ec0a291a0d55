package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceFlavorSpec says which nodes are alike.
type ResourceFlavorSpec struct {
	// nodeSelector picks the nodes of the flavor by their labels. Left out, or
	// empty: all nodes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="an operator must be In, NotIn, Exists or DoesNotExist",fieldPath=".matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && size(e.values) > 0))",message="In and NotIn need values, Exists and DoesNotExist take none",fieldPath=".matchExpressions"
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`

	// topologyName is the Topology that says which of the nodes are near each
	// other. Left out: nothing does, and all of them are one domain.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	TopologyName string `json:"topologyName,omitempty"`

	// tolerations are added to the pods that run in this flavor. Left out: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:XValidation:rule="!has(self.operator) || self.operator in ['Exists', 'Equal']",messageExpression="'operator is ' + self.operator + ': it must be Exists or Equal'",fieldPath=".operator"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.effect) || self.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute']",messageExpression="'effect is ' + self.effect + ': it must be NoSchedule, PreferNoSchedule or NoExecute; leave it out for all effects'",fieldPath=".effect"
	// +kubebuilder:validation:items:XValidation:rule="(has(self.key) && size(self.key) > 0) || (has(self.operator) && self.operator == 'Exists')",message="without a key, which stands for all taints, operator must be Exists",fieldPath=".key"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.operator) || self.operator != 'Exists' || !has(self.value) || size(self.value) == 0",message="with operator Exists there is no value",fieldPath=".value"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",message="tolerationSeconds needs effect NoExecute",fieldPath=".effect"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// ResourceFlavor is a set of like nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=rf,categories=berth
// +kubebuilder:printcolumn:name="Selector",type=string,JSONPath=`.spec.nodeSelector.matchLabels`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:fieldPath=".metadata",rule="size(self.metadata.name) <= 63",message="a ResourceFlavor's name has at most 63 characters"
type ResourceFlavor struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which nodes are alike.
	// +optional
	Spec ResourceFlavorSpec `json:"spec,omitempty"`
}

// ResourceFlavorList is a list of ResourceFlavors.
//
// +kubebuilder:object:root=true
type ResourceFlavorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ResourceFlavor `json:"items"`
}
