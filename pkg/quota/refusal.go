package quota

import "github.com/berth-dev/berth/pkg/batch"

// Refusal is why there is no room for a bill: the first of its resources, by
// name, for which there is none.
type Refusal struct {
	Cell
	Asked, Free batch.Amount
	// Borrowing says that a borrowing limit is in the way, and nothing else:
	// without it there would be room.
	Borrowing bool
	// Used and Limit are of the queue, with its nominal quota; Lent is what
	// others use of that.
	Used, Limit, Lent batch.Amount
	// Cohort is whose limit is in the way, or the one that has too little left
	// to lend; empty: the queue's own.
	Cohort batch.CohortName
	// Most is how much the queue could have if nobody else used anything; of a
	// borrowing limit, how much it lets have.
	Most batch.Amount
}

// Refusal says why there is no room for a bill; false if there is.
func (u *Usage) Refusal(b Bill) (Refusal, bool) {
	for _, is := range b.items {
		if free := u.free(b.node, is.cell); free < is.amount {
			return u.refusal(b.node, is, free), true
		}
	}
	return Refusal{}, false
}

func (u *Usage) refusal(node int, is item, free batch.Amount) Refusal {
	s := &u.tree.nodes[node].shares[is.cell]
	r := Refusal{
		Cell: u.tree.cells[is.cell], Asked: is.amount, Free: free, Used: *u.at(node, is.cell),
		Limit: s.quota.Nominal, Lent: u.lent(node, is.cell), Most: u.tree.most(node, is.cell),
	}
	need := is.amount
	for _, i := range u.tree.nodes[node].path {
		n := &u.tree.nodes[i]
		s, used := &n.shares[is.cell], *u.at(i, is.cell)
		r.Cohort = n.cohort
		if n.parent < 0 {
			return r
		}
		need -= min(need, max(0, s.kept-used))
		above := u.free(n.parent, is.cell)
		if limit := s.quota.Borrow; limit.Bounded && above >= need {
			if most := plus(s.lent(), max(0, limit.Amount)); need > max(0, most-s.reach(used)) {
				r.Borrowing, r.Most = true, plus(s.all, max(0, limit.Amount))
				return r
			}
		}
	}
	return r
}

// most is how much a node could take if nobody used anything.
func (t *Tree) most(node, cell int) batch.Amount {
	path := t.nodes[node].path
	return t.free(path, cell, make([]batch.Amount, len(path)))
}

// Exceeds says why a bill could not be paid even if nobody used anything; false
// if it could.
func (t *Tree) Exceeds(b Bill) (Refusal, bool) {
	if b.Free() {
		return Refusal{}, false
	}
	return t.Usage().Refusal(b)
}

// Refusal says why there is no room for a bill over a span, as it is when room
// is short for the first time; false if there is.
func (l *Ledger) Refusal(b Bill, span Span) (Refusal, bool) {
	at, refused := l.refusedAt(b, span)
	if !refused {
		return Refusal{}, false
	}
	return l.UsageAt(at).Refusal(b)
}

// UsageAt is what is used at a time.
func (l *Ledger) UsageAt(at Time) *Usage {
	u := l.tree.Usage()
	for i := range l.lines {
		u.used[i] = l.lines[i].usedAt(at)
	}
	return u
}
