package quota

import (
	"maps"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// Circles finds the cohorts that are, through their parents, above themselves,
// and those below such: each with the circle, from its first name by name on.
// The API server cannot see a circle over several objects; whoever makes one
// stops the queues in it and no others.
func Circles(cohorts map[batch.CohortName]*batch.Cohort) map[batch.CohortName][]batch.CohortName {
	circles := map[batch.CohortName][]batch.CohortName{}
	done := map[batch.CohortName]bool{}
	for _, name := range slices.Sorted(maps.Keys(cohorts)) {
		var way []batch.CohortName
		for at := name; ; at = cohorts[at].Parent {
			if _, ok := cohorts[at]; !ok || done[at] {
				mark(circles, way, circles[at])
				break
			}
			if i := slices.Index(way, at); i >= 0 {
				mark(circles, way, fromFirst(way[i:]))
				break
			}
			way = append(way, at)
		}
		for _, at := range way {
			done[at] = true
		}
	}
	return circles
}

// mark notes the circle that a way up has ended in, if it has.
func mark(circles map[batch.CohortName][]batch.CohortName, way, circle []batch.CohortName) {
	if circle == nil {
		return
	}
	for _, at := range way {
		circles[at] = circle
	}
}

// fromFirst turns a circle so that it begins with its first name.
func fromFirst(circle []batch.CohortName) []batch.CohortName {
	i := slices.Index(circle, slices.Min(circle))
	return slices.Concat(circle[i:], circle[:i])
}

// Circle is the circle that keeps a queue from its cohort; nil: none does.
func (t *Tree) Circle(queue *batch.Queue) []batch.CohortName {
	if t == nil {
		return nil
	}
	return t.circles[queue.Cohort]
}
