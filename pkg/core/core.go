// Package core is the scheduler as one machine: events go in, plans come out.
// It is state and planner put together, and explain for the words.
//
// Whoever drives it, with a real clock or a virtual one, does this:
//
//	for each event that came in {
//		c.Step(event)
//	}
//	plan := c.Plan(now)
//	c.Step(batch.PlanIssued{Plan: plan}) // assumed before it is confirmed
//	carry plan out; each outcome is an event
//
// and plans again at plan.Wake at the latest. It is not safe for use by several
// goroutines, and it knows no clock.
package core

import (
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/explain"
	"github.com/berth-dev/berth/pkg/planner"
	"github.com/berth-dev/berth/pkg/state"
)

// Core is the working set and the decisions on it.
type Core struct{ state *state.State }

// New returns a core that has seen nothing yet.
func New() *Core { return &Core{state: state.New()} }

// Step takes in one event.
func (c *Core) Step(e batch.Event) { c.state.Step(e) }

// Plan decides what should happen at a time. It changes nothing but the time
// that is known: a plan counts from the PlanIssued event on.
func (c *Core) Plan(now time.Time) batch.Plan {
	c.state.Elapse(now)
	plan := planner.Plan(c.state.Snapshot(), now)
	for i := range plan.Wait {
		d := &plan.Wait[i]
		d.Verdict.Message = explain.Verdict(d.Verdict)
	}
	return plan
}

// Workload returns the record of a workload with all decisions so far; false
// if there is none.
func (c *Core) Workload(id batch.WorkloadID) (batch.Workload, bool) { return c.state.Workload(id) }

// Summaries returns what each queue holds and what waits for it.
func (c *Core) Summaries() map[batch.QueueName]batch.QueueSummary {
	queues, _ := c.Standings()
	return queues
}

// Snapshot returns the working set as it is now, for those who ask about it.
func (c *Core) Snapshot() batch.Snapshot { return c.state.Snapshot() }

// LocalSummaries returns what waits and runs behind each LocalQueue.
func (c *Core) LocalSummaries() map[batch.LocalQueueName]batch.QueueSummary {
	return c.state.LocalSummaries()
}
