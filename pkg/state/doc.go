// Package state folds events into the working set: nodes and what sits on
// them, pods, queues, workloads and the decisions about them. It hands out
// snapshots for the planner. It decides nothing, and knows no clock.
//
// Events of different objects may come in any order; the same objects give the
// same snapshot. What one event costs does not grow with the working set.
package state
