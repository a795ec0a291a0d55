package quota

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/berth-dev/berth/pkg/batch"
)

// Terms are, for each queue, a number for all that is set in the tree that it
// is in: who is in it, below whom, with which quotas. It changes when somebody
// changes one of them, and not with the use.
func (t *Tree) Terms() map[batch.QueueName]uint64 {
	if t == nil {
		return nil
	}
	ofRoot := map[int]uint64{}
	out := make(map[batch.QueueName]uint64, len(t.queues))
	for name, i := range t.queues { //order:any each queue by itself
		root := t.root(i)
		if _, known := ofRoot[root]; !known {
			ofRoot[root] = t.termsOf(root)
		}
		out[name] = ofRoot[root]
	}
	return out
}

func (t *Tree) termsOf(root int) uint64 {
	sum := fnv.New64a()
	var word [8]byte
	number := func(n int64) {
		binary.LittleEndian.PutUint64(word[:], uint64(n))
		_, _ = sum.Write(word[:]) // a hash takes everything
	}
	text := func(s string) {
		number(int64(len(s)))
		_, _ = sum.Write([]byte(s)) // a hash takes everything
	}
	limit := func(l batch.Limit) {
		if number(0); l.Bounded {
			number(1)
			number(int64(l.Amount))
		}
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		if t.root(i) != root {
			continue
		}
		text(string(n.queue))
		text(string(n.cohort))
		if n.parent >= 0 {
			text(string(t.nodes[n.parent].cohort))
		}
		for k := range n.shares {
			if s := &n.shares[k]; s.set {
				text(string(t.cells[k].Flavor))
				text(string(t.cells[k].Resource))
				number(int64(s.quota.Nominal))
				limit(s.quota.Borrow)
				limit(s.quota.Lend)
			}
		}
	}
	return max(1, sum.Sum64())
}
