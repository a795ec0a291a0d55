// Package whatif answers what a person asks of a waiting workload: why it
// waits, for whom and until when, and what would let it start sooner. It plans
// on a copy of the working set, with the planner that decides; nothing is
// estimated.
//
// It is one more driver of the core, and one that carries nothing out.
package whatif
