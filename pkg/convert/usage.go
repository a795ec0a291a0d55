package convert

import (
	"fmt"
	"strings"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// Usage is how a queue or a cohort stands, as its status says it. Without a
// cohort above nothing is borrowed or lent, and nothing is said of it.
func Usage(standings []batch.Standing, inCohort bool) []v1alpha1.QueueUsage {
	var out []v1alpha1.QueueUsage
	for _, s := range standings {
		usage := v1alpha1.QueueUsage{Flavor: string(s.Flavor), Resource: string(s.Resource), Used: Quantity(s.Resource, s.Used)}
		if inCohort {
			usage.Borrowed, usage.Lent = Quantity(s.Resource, s.Borrowed), Quantity(s.Resource, s.Lent)
		}
		out = append(out, usage)
	}
	return out
}

// CircleMessage says that cohorts are above themselves.
func CircleMessage(circle []batch.CohortName) string {
	names := make([]string, 0, len(circle)+1)
	for _, name := range circle {
		names = append(names, string(name))
	}
	names = append(names, names[0])
	return "its cohort is above itself: " + strings.Join(names, " → ")
}

// overcommittedMax bounds how many resources are named.
const overcommittedMax = 4

// Overcommitted says of which resources the quotas of all queues and cohorts
// add up to more than the nodes have; empty: of none. Such a promise cannot be
// kept to all at once.
func Overcommitted(standings []batch.Standing) string {
	text, told := "", 0
	for _, s := range standings {
		if s.Promised <= s.Has {
			continue
		}
		if told++; told > overcommittedMax {
			return text + "; …"
		}
		text += fmt.Sprintf("; nominal quotas of flavor %s add up to %s %s and its nodes have %s",
			s.Flavor, Quantity(s.Resource, s.Promised), s.Resource, Quantity(s.Resource, s.Has))
	}
	return text
}
