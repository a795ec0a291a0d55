// Package metrics holds Berth's Prometheus metrics. Values come from the plan
// and from the writes that carry it out; nothing else counts.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-dev/berth/pkg/batch"
)

// Set is the metrics of one controller.
type Set struct {
	pending    *prometheus.GaugeVec
	running    *prometheus.GaugeVec
	planning   prometheus.Histogram
	lastPlan   prometheus.Gauge
	admissions *prometheus.CounterVec
	evictions  *prometheus.CounterVec
	writes     *prometheus.CounterVec
	releases   prometheus.Histogram
	usage      usage
}

// New makes the metrics and registers them with controller-runtime's registry.
func New() *Set {
	s := &Set{
		usage: newUsage(),
		pending: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "berth_pending_workloads",
			Help: "Workloads that wait, by ClusterQueue. If it grows while nodes are idle, look at the reasons: kubectl get qw -A -o wide.",
		}, []string{"cluster_queue"}),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "berth_running_workloads",
			Help: "Workloads that hold an allocation, by ClusterQueue, those whose pods are still ending included.",
		}, []string{"cluster_queue"}),
		planning: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "berth_plan_duration_seconds",
			Help:    "Time of one planning pass. If it comes near a second, lower spec.backfill.depth of the SchedulingPolicy.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
		lastPlan: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "berth_last_plan_timestamp_seconds",
			Help: "When the last planning pass ended. Older than a minute while work is pending means that Berth hangs; /healthz then fails and the pod is restarted.",
		}),
		admissions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_admissions_total",
			Help: "Workloads started, by ClusterQueue and by how: Order, Backfill into a gap, or Preemption.",
		}, []string{"cluster_queue", "via"}),
		evictions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_evictions_total",
			Help: "Allocations taken back, by cause. StartTimeout means that pods could not be released or bound: see the workload's Evicted condition.",
		}, []string{"cause"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_api_writes_total",
			Help: "Writes to the API server, by what was written and how it ended. Failures that go on growing mean a missing permission or an admission plugin that refuses.",
		}, []string{"object", "result"}),
		releases: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "berth_pod_release_delay_seconds",
			Help:    "Time from the making of a gated pod to its release to kube-scheduler.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 12),
		}),
	}
	ctrlmetrics.Registry.MustRegister(s.pending, s.running, s.planning, s.lastPlan, s.admissions, s.evictions, s.writes, s.releases)
	ctrlmetrics.Registry.MustRegister(s.usage.all()...)
	return s
}

// Planned records a planning pass: how long it took, what it decided, and what
// is in the queues now.
func (s *Set) Planned(took time.Duration, at time.Time, plan batch.Plan, queues map[batch.QueueName]batch.QueueSummary) {
	s.planning.Observe(took.Seconds())
	s.lastPlan.Set(float64(at.Unix()))
	for _, start := range plan.Start {
		s.admissions.WithLabelValues(string(start.Allocation.Queue), string(start.Allocation.Via)).Inc()
	}
	for _, eviction := range plan.Evict {
		s.evictions.WithLabelValues(string(eviction.Eviction.Cause)).Inc()
	}
	s.pending.Reset() // queues that are gone leave no number behind
	s.running.Reset()
	for name, queue := range queues { //order:any gauges are set one by one
		s.pending.WithLabelValues(string(name)).Set(float64(queue.Pending))
		s.running.WithLabelValues(string(name)).Set(float64(queue.Running))
	}
	s.usage.set(queues)
}

// The results of a write.
const (
	ResultOK      = "ok"
	ResultFailed  = "failed"
	ResultRefused = "refused"
	ResultDropped = "dropped" // more Events than can be written
)

// Wrote records a write to the API server.
func (s *Set) Wrote(object, result string) { s.writes.WithLabelValues(object, result).Inc() }

// Released records that a pod was let go to kube-scheduler.
func (s *Set) Released(waited time.Duration) { s.releases.Observe(waited.Seconds()) }
