// Package explain says in words why a workload waits, and what happened to it.
// Conditions, events, the plugin and the simulator all print its words. It
// decides nothing: the numbers come with the verdict.
package explain
