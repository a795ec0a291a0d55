// Package sim plays scenarios: a driver of the core with a virtual clock.
//
// It models what is around the scheduler and nothing of the scheduler itself:
// an API server that holds objects, owners that make pods when they are
// released, pods that run for the time the scenario says, nodes that come and
// go, and a controller that may be down. All decisions are core.Plan's, taken
// as the live driver takes them: fold in what happened, plan, assume the plan,
// carry it out, report what came of it.
//
//	for each instant at which something happens {
//		take in all ends, then events, then submissions, then edits of jobs of that instant
//		plan and carry out until a plan is empty
//		check the invariants
//	}
//
// The same file and the same options give the same run, to the byte of the
// event log.
package sim
