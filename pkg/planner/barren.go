package planner

import (
	"slices"

	"github.com/berth-dev/berth/pkg/timeline"
)

// barren are requests for which no set of victims does, as long as there are
// fewer of them and more is held. What is known of a request for like pods
// holds for every one of its kind that asks for as many and as long, or more.
type barren map[barrenKey][]barrenNeed

type barrenKey struct {
	kind   *kind
	option int
}

type barrenNeed struct {
	shape *shape
	pods  int
	long  timeline.Long
}

func (b barren) has(c *contender, option int) bool {
	for _, known := range b[barrenKey{kind: c.key.shape.kind, option: option}] {
		if known.long <= c.long && (known.shape == c.key.shape || c.key.shape.single() && known.pods <= c.key.shape.pods) {
			return true
		}
	}
	return false
}

// coverClass is has for a record that has not been looked at, with all of its
// options.
func (b barren) coverClass(c *class) bool {
	if c.shape == nil {
		return false
	}
	for option := range c.shape.options {
		known := b[barrenKey{kind: c.shape.kind, option: option}]
		if !slices.ContainsFunc(known, func(n barrenNeed) bool {
			return n.long <= c.least && (n.shape == c.shape || n.pods <= c.shape.pods)
		}) {
			return false
		}
	}
	return true
}

func (b barren) add(c *contender, option int) {
	key := barrenKey{kind: c.key.shape.kind, option: option}
	b[key] = append(b[key], barrenNeed{shape: c.key.shape, pods: c.key.shape.pods, long: c.long})
}
