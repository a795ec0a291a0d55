package state

import "github.com/berth-dev/berth/pkg/batch"

// Capacity is what all nodes of a flavor have together, whether they are ready
// or not. It is worked out again when nodes or flavors change.
func (s *State) Capacity(flavor batch.FlavorName) batch.Resources {
	if sum, ok := s.capacity[flavor]; ok {
		return sum
	}
	var sum batch.Resources
	if f, ok := s.flavors.rows[flavor]; ok {
		for _, n := range s.nodes { //order:any a sum
			if n.node != nil && f.Selector.Matches(n.node.Labels) {
				sum = sum.Plus(n.node.Capacity)
			}
		}
	}
	if s.capacity == nil {
		s.capacity = map[batch.FlavorName]batch.Resources{}
	}
	s.capacity[flavor] = sum
	return sum
}

// sized says that two nodes count for the same flavors, with as much.
func sized(a, b *batch.Node) bool {
	if a == nil || b == nil || len(a.Labels) != len(b.Labels) || !a.Capacity.Equal(b.Capacity) {
		return false
	}
	for key, value := range a.Labels { //order:any a conjunction
		if other, ok := b.Labels[key]; !ok || other != value {
			return false
		}
	}
	return true
}
