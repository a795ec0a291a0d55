// Package batch holds the nouns of Berth: workloads and their pod sets, queues,
// flavors, nodes, pods, allocations, plans, events and reasons. It is plain
// data with the arithmetic that belongs to it, and imports nothing of ours.
//
// The flow of a decision in these words: a driver turns what it sees into an
// Event; state folds events and hands out a Snapshot; planner.Plan turns a
// Snapshot and a time into a Plan; a driver carries the Plan out and reports
// what came of it as Events.
package batch
