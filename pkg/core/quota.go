package core

import (
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
)

// Standings returns what each queue holds and what waits for it, and how each
// cohort stands.
func (c *Core) Standings() (map[batch.QueueName]batch.QueueSummary, map[batch.CohortName]batch.CohortSummary) {
	sums := c.state.Summaries()
	queues, cohorts, uses := c.state.Quotas()
	of := make(map[batch.CohortName]batch.CohortSummary, len(cohorts))
	circles := quota.Circles(cohorts)
	for name := range cohorts { //order:any each cohort by itself
		of[name] = batch.CohortSummary{Circle: circles[name]}
	}
	tree := quota.New(queues, cohorts)
	if tree == nil {
		return sums, of
	}
	usage := tree.Usage()
	for i := range uses {
		usage.Add(tree.Bill(uses[i].Queue, uses[i].Flavor, uses[i].Requests))
	}
	for name, queue := range queues { //order:any each queue by itself
		sum := sums[name]
		sum.Quotas, sum.Circle = c.withCapacity(usage.Queue(name)), tree.Circle(queue)
		sums[name] = sum
	}
	for name, sum := range of { //order:any each cohort by itself
		sum.Quotas = c.withCapacity(usage.Cohort(name))
		of[name] = sum
	}
	return sums, of
}

// withCapacity adds what there is on the nodes.
func (c *Core) withCapacity(all []batch.Standing) []batch.Standing {
	for i := range all {
		all[i].Has = c.state.Capacity(all[i].Flavor)[all[i].Resource]
	}
	return all
}
