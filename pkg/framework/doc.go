// Package framework says how each kind of job is sized, started, stopped and
// watched. A kind is a set of pure functions over its object: the controllers
// and the live driver call them, and do the reading and writing.
//
// Job is batch/v1 Job; Pod is a pod without an owner, a workload of one.
package framework
