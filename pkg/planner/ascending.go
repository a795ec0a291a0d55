package planner

import "container/heap"

// ascending hands out the victims of a search in an order. Of many, few are asked
// for: the others are not sorted.
type ascending struct {
	left    []int // a heap
	compare func(a, b int) int
}

// inOrder are all victims of a search, to be taken in an order.
func (s *search) inOrder(compare func(a, b int) int) *ascending {
	a := &ascending{left: make([]int, len(s.victims)), compare: compare}
	for i := range a.left {
		a.left[i] = i
	}
	heap.Init(a)
	return a
}

// next is the first of those that are left. There must be one.
func (a *ascending) next() int {
	first, last := a.left[0], len(a.left)-1
	a.left[0] = a.left[last]
	if a.left = a.left[:last]; last > 0 {
		heap.Fix(a, 0)
	}
	return first
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (a *ascending) Len() int           { return len(a.left) }
func (a *ascending) Less(i, j int) bool { return a.compare(a.left[i], a.left[j]) < 0 }
func (a *ascending) Swap(i, j int)      { a.left[i], a.left[j] = a.left[j], a.left[i] }

// Push is never called: nobody comes back.
func (a *ascending) Push(any) { panic("planner: push to victims that are only taken") }

// Pop is never called: see next.
func (a *ascending) Pop() any { panic("planner: pop boxes what it returns, use next") }
