// Package checkpoint tells the pods of a workload that they will be ended, so
// that they can save their work, and hears from them when they have.
//
// What is told stands in the workload's status (status.notice): pkg/apply wrote
// it, and nothing here decides. The Courier brings it to each pod, in two steps:
//
//	announce   the annotation berth.dev/notice, on all pods at once
//	deliver    what the job chose with berth.dev/checkpoint: a signal, a command,
//	           a request; tried again until the notice has run out
//
// What a pod answers is written onto the pod, too (berth.dev/checkpointed-at):
// there the core finds it, in whatever way it was said and after any restart.
// So is which notice was delivered (berth.dev/notice-delivered), so that a new
// leader doesn't deliver it again.
package checkpoint
