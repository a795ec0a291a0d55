package batch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Shape is a text that is the same for pod sets that ask for the same: what
// fits for one workload of a shape fits for all. Names of pod sets do not count.
func Shape(sets []PodSet) string {
	var b strings.Builder
	for i := range sets {
		s := &sets[i]
		fmt.Fprintf(&b, "%d-%d/%d[", s.Least(), s.Count, s.PerNodeMax)
		for _, name := range s.Requests.Names() {
			fmt.Fprintf(&b, "%s=%d,", name, s.Requests[name])
		}
		b.WriteString("]")
		b.WriteString(s.Constraint())
		if s.Domain != "" {
			fmt.Fprintf(&b, "domain%q", s.Domain)
		}
		b.WriteString(";")
	}
	return b.String()
}

// Constraint is a text that is the same for pod sets that may go on the same
// nodes.
func (s *PodSet) Constraint() string {
	if len(s.Selector.Labels) == 0 && s.Selector.AnyOf == nil && len(s.Tolerations) == 0 {
		return ""
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.Selector.Labels)) {
		fmt.Fprintf(&b, "%q=%q,", key, s.Selector.Labels[key])
	}
	if s.Selector.AnyOf != nil {
		fmt.Fprintf(&b, "any%q", s.Selector.AnyOf)
	}
	fmt.Fprintf(&b, "tolerates%q", s.Tolerations)
	return b.String()
}
