package replay_test

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// lostWork is a log of which some work is of a lower tier.
type lostWork struct {
	log         string
	nodes, each int // processors, or GPUs, a node
	limit       int
	// squeeze is by how much sooner the jobs come than in the log.
	squeeze float64
	// low says which jobs are of the lower tier.
	low func(procs int, queue batch.LocalQueueName) bool
}

// squeezed passes on a log's jobs, sooner than they came, with whole nodes for
// large ones, and with checkpoints.
type squeezed struct {
	sim.Source
	lostWork
}

// Next is the next job.
func (s squeezed) Next() (*scenario.Job, error) {
	job, err := s.Source.Next()
	if job == nil || err != nil {
		return job, err
	}
	out := *job
	out.At = time.Duration(float64(job.At) / s.squeeze).Truncate(time.Second)
	w := &out.Workload
	procs := w.PodSets[0].Count
	pods, gpus := 1, procs
	if procs > s.each {
		pods, gpus = (procs+s.each-1)/s.each, s.each
	}
	w.PodSets = []batch.PodSet{{Name: "main", Count: pods, Requests: batch.Resources{batch.ResourceGPU: batch.Amount(gpus), batch.ResourcePods: 1}}}
	queue := "default/high"
	if s.low(procs, w.LocalQueue) {
		queue = "default/low"
	}
	w.LocalQueue = batch.LocalQueueName(queue)
	if w.Walltime == 0 || w.Walltime == batch.Walltime(out.Runtime) {
		w.Walltime = 2 * batch.Walltime(max(out.Runtime, time.Minute))
	}
	out.Saves = &scenario.Saves{Every: 10 * time.Minute, Save: 2 * time.Minute, Resume: time.Minute}
	w.Checkpoint.Every = out.Saves.Every
	return &out, nil
}

const lostWorkFile = `
apiVersion: berth.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: default}
spec: {preemption: {victims: %s}, backfill: {mode: EASY}}
---
apiVersion: berth.dev/v1alpha1
kind: ClusterQueue
metadata: {name: low}
spec: {priorityTier: 1, preemption: {mode: Requeue, grace: 60s}}
---
apiVersion: berth.dev/v1alpha1
kind: ClusterQueue
metadata: {name: high}
spec: {priorityTier: 10}
---
apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: lost-work}
spec:
  nodes: [{prefix: n, count: %d, resources: {cpu: "96", memory: 1Ti, nvidia.com/gpu: "%d"}}]
  trace: {file: log.swf.gz, format: swf, limit: %d, queues: {"0": q0, "1": q1, "2": q2}}
  jobs: []
`

// outcome is what a policy of victims comes to.
type outcome struct {
	evictions int
	lostHours float64 // of GPUs
	wait      float64 // of the higher tier, in seconds
}

func (l lostWork) play(t *testing.T, server *admission.Server, victims batch.VictimOrder) outcome {
	t.Helper()
	text := fmt.Sprintf(lostWorkFile, victims, l.nodes, l.each, l.limit)
	file, err := scenario.Load("lost-work.yaml", []byte(text), scenario.Options{Admitter: server})
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(filepath.Join(dataFolder, l.log))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := scenario.OpenTrace(file, unpacked)
	if err != nil {
		t.Fatal(err)
	}
	sum, n := time.Duration(0), 0
	result, err := sim.Run(file, sim.Options{Source: squeezed{Source: trace, lostWork: l}, Ran: func(r sim.Ran) {
		if r.Queue == "high" && r.Number == 1 {
			sum, n = sum+r.Start-r.Submitted, n+1
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if result.Breach != nil {
		t.Fatalf("an invariant is breached %s", result.Breach)
	}
	return outcome{
		evictions: result.Counts.Evicted, lostHours: result.Metrics[scenario.MetricLostGPUSeconds] / 3600,
		wait: sum.Seconds() / float64(max(n, 1)),
	}
}

// Of the orders of victims LeastLost loses the least work, at equal waits of
// those for whom it is lost.
func TestLeastLostLosesLeast(t *testing.T) {
	needData(t)
	if os.Getenv("BERTH_LONG") == "" {
		t.Skip("takes minutes: set BERTH_LONG=1")
	}
	server, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []lostWork{
		{
			log: "swf/UniLu-Gaia-2014-1.swf.gz", nodes: 167, each: 12, limit: 2000, squeeze: 6,
			low: func(_ int, queue batch.LocalQueueName) bool { return queue == "default/q2" },
		},
		{
			log: "gpu/muri-philly-trace2.swf.gz", nodes: 72, each: 8, limit: 1200, squeeze: 2,
			low: func(procs int, _ batch.LocalQueueName) bool { return procs <= 4 },
		},
	} {
		t.Run(filepath.Base(l.log), func(t *testing.T) {
			least := l.play(t, server, batch.VictimsLeastLost)
			t.Logf("LeastLost: %+v", least)
			if least.evictions == 0 {
				t.Fatal("nobody has to give way: the load is too low")
			}
			for _, victims := range []batch.VictimOrder{batch.VictimsYoungest, batch.VictimsSmallestFirst} {
				other := l.play(t, server, victims)
				t.Logf("%s: %+v", victims, other)
				if other.lostHours < least.lostHours {
					t.Errorf("%s loses %.1f GPU hours, LeastLost %.1f", victims, other.lostHours, least.lostHours)
				}
			}
		})
	}
}
