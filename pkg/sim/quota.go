package sim

import (
	"fmt"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
)

// checkQuota: no start takes more than its queue's quota leaves, at any level
// of the cohort tree. What is used is counted from the pods that run, and what
// the quotas are from the objects; the core is not asked for either.
func (w *world) checkQuota(j *job, a *batch.Allocation) {
	if !w.options.thorough() || w.breach != nil {
		return
	}
	tree := w.quotas()
	if !tree.Has(a.Queue) {
		return
	}
	usage := tree.Usage()
	for _, other := range w.jobs { //order:any sums
		if other.ended || len(other.pods) == 0 || other.workload.Allocation == nil {
			continue
		}
		var sum batch.Resources
		for i := range other.pods {
			sum = sum.Plus(other.pods[i].Requests)
		}
		usage.Add(tree.Bill(other.workload.Allocation.Queue, other.workload.Allocation.Flavor, sum))
	}
	var asked batch.Resources
	for i, placement := range a.PodSets {
		asked = asked.Plus(j.workload.PodSets[i].Requests.Times(len(placement.Hosts)))
	}
	if refusal, refused := usage.Refusal(tree.Bill(a.Queue, a.Flavor, asked)); refused {
		w.broke(fmt.Sprintf("%s of flavor %s that ClusterQueue %s takes for %s", refusal.Resource, refusal.Flavor, a.Queue, j.workload.ID),
			fmt.Sprintf("at most %d more", refusal.Free), refusal.Asked)
	}
}

// quotas is the cohort tree of the objects as they are now.
func (w *world) quotas() *quota.Tree {
	queues, cohorts := map[batch.QueueName]*batch.Queue{}, map[batch.CohortName]*batch.Cohort{}
	for _, object := range w.objects { //order:any each by itself
		switch seen := object.Seen.(type) {
		case batch.QueueObserved:
			queues[seen.Queue.Name] = &seen.Queue
		case batch.CohortObserved:
			cohorts[seen.Cohort.Name] = &seen.Cohort
		}
	}
	return quota.New(queues, cohorts)
}
