// Package v1alpha1 is Berth's API: the kinds that people and Berth write into
// the API server. It holds types, names and nothing that decides.
//
// Reading order for a newcomer: labels.go (what a job author writes),
// clusterqueue_types.go (what an admin writes), queuedworkload_types.go (what
// Berth answers), then reasons.go (why not yet).
//
// A field that is accepted has an effect. Fields of the design that are not
// built yet are absent, so that the API server refuses them by name.
//
// +kubebuilder:object:generate=true
// +groupName=berth.dev
package v1alpha1
