// Package perf measures Berth on a real control plane with simulated nodes.
// Each figure stands beside one of the same run that owes nothing to Berth, so
// that a slow machine does not look like a slow program. `make perf` runs it;
// RESULTS.md keeps what was seen, with the command, the machine and the commit.
package perf
