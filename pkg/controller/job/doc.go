// Package job keeps each queued Job and its QueuedWorkload in step: it makes
// the workload, follows the Job's edits while it waits, starts the Job when
// the workload has an allocation, and suspends it when that is taken back. It
// decides nothing: what the workload's status says is done.
package job
