// Package report makes one self-contained HTML page of one simulated run, or
// of two side by side: nodes over time, queue length, utilization, waits by
// job size. The page fetches nothing, and works in light and dark.
//
// A Recorder listens to a run (sim.Options.Ran and Sample) and keeps what the
// page shows, within bounds, however long the run is. It is for people to look
// at; programs read simulate -o json.
package report
