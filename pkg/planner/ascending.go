package planner

// ascending hands out the victims of a search in an order. Of many, few are asked
// for: the others are not sorted.
type ascending struct {
	left    []int // a heap: who is at i comes before those at 2i+1 and 2i+2
	compare func(a, b int) int
}

// inOrder are all victims of a search, to be taken in an order.
func (s *search) inOrder(compare func(a, b int) int) *ascending {
	a := &ascending{left: make([]int, len(s.victims)), compare: compare}
	for i := range a.left {
		a.left[i] = i
	}
	for i := len(a.left)/2 - 1; i >= 0; i-- {
		a.sink(i)
	}
	return a
}

// next is the first of those that are left. There must be one.
func (a *ascending) next() int {
	first, last := a.left[0], len(a.left)-1
	a.left[0] = a.left[last]
	a.left = a.left[:last]
	a.sink(0)
	return first
}

// sink moves one down until none below comes before it.
func (a *ascending) sink(i int) {
	for {
		below := 2*i + 1
		if below+1 < len(a.left) && a.compare(a.left[below+1], a.left[below]) < 0 {
			below++
		}
		if below >= len(a.left) || a.compare(a.left[i], a.left[below]) <= 0 {
			return
		}
		a.left[i], a.left[below] = a.left[below], a.left[i]
		i = below
	}
}
