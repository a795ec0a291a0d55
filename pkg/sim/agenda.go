package sim

import (
	"container/heap"
	"time"
)

// cause orders what happens at one instant: what ends makes room for what
// begins, and a job is there before its people change it.
type cause int

const (
	causeEnd cause = iota
	causeEvent
	causeSubmit
	causeEdit // of a job, or its deletion
)

// item is something that will happen.
type item struct {
	at    time.Duration
	cause cause
	seq   int // of equal time and cause, first come first
	do    func()
}

// agenda holds what will happen, in order of time, cause and arrival.
type agenda struct {
	items []item
	seq   int
}

func (a *agenda) add(at time.Duration, why cause, do func()) {
	a.seq++
	heap.Push(a, item{at: at, cause: why, seq: a.seq, do: do})
}

// next is when the next thing happens; false: nothing will.
func (a *agenda) next() (time.Duration, bool) {
	if len(a.items) == 0 {
		return 0, false
	}
	return a.items[0].at, true
}

// take removes the next thing if it happens at a time.
func (a *agenda) take(at time.Duration) (item, bool) {
	if len(a.items) == 0 || a.items[0].at > at {
		return item{}, false
	}
	return heap.Pop(a).(item), true
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (a *agenda) Len() int { return len(a.items) }

// Less orders by time, cause and arrival.
func (a *agenda) Less(i, j int) bool {
	x, y := &a.items[i], &a.items[j]
	switch {
	case x.at != y.at:
		return x.at < y.at
	case x.cause != y.cause:
		return x.cause < y.cause
	}
	return x.seq < y.seq
}

// Swap exchanges two items.
func (a *agenda) Swap(i, j int) { a.items[i], a.items[j] = a.items[j], a.items[i] }

// Push appends an item.
func (a *agenda) Push(x any) { a.items = append(a.items, x.(item)) }

// Pop drops the last item.
func (a *agenda) Pop() any {
	last := a.items[len(a.items)-1]
	a.items[len(a.items)-1] = item{}
	a.items = a.items[:len(a.items)-1]
	return last
}
