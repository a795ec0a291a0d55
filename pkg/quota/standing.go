package quota

import "github.com/berth-dev/berth/pkg/batch"

// Standing is how a queue or a cohort stands in one cell.
type Standing struct {
	Cell
	Quota batch.Quota
	Used  batch.Amount // by all that is below, whoever's quota it is
	// Borrowed is what it uses beyond its own: a queue beyond its nominal
	// quota, a cohort beyond what it and its members have. Without a cohort
	// above, nothing is borrowed.
	Borrowed batch.Amount
	// Lent is what others use of its own. What is lent adds up to what is
	// borrowed, less what quotas of cohorts cover; these go first, then members
	// with idle quota, by name, cohorts before queues.
	Lent batch.Amount
}

// Queue is how a queue stands in each cell that bounds it, in order.
func (u *Usage) Queue(name batch.QueueName) []Standing {
	i, ok := u.tree.queues[name]
	if !ok {
		return nil
	}
	return u.standings(i)
}

// Cohort is how a cohort stands in each cell that anybody in it has a quota in,
// in order.
func (u *Usage) Cohort(name batch.CohortName) []Standing {
	i, ok := u.tree.cohorts[name]
	if !ok {
		return nil
	}
	return u.standings(i)
}

func (u *Usage) standings(i int) []Standing {
	var all []Standing
	n := &u.tree.nodes[i]
	for k, cell := range u.tree.cells {
		s := &n.shares[k]
		used := u.below(i, k)
		if !s.bounded && s.all == 0 && used == 0 {
			continue
		}
		is := Standing{Cell: cell, Quota: s.quota, Used: used}
		if n.parent >= 0 {
			is.Borrowed = max(0, *u.at(i, k)-u.own(i, k))
			is.Lent = u.lent(i, k)
		}
		all = append(all, is)
	}
	return all
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
