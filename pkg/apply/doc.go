// Package apply carries out a plan. It is the only writer of the status of
// QueuedWorkloads, and tells people what was decided by Events on their Jobs.
//
// Carry returns at once: each workload's decisions are written in their order
// by a few workers, several decisions of one workload in one write. What can't
// be written comes back as an event (batch.AdmitFailed), never as silence. A
// write is conditional on the version that it was computed from: a controller
// that lost its lease without noticing cannot undo what its successor decided.
package apply
