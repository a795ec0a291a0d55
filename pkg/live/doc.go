// Package live is the driver that runs the core in a cluster: informers give
// it events, the real clock gives it time, and pkg/apply carries its plans out.
//
// One goroutine owns the core. Whatever is seen goes into one queue; the
// goroutine takes all that is there, lets a burst settle for some milliseconds,
// and plans once:
//
//	informers ─► Intake ─► queue ─► core.Step … core.Step ─► core.Plan(now)
//	                         ▲                                   │
//	                         │                        core.Step(PlanIssued)
//	                         └── outcomes ◄── apply.Carry ◄──────┘
//
// It decides nothing and writes nothing itself.
package live
