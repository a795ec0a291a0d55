// Package planner decides: Plan is one pure function from a snapshot and a time
// to a plan. It touches nothing and remembers nothing; what binds it, promises
// and placements, is in the snapshot.
//
// The stages, each in its file:
//
//	lifecycle.go  what runs: ends, evictions, who waits again
//	order.go      who takes part, and in which order; door.go: who is let in
//	depend.go     what others must have done before; cycle.go: who waits for himself
//	array.go      as many members of an array as may run
//	limit.go      how long a run may be, and how long it is when it is shortened
//	fit.go        nodes that would do; never.go: what can never fit
//	domain.go     nodes under one domain of a topology
//	claim.go      a start to find, in one queue or several; who may be planned
//	backfill.go   planned starts, round by round until nothing moves
//	seat.go       the first way through a round; listed.go: which of several queues
//	rows.go       like nodes of one slot taken together; naming.go: told apart again
//	ahead.go      room that has appeared goes to those ahead of newcomers first
//	stay.go       who stays where he is, as long as nothing has become free
//	promise.go    placements of promised starts, from the plan before
//	repair.go     the same after a restart, where it needs a search
//	fill.go       the earliest start, and an earlier one than the planned
//	exchange.go   members of an array change places, so that they start in order
//	elastic.go    the most pods of what starts
//	preempt.go    places that others must give up; the plan is made again with them
//	hunt.go       whose place may be taken, in order; deal.go: whose is, and for which
//	scene.go      what is free when victims are gone; layer.go: when some are
//	search.go     the cheapest of them; barren.go: for whom none do
//	market.go     nodes that victims make room on, the cheapest first; ascending.go: in order
//	right.go      who may take whose place; law.go: what quotas say of that; lawful.go: the
//	              cheapest who may go together
//	victims.go    what they cost
//	needless.go   who is gone by then without being told to go
//	nominate.go   the places that are kept while victims end; eviction.go: their end;
//	              outranked.go: who would lose one right back
//	verdict.go    why the rest waits: shortage.go what is short, crowd.go who is before it,
//	              exempt.go until when others are safe
//	mover.go      what moved a planned start
//	notice.go     ends that users and admins ask for, and notices
//	loss.go       nodes that are lost; silent.go: that are not ready
//	whole.go      who has whole nodes; quota.go: why a quota keeps somebody out
//	outcome.go    what became of those whom others wait for
//	board.go      what is free over time, on the nodes and of the quotas
//	plan.go       the stages put together; changes only
//
// What the plan before found out, so that most need not be found again: carry.go is what is left of it, again.go the
// questions with their answers, stuck.go who has no earlier start, roll.go those that wait (call.go: how they
// are called), fleet.go the nodes, charge.go what runs on them, nominations.go places that are kept.
package planner
