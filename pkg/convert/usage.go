package convert

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// Usage is how a queue or a cohort stands, as its status says it. Without a
// cohort above nothing is borrowed or lent, and nothing is said of it.
func Usage(standings []batch.Standing, inCohort bool) []v1alpha1.QueueUsage {
	var out []v1alpha1.QueueUsage
	for _, s := range standings {
		usage := v1alpha1.QueueUsage{Flavor: string(s.Flavor), Resource: string(s.Resource), Used: Quantity(s.Resource, s.Used)}
		if s.Nominal.Bounded {
			usage.Nominal = Quantity(s.Resource, s.Nominal.Amount)
		}
		if inCohort {
			usage.Borrowed, usage.Lent = Quantity(s.Resource, s.Borrowed), Quantity(s.Resource, s.Lent)
		}
		out = append(out, usage)
	}
	return out
}

// GPUs is "used/nominal" of the GPUs of all flavors: the use alone where there
// is no quota, nothing where there are none.
func GPUs(usage []v1alpha1.QueueUsage) string {
	used, nominal, bounded := batch.Amount(0), batch.Amount(0), false
	for _, u := range usage {
		if batch.ResourceName(u.Resource) != batch.ResourceGPU {
			continue
		}
		used += read(u.Used)
		if u.Nominal != "" {
			nominal, bounded = nominal+read(u.Nominal), true
		}
	}
	switch {
	case bounded:
		return fmt.Sprintf("%d/%d", used, nominal)
	case used > 0:
		return fmt.Sprint(used)
	}
	return ""
}

// read is an amount that Quantity wrote, of whole units.
func read(quantity string) batch.Amount {
	q, err := resource.ParseQuantity(quantity)
	if err != nil {
		return 0
	}
	return amount(batch.ResourceGPU, q)
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
