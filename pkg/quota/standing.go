package quota

import "github.com/berth-dev/berth/pkg/batch"

// Queue is how a queue stands in each cell that bounds it, in order.
func (u *Usage) Queue(name batch.QueueName) []batch.Standing {
	i, ok := u.tree.queues[name]
	if !ok {
		return nil
	}
	return u.standings(i)
}

// Cohort is how a cohort stands in each cell that anybody in it has a quota in,
// in order.
func (u *Usage) Cohort(name batch.CohortName) []batch.Standing {
	i, ok := u.tree.cohorts[name]
	if !ok {
		return nil
	}
	return u.standings(i)
}

func (u *Usage) standings(i int) []batch.Standing {
	var all []batch.Standing
	n := &u.tree.nodes[i]
	for k, cell := range u.tree.cells {
		s := &n.shares[k]
		used := u.below(i, k)
		if !s.bounded && s.all == 0 && used == 0 {
			continue
		}
		is := batch.Standing{Flavor: cell.Flavor, Resource: cell.Resource, Quota: s.quota, Nominal: u.tree.nominal(i, k), Used: used}
		if n.parent >= 0 {
			is.Borrowed = max(0, *u.at(i, k)-u.own(i, k))
			is.Lent = u.lent(i, k)
		}
		is.Promised = u.tree.promised(k)
		all = append(all, is)
	}
	return all
}

// nominal are the nominal quotas of a node and of all below it; unbounded where
// nobody has set one.
func (t *Tree) nominal(i, cell int) batch.Limit {
	n := &t.nodes[i]
	out := batch.Limit{Bounded: n.shares[cell].set, Amount: n.shares[cell].quota.Nominal}
	for _, child := range n.children {
		if below := t.nominal(child, cell); below.Bounded {
			out = batch.LimitOf(plus(out.Amount, below.Amount))
		}
	}
	return out
}

// promised are the nominal quotas of all in one cell.
func (t *Tree) promised(cell int) batch.Amount {
	sum := batch.Amount(0)
	for i := range t.nodes {
		sum = plus(sum, t.nodes[i].shares[cell].quota.Nominal)
	}
	return sum
}

// own is what a node may use without borrowing.
func (u *Usage) own(i, cell int) batch.Amount {
	s := &u.tree.nodes[i].shares[cell]
	if u.tree.nodes[i].queue != "" {
		return s.quota.Nominal
	}
	return s.all
}

// below is what all queues below a node use.
func (u *Usage) below(i, cell int) batch.Amount {
	if u.tree.nodes[i].queue != "" {
		return *u.at(i, cell)
	}
	sum := batch.Amount(0)
	for _, child := range u.tree.nodes[i].children {
		sum = plus(sum, u.below(child, cell))
	}
	return sum
}

// lent is what others use of what a node has lent.
func (u *Usage) lent(node, cell int) batch.Amount {
	n := &u.tree.nodes[node]
	if n.parent < 0 {
		return 0
	}
	cohort := &u.tree.nodes[n.parent]
	wanted := u.lent(n.parent, cell)
	for _, child := range cohort.children {
		s := &u.tree.nodes[child].shares[cell]
		wanted = plus(wanted, max(0, s.reach(*u.at(child, cell))-s.lent()))
	}
	wanted -= min(wanted, cohort.shares[cell].quota.Nominal)
	for _, child := range cohort.children {
		s := &u.tree.nodes[child].shares[cell]
		given := min(wanted, max(0, s.lent()-s.reach(*u.at(child, cell))))
		if child == node {
			return given
		}
		wanted -= given
	}
	return 0
}
