package sim

import (
	"math"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
)

// shortJob is below what a run time makes no difference to the slowdown.
const shortJob = 10 * time.Second

// metered are the resources that utilization is told of: of the first that
// the cluster has and somebody used.
func metered() []batch.ResourceName {
	return []batch.ResourceName{batch.ResourceGPU, batch.ResourceCPU, batch.ResourcePods}
}

// meter sums up a run as it goes. It keeps two numbers a job.
type meter struct {
	world *world

	total, used         [3]float64 // now
	totalTime, usedTime [3]float64 // times seconds
	since               time.Duration

	queues map[batch.QueueName]batch.Resources

	waits                        []float64
	slowdowns                    float64
	slowdownCount                int
	submissions, startCount      int
	waiting, running, evictions  int
	longestQueue, plans, moments int
	firstSubmit, lastEnd         time.Duration
	lostGPUSeconds               float64
}

// advance integrates up to a time.
func (m *meter) advance(at time.Duration) {
	passed := (at - m.since).Seconds()
	if passed <= 0 {
		return
	}
	for i := range m.total {
		m.totalTime[i] += m.total[i] * passed
		m.usedTime[i] += m.used[i] * passed
	}
	m.since = at
}

func (m *meter) capacity(c batch.Resources, sign float64) {
	for i, name := range metered() {
		m.total[i] += sign * float64(c[name])
	}
}

func (m *meter) occupied(j *job, sign float64) {
	for set, placement := range j.workload.Allocation.PodSets {
		for i, name := range metered() {
			m.used[i] += sign * float64(len(placement.Hosts)) * float64(j.workload.PodSets[set].Requests[name])
		}
	}
}

func (m *meter) submitted(*job) {
	if m.submissions == 0 {
		m.firstSubmit = m.world.now
	}
	m.submissions++
	m.waiting++
	m.longestQueue = max(m.longestQueue, m.waiting)
}

func (m *meter) started(j *job) {
	m.startCount++
	m.waiting--
	m.running++
	m.occupied(j, 1)
	if j.starts == 1 {
		m.waits = append(m.waits, (m.world.now - j.submitted).Seconds())
	}
}

func (m *meter) stopped(j *job) {
	m.running--
	m.occupied(j, -1)
	m.lastEnd = m.world.now
}

// gone is a job that will not run any more, and does not run.
func (m *meter) gone(*job) { m.waiting-- }

func (m *meter) finished(j *job) {
	m.slowdownCount++
	run := m.world.now - j.started
	m.slowdowns += max(1, (m.world.now-j.submitted).Seconds()/max(shortJob, run).Seconds())
}

// left is an evicted job whose pods are gone.
func (m *meter) left(j *job, lost time.Duration) {
	m.stopped(j)
	m.waiting++
	gpus := 0.0
	for set, placement := range j.workload.Allocation.PodSets {
		gpus += float64(len(placement.Hosts)) * float64(j.workload.PodSets[set].Requests[batch.ResourceGPU])
	}
	m.lostGPUSeconds += gpus * lost.Seconds()
}

// charge counts a pod of a queue, or no longer.
func (m *meter) charge(queue batch.QueueName, requests batch.Resources, n int) {
	used := m.queues[queue]
	if used == nil {
		used = batch.Resources{}
		if m.queues == nil {
			m.queues = map[batch.QueueName]batch.Resources{}
		}
		m.queues[queue] = used
	}
	for name, amount := range requests { //order:any sums
		used[name] += amount * batch.Amount(n)
	}
}

// metrics are the numbers of the whole run.
func (m *meter) metrics() map[string]float64 {
	out := map[string]float64{
		scenario.MetricMakespan:       max(0, m.lastEnd-m.firstSubmit).Seconds(),
		scenario.MetricLostGPUSeconds: m.lostGPUSeconds,
		scenario.MetricUtilization:    m.utilization(),
	}
	sorted := slices.Sorted(slices.Values(m.waits))
	sum := 0.0
	for _, wait := range sorted {
		sum += wait
	}
	if n := len(sorted); n > 0 {
		out[scenario.MetricMeanWait] = sum / float64(n)
		out[scenario.MetricP95Wait] = sorted[min(n-1, int(math.Ceil(0.95*float64(n)))-1)]
	} else {
		out[scenario.MetricMeanWait], out[scenario.MetricP95Wait] = 0, 0
	}
	if m.slowdownCount > 0 {
		out[scenario.MetricMeanBoundedSlowdown] = m.slowdowns / float64(m.slowdownCount)
	} else {
		out[scenario.MetricMeanBoundedSlowdown] = 0
	}
	return out
}

// utilization is the share of the capacity, from the start to the last end, that
// running work held: of GPUs where there are any in use, else of CPUs, else of
// pod slots.
func (m *meter) utilization() float64 {
	for i := range m.totalTime {
		if m.usedTime[i] > 0 && m.totalTime[i] > 0 {
			return m.usedTime[i] / m.totalTime[i]
		}
	}
	return 0
}

func (m *meter) sample() Sample {
	s := Sample{At: m.world.now, Waiting: m.waiting, Running: m.running, Used: batch.Resources{}, Capacity: batch.Resources{}}
	for i, name := range metered() {
		s.Used[name], s.Capacity[name] = batch.Amount(m.used[i]), batch.Amount(m.total[i])
	}
	return s
}
