package state

import "github.com/berth-dev/berth/pkg/batch"

// LocalSummaries returns what waits and what runs behind each LocalQueue,
// those that do not exist and are named all the same included.
func (s *State) LocalSummaries() map[batch.LocalQueueName]batch.QueueSummary {
	s.settle()
	sums := map[batch.LocalQueueName]batch.QueueSummary{}
	for name := range s.localQueues.rows { //order:any each queue by itself
		sums[name] = batch.QueueSummary{}
	}
	for _, r := range s.records { //order:any sums
		w := r.workload
		if w == nil || w.Finished != nil && !s.takesAny(r) {
			continue
		}
		sum := sums[w.LocalQueue]
		if w.Allocation == nil {
			sum.Pending++
		} else {
			sum.Running++
		}
		sums[w.LocalQueue] = sum
	}
	return sums
}
