package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-dev/berth/pkg/batch"
)

// usage is what queues hold and how they stand by their quotas: cores, bytes,
// or whole units.
type usage struct{ used, nominal, borrowed, lent *prometheus.GaugeVec }

func newUsage() usage {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"cluster_queue", "flavor", "resource"})
	}
	return usage{
		used:     gauge("berth_used", "What running work holds, by ClusterQueue, flavor and resource; until its pods are gone."),
		nominal:  gauge("berth_quota_nominal", "The nominal quota. berth_used above it is borrowed, or the quota was lowered under running work."),
		borrowed: gauge("berth_quota_borrowed", "How much of what is used is beyond the nominal quota. Borrowed for days on end means that the quota is too small, or a neighbour's too large."),
		lent:     gauge("berth_quota_lent", "How much of the nominal quota others in the cohort use. If work of the queue waits meanwhile, think of reclaimWithinCohort or a lendingLimit."),
	}
}

func (u usage) all() []prometheus.Collector {
	return []prometheus.Collector{u.used, u.nominal, u.borrowed, u.lent}
}

// set replaces all numbers: those of queues that are gone leave none behind.
func (u usage) set(queues map[batch.QueueName]batch.QueueSummary) {
	for _, gauge := range []*prometheus.GaugeVec{u.used, u.nominal, u.borrowed, u.lent} {
		gauge.Reset()
	}
	for name, queue := range queues { //order:any gauges are set one by one
		for flavor, used := range queue.Used { //order:any gauges are set one by one
			for resource, amount := range used { //order:any gauges are set one by one
				u.used.WithLabelValues(string(name), string(flavor), string(resource)).Set(units(resource, amount))
			}
		}
		for _, s := range queue.Quotas {
			labels := []string{string(name), string(s.Flavor), string(s.Resource)}
			u.used.WithLabelValues(labels...).Set(units(s.Resource, s.Used))
			u.nominal.WithLabelValues(labels...).Set(units(s.Resource, s.Quota.Nominal))
			u.borrowed.WithLabelValues(labels...).Set(units(s.Resource, s.Borrowed))
			u.lent.WithLabelValues(labels...).Set(units(s.Resource, s.Lent))
		}
	}
}

// thousandths is how cores are counted.
const thousandths = 1000

func units(resource batch.ResourceName, amount batch.Amount) float64 {
	if resource == batch.ResourceCPU {
		return float64(amount) / thousandths
	}
	return float64(amount)
}
