package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TopologySpec says which labels of nodes tell their place in the network.
type TopologySpec struct {
	// levels are those of the network, from wide to narrow. A domain of a level
	// is known by its path: racks of one name in two blocks are two racks.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.nodeLabel == b.nodeLabel))",message="two levels have the same nodeLabel: each level has a label of its own"
	Levels []TopologyLevel `json:"levels,omitempty"`
}

// TopologyLevel is one level of a network.
type TopologyLevel struct {
	// name is what work calls the level: block, rack, host.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// nodeLabel is the label of a node that names its domain on this level. A
	// node without it, or without that of a wider level, is in no domain here.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	NodeLabel string `json:"nodeLabel,omitempty"`
}

// Topology is where nodes stand in the network. ResourceFlavors name it. In this
// version it counts for work alone that asks for one domain, with the annotation
// berth.dev/topology: required=LEVEL.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=topologies,categories=berth
// +kubebuilder:printcolumn:name="L1",type=string,description="The widest level.",JSONPath=`.spec.levels[0].name`
// +kubebuilder:printcolumn:name="L2",type=string,description="The second level.",JSONPath=`.spec.levels[1].name`
// +kubebuilder:printcolumn:name="L3",type=string,description="The level below that, if there is one.",JSONPath=`.spec.levels[2].name`
// +kubebuilder:printcolumn:name="L4",type=string,description="The level below that, if there is one.",JSONPath=`.spec.levels[3].name`
// +kubebuilder:printcolumn:name="L5",type=string,description="The level below that, if there is one.",JSONPath=`.spec.levels[4].name`
// +kubebuilder:printcolumn:name="L6",type=string,description="The level below that, if there is one.",JSONPath=`.spec.levels[5].name`
// +kubebuilder:printcolumn:name="L7",type=string,description="The level below that, if there is one.",JSONPath=`.spec.levels[6].name`
// +kubebuilder:printcolumn:name="L8",type=string,description="The level below that, if there is one.",JSONPath=`.spec.levels[7].name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:fieldPath=".metadata",rule="size(self.metadata.name) <= 63",message="a Topology's name has at most 63 characters"
type Topology struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which labels of nodes tell their place in the network.
	// +required
	Spec TopologySpec `json:"spec,omitempty"`
}

// TopologyList is a list of Topologies.
//
// +kubebuilder:object:root=true
type TopologyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Topology `json:"items"`
}
