// Package timeline holds the free capacity of nodes as step functions of time.
// It answers where and when a gang fits at the earliest, and takes and gives
// back holds. It knows nothing of queues, order or promises: that is the
// planner's.
//
// Times are whole seconds and spans are half-open: what ends at 60 and what
// starts at 60 do not collide.
package timeline
