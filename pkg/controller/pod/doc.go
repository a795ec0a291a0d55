// Package pod gives each gated pod of a started workload its host, in the
// order of ranks, and takes away its gate; kube-scheduler then binds it there.
// It also makes the QueuedWorkload of a pod without an owner.
//
// The unit of its work is the workload: one reconcile sees all its pods, so
// that no two of them are given the same place.
package pod
