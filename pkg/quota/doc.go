// Package quota is the arithmetic of the cohort tree: what a queue may still
// take of each resource of each flavor, what it has borrowed and lent, now
// (Usage) and over time (Ledger). It says what is possible; who gets it is the
// planner's to decide, and what runs is never its to stop.
//
// The rules, for one resource of one flavor. A cohort has its own quota and
// what its members lend it; a member keeps for itself what it does not lend.
// Use fills what is kept first; the rest reaches the cohort, which passes on in
// the same way what reaches it. A request fits if it fits into what its queue
// keeps, or if what reaches the cohort beyond what the queue has lent it is
// within the queue's borrowing limit and finds room there by the same rule. A
// tree without a cohort is its queue alone.
//
// Amounts saturate: a sum too large to count is the largest there is, never a
// small one. Without a bound is a value of its own (batch.Limit).
package quota
