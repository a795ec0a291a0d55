//go:build linux

package kubelet

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// tenure is how long a process had units of a resource on a node.
type tenure struct {
	pod        string
	units      int64
	start, end time.Time // of the process, by what it has written down
}

// mustNeverHaveSharedUnits says that the processes of the team never had more of
// a node than there is: not by what the API says of their pods, but by when each
// gave its first sign of life and its last.
func (t *team) mustNeverHaveSharedUnits() {
	t.t.Helper()
	type place struct {
		node     string
		resource corev1.ResourceName
	}
	tenures := map[place][]tenure{}
	for _, pod := range t.history.podsThat(func(life *podLife) bool { return life.Namespace == t.name }) {
		life := t.life(pod)
		if len(life) == 0 {
			continue // it never came to work, or is a sample that writes nothing down
		}
		for resource, amount := range pod.Spec.Containers[0].Resources.Limits { //order:any each is looked at by itself
			at := place{pod.Spec.NodeName, resource}
			tenures[at] = append(tenures[at], tenure{pod.Name, amount.Value(), life[0].At, life.End()})
		}
	}
	for at, all := range tenures { //order:any each is looked at by itself
		if names, when := tooMany(all, unitsPerNode); len(names) > 0 {
			t.t.Errorf("at %s %v had more %s than the %d of node %s", when.Format(clock), names, at.resource, unitsPerNode, at.node)
		}
	}
}

// tooMany are those who had more units together than there are, and when.
func tooMany(all []tenure, units int64) (names []string, when time.Time) {
	for _, begun := range all { // at another time it is never for the first time
		names, sum := []string(nil), int64(0)
		for _, other := range all {
			if !other.start.After(begun.start) && other.end.After(begun.start) {
				names, sum = append(names, other.pod), sum+other.units
			}
		}
		if sum > units {
			return names, begun.start
		}
	}
	return nil, time.Time{}
}

func TestUnitsGivenTwiceAreSeen(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	for about, c := range map[string]struct {
		all  []tenure
		want []string
	}{
		"one after the other":       {[]tenure{{"a", 8, at(0), at(5)}, {"b", 8, at(5), at(9)}}, nil},
		"beside each other":         {[]tenure{{"a", 4, at(0), at(5)}, {"b", 4, at(0), at(9)}}, nil},
		"one before the other ends": {[]tenure{{"b", 8, at(4), at(9)}, {"a", 8, at(0), at(5)}}, []string{"b", "a"}},
		"a third is too many":       {[]tenure{{"a", 4, at(0), at(5)}, {"b", 4, at(0), at(9)}, {"c", 1, at(1), at(2)}}, []string{"a", "b", "c"}},
	} {
		if names, _ := tooMany(c.all, 8); !slices.Equal(names, c.want) {
			t.Errorf("%s: %v had too many, want %v", about, names, c.want)
		}
	}
}
