// Package convert turns Kubernetes objects into the nouns of pkg/batch and
// back. Its functions are pure: no client, no clock. It is the only place that
// knows both worlds, and what it counts is what kube-scheduler counts: pod
// requests are computed by k8s.io/component-helpers, and the matching of
// selectors and taints in pkg/batch is held against that library by tests here.
package convert
