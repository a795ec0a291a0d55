package quota

import "github.com/berth-dev/berth/pkg/batch"

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
	sum := hash(hashBasis)
	for i := range t.nodes {
		n := &t.nodes[i]
		if t.root(i) != root {
			continue
		}
		sum.text(string(n.queue))
		sum.text(string(n.cohort))
		if n.parent >= 0 {
			sum.text(string(t.nodes[n.parent].cohort))
		}
		for k := range n.shares {
			if s := &n.shares[k]; s.set {
				sum.text(string(t.cells[k].Flavor))
				sum.text(string(t.cells[k].Resource))
				sum.number(uint64(s.quota.Nominal))
				sum.limit(s.quota.Borrow)
				sum.limit(s.quota.Lend)
			}
		}
	}
	return max(1, uint64(sum))
}

// hash is an FNV-1a of 64 bits.
type hash uint64

const (
	hashBasis = 14695981039346656037
	hashPrime = 1099511628211
)

func (h *hash) text(s string) {
	h.number(uint64(len(s)))
	for i := range len(s) {
		*h = (*h ^ hash(s[i])) * hashPrime
	}
}

func (h *hash) number(n uint64) {
	for range 8 {
		*h = (*h ^ hash(n&0xff)) * hashPrime
		n >>= 8
	}
}

func (h *hash) limit(l batch.Limit) {
	if l.Bounded {
		h.number(uint64(l.Amount))
	}
	h.text(map[bool]string{true: "bounded"}[l.Bounded])
}
