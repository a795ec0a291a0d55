package scenarios_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// drawBurst draws a cluster that is full of small work, and then more work at once
// that takes its place than one plan tells others to go for: within one second, or
// within a few. It takes it since its tier is higher, or since its queue has lent it.
func drawBurst(chance *rand.Rand) *story {
	pick := func(from ...string) string { return from[chance.IntN(len(from))] }
	s := &story{nodes: 50 + chance.IntN(30)}
	s.objects = append(s.objects,
		fmt.Sprintf("{apiVersion: berth.dev/v1alpha1, kind: SchedulingPolicy, metadata: {name: default}, spec: {backfill: {mode: %s}, preemption: {victims: %s}, requeueDelay: %s}}",
			pick("Conservative", "Conservative", "EASY", "None"), pick("LeastLost", "LeastLost", "Youngest", "SmallestFirst"), pick("0s", "0s", "10m")),
		"{apiVersion: berth.dev/v1alpha1, kind: ResourceFlavor, metadata: {name: f}, spec: {}}",
		"{apiVersion: berth.dev/v1alpha1, kind: Cohort, metadata: {name: top}, spec: {}}")
	quotas := chance.IntN(2) == 0
	for i, name := range wildQueues {
		quota, tier, reclaim := "", i+1, "Never"
		if quotas {
			quota = fmt.Sprintf(", cohortName: top, flavors: [{name: f, resources: [{name: nvidia.com/gpu, nominalQuota: \"%d\"}]}]", i*8*s.nodes/3)
			tier, reclaim = 1, "Any"
		}
		s.objects = append(s.objects, fmt.Sprintf("{apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: %s}, spec: {priorityTier: %d%s, "+
			"preemption: {mode: %s, grace: %s, exempt: %s, withinQueue: %s, reclaimWithinCohort: %s}}}",
			name, tier, quota, pick("Requeue", "Requeue", "Cancel"), pick("0s", "1m", "5m"), pick("0s", "0s", "10m"), pick("Never", "Never", "LowerPriority"), reclaim))
	}
	add := func(at time.Duration, queue string, pods, gpus int) {
		hours := 1 + chance.IntN(6)
		s.jobs = append(s.jobs, fmt.Sprintf("name: j%d, at: %s, queue: %s, pods: %d, requests: {nvidia.com/gpu: %d}, priority: %d, walltime: %dh, runtime: %dm%s",
			len(s.jobs), at, queue, pods, gpus, chance.IntN(3), hours, 1+chance.IntN(60*hours),
			pick("", "", "", ", onNotice: ignore", ", onNotice: {exitsAfter: 20s}", ", checkpoint: {every: 30m, save: 30s, resume: 1m}", ", requeue: false")))
	}
	for range 10 * s.nodes {
		add(0, wildQueues[0], 1, 1)
	}
	seconds := max(0, chance.IntN(4)-2)
	for range 5*s.nodes + chance.IntN(3*s.nodes) {
		add(30*time.Minute+time.Duration(chance.IntN(seconds+1))*time.Second, wildQueues[1+chance.IntN(2)], 1+chance.IntN(12)/11, []int{1, 1, 1, 1, 1, 1, 2, 8}[chance.IntN(8)])
	}
	return s
}

// More than one plan can deal with come at once. Hardly anybody is evicted in vain for
// that, and when nothing happens any more nobody is.
func TestABurstOfPreemptorsEvictsNobodyInVain(t *testing.T) {
	t.Parallel()
	admitter := server(t)
	first, last := seedsAsked(t)
	if last-first == 19 {
		last = first + 3 // they are of thousands of evictions
	}
	sum := course{}
	for seed := first; seed <= last; seed++ {
		s := drawBurst(rand.New(rand.NewPCG(seed, 1))) //nolint:gosec // not for secrets
		begin := time.Now()
		c, wrong := follow(s, admitter)
		if wrong != "" {
			leave(t, seed, s, func(s *story) string { _, wrong := follow(s, admitter); return wrong })
		}
		t.Logf("seed %d: %d jobs, %d nodes, %d evictions, %d in vain, %v %s", seed, len(s.jobs), s.nodes, c.evictions, c.vain, time.Since(begin).Round(time.Millisecond), c.first)
		sum.evictions, sum.vain = sum.evictions+c.evictions, sum.vain+c.vain
	}
	t.Logf("%d evictions, %d of a run that was started only for that", sum.evictions, sum.vain)
	if last > first && sum.vain*vainMax > sum.evictions {
		t.Errorf("%d of %d evictions are of runs that were started only for that", sum.vain, sum.evictions)
	}
}
