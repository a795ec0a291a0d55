package state

import "maps"

// table is a map whose snapshots are frozen: a change after a snapshot goes to
// a copy.
type table[K comparable, V any] struct {
	rows   map[K]*V
	shared bool
}

func (t *table[K, V]) set(key K, value V) {
	t.own()
	t.rows[key] = &value
}

func (t *table[K, V]) drop(key K) {
	if _, ok := t.rows[key]; !ok {
		return
	}
	t.own()
	delete(t.rows, key)
}

func (t *table[K, V]) own() {
	if t.rows == nil {
		t.rows = map[K]*V{}
	}
	if t.shared {
		t.rows, t.shared = maps.Clone(t.rows), false
	}
}

// frozen is the map as it is now; it does not change any more.
func (t *table[K, V]) frozen() map[K]*V {
	t.shared = true
	return t.rows
}
