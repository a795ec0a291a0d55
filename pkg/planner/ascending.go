package planner

// ascending hands out some things in an order. Of many, few are asked for: the
// others are not sorted.
type ascending[T any] struct {
	left    []T // a heap: what is at i comes before those at 2i+1 and 2i+2
	compare func(a, b T) int
}

// inOrder are things to be taken in an order; they lie in the memory of all.
func inOrder[T any](all []T, compare func(a, b T) int) *ascending[T] {
	a := &ascending[T]{left: all, compare: compare}
	for i := len(a.left)/2 - 1; i >= 0; i-- {
		a.sink(i)
	}
	return a
}

// none says whether none are left.
func (a *ascending[T]) none() bool { return len(a.left) == 0 }

// first is the first of those that are left. There must be one.
func (a *ascending[T]) first() T { return a.left[0] }

// next takes the first of those that are left. There must be one.
func (a *ascending[T]) next() T {
	first, last := a.left[0], len(a.left)-1
	a.left[0] = a.left[last]
	a.left = a.left[:last]
	a.sink(0)
	return first
}

// sink moves one down until none below comes before it.
func (a *ascending[T]) sink(i int) {
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
