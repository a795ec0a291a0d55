// Package v1alpha1 holds the scenario file: what a cluster looks like, what is
// submitted, what happens, and what must come of it. A scenario is read by the
// simulator and by the live suite; it is never stored in a cluster, and so has
// no CRD and needs nothing of Kubernetes.
//
// Fields whose behaviour is not built yet are refused by the loader by name
// (pkg/scenario): their types stand here, because the file format is whole.
package v1alpha1

// GroupVersion is the apiVersion of a Scenario document.
const GroupVersion = "sim.berth.dev/v1alpha1"

// KindScenario is its kind.
const KindScenario = "Scenario"
