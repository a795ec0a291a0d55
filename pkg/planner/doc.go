// Package planner decides: Plan is one pure function from a snapshot and a time
// to a plan. It touches nothing and remembers nothing; what binds it, promises
// and placements, is in the snapshot.
//
// The stages, each in its file:
//
//	lifecycle.go  what runs: ends, evictions, who waits again
//	order.go      who takes part, and in which order
//	fit.go        nodes that would do, what can never fit
//	backfill.go   planned starts, round by round until nothing moves
//	promise.go    placements of promised starts, from the plan before
//	fill.go       the earliest start, and an earlier one than the planned
//	verdict.go    why the rest waits, and what moved a planned start
//	plan.go       the stages put together; changes only
package planner
