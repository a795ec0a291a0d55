package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AccountSpec says who may have work charged to the account, and its share.
type AccountSpec struct {
	// parentName is the Account above this one: what a ClusterQueue's access
	// says of that holds for this one too. A circle of parents keeps the work of
	// all accounts in it, and below, from starting; their Active conditions say
	// so. Left out: none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ParentName string `json:"parentName,omitempty"`

	// shares are what the account is due, beside the other accounts below its
	// parent. They have no effect yet: this version does not have fair share.
	// Left out: 1.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Shares *int32 `json:"shares,omitempty"`

	// users are those who may have work charged to this account; who is listed
	// above or below it may not. Left out: nobody.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Users []AccountUser `json:"users,omitempty"`
}

// AccountUser is who may have work charged to an account.
type AccountUser struct {
	// name is the user's, as the API server knows him: of a person as the
	// cluster's authentication says, of a program that submits work
	// system:serviceaccount:NAMESPACE:NAME.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`

	// shares are what the user is due, beside the other users of the account.
	// They have no effect yet: this version does not have fair share. Left out:
	// 1.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Shares *int32 `json:"shares,omitempty"`
}

// AccountStatus is what Berth answers.
type AccountStatus struct {
	// conditions has one of type Active: whether work may be charged to the
	// account, and what has no effect.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Account is who is charged for work: a lab, a project, a customer. Work names
// it in the annotation berth.dev/account, or its LocalQueue does.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=berth
// +kubebuilder:printcolumn:name="Parent",type=string,JSONPath=`.spec.parentName`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:fieldPath=".metadata",rule="size(self.metadata.name) <= 63",message="an Account's name has at most 63 characters"
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.parentName) || self.spec.parentName != self.metadata.name",messageExpression="'Account ' + self.metadata.name + ' cannot be its own parent: name another one, or leave parentName out at the top of the tree'",fieldPath=".spec.parentName"
type Account struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says who may have work charged to the account, and its share.
	// +optional
	Spec AccountSpec `json:"spec,omitempty"`
	// status is what Berth answers.
	// +optional
	Status AccountStatus `json:"status,omitempty"`
}

// AccountList is a list of Accounts.
//
// +kubebuilder:object:root=true
type AccountList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Account `json:"items"`
}
