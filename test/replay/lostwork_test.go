package replay_test

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
	"github.com/berth-dev/berth/pkg/planner"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// How jobs save by themselves. It takes them longer than the grace to do so when
// they are told to end.
const (
	savesEvery = 10 * time.Minute
	resumes    = time.Minute
)

// lostWork is a log of which some work is of a lower tier.
type lostWork struct {
	log         string
	nodes, each int // processors, or GPUs, a node
	skip, limit int // jobs
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
	read  int           // jobs
	first time.Duration // submission of the first that is passed on
}

// Next is the next job.
func (s *squeezed) Next() (*scenario.Job, error) {
	job, err := s.Source.Next()
	for ; err == nil && job != nil && s.read < s.skip; job, err = s.Source.Next() {
		s.read++
	}
	if job == nil || err != nil {
		return job, err
	}
	if s.read == s.skip {
		s.first = job.At
	}
	s.read++
	out := *job
	out.At = time.Duration(float64(job.At-s.first) / s.squeeze).Truncate(time.Second)
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
	out.Saves = &scenario.Saves{Every: savesEvery, Save: 2 * time.Minute, Resume: resumes}
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

// orders are the orders of victims.
func orders() []batch.VictimOrder {
	return []batch.VictimOrder{batch.VictimsLeastLost, batch.VictimsYoungest, batch.VictimsSmallestFirst}
}

// sameMoments asks at each moment of a run at which somebody is evicted whom each
// order would take then: from the same work, on the same nodes, for the same that
// wait. Runs of the whole log part ways at the first difference, so that they
// differ in waits and in how often somebody must go, too.
type sameMoments struct {
	core    *core.Core
	kept    map[batch.WorkloadID]time.Duration // progress that a run goes on from
	moments int
	lost    map[batch.VictimOrder]time.Duration // times GPUs
}

func (s *sameMoments) see(pass sim.Pass) {
	for _, e := range pass.Events {
		s.core.Step(e)
	}
	if len(pass.Plan.Evict) > 0 {
		s.moments++
		snapshot := s.core.Snapshot()
		for _, order := range orders() {
			snapshot.Policy.Victims = order
			for _, e := range planner.Plan(snapshot, pass.Plan.At).Evict {
				lost, _ := s.loses(snapshot, e.ID, pass.Plan.At)
				s.lost[order] += lost
			}
		}
		for _, e := range pass.Plan.Evict {
			_, s.kept[e.ID] = s.loses(snapshot, e.ID, pass.Plan.At)
		}
	}
	if pass.Issued {
		s.core.Step(batch.PlanIssued{Plan: pass.Plan})
	}
}

// loses is the time, times GPUs, that a run loses if it is told to end, as the
// simulator has it, and the progress that it keeps.
func (s *sameMoments) loses(snapshot batch.Snapshot, id batch.WorkloadID, at time.Time) (lost, kept time.Duration) {
	i := slices.IndexFunc(snapshot.Started, func(r *batch.Started) bool { return r.Workload.ID == id })
	w := snapshot.Started[i].Workload
	age, before := at.Sub(w.Allocation.Start), s.kept[id]
	progress := before + age
	if before > 0 {
		progress -= min(age, resumes)
	}
	kept = max(before, progress.Truncate(savesEvery))
	gpus := len(w.Allocation.PodSets[0].Hosts) * int(w.PodSets[0].Requests[batch.ResourceGPU])
	return time.Duration(gpus) * (age - (kept - before)), kept
}

func (l lostWork) play(t *testing.T, server *admission.Server, victims batch.VictimOrder, look func(sim.Pass)) outcome {
	t.Helper()
	text := fmt.Sprintf(lostWorkFile, victims, l.nodes, l.each, l.skip+l.limit)
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
	result, err := sim.Run(file, sim.Options{Source: &squeezed{Source: trace, lostWork: l}, Pass: look, Ran: func(r sim.Ran) {
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
// those for whom it is lost. Only the moments are held to it: what each order
// comes to over the log, where the runs part ways, is told.
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
			// Its first jobs leave no choice: 1 in 600 processor hours is of the
			// lower tier, each on a node of its own beside work that stays.
			log: "swf/UniLu-Gaia-2014-1.swf.gz", nodes: 167, each: 12, skip: 20_000, limit: 3000, squeeze: 2,
			low: func(_ int, queue batch.LocalQueueName) bool { return queue == "default/q2" },
		},
		{
			log: "gpu/muri-philly-trace2.swf.gz", nodes: 72, each: 8, limit: 1200, squeeze: 2,
			low: func(procs int, _ batch.LocalQueueName) bool { return procs <= 4 },
		},
	} {
		t.Run(filepath.Base(l.log), func(t *testing.T) {
			same := &sameMoments{core: core.New(), kept: map[batch.WorkloadID]time.Duration{}, lost: map[batch.VictimOrder]time.Duration{}}
			for _, order := range orders() {
				look := same.see
				if order != batch.VictimsLeastLost {
					look = nil
				}
				t.Logf("%s over the log: %+v", order, l.play(t, server, order, look))
			}
			if same.moments == 0 {
				t.Fatal("nobody has to give way: the load is too low")
			}
			least := same.lost[batch.VictimsLeastLost]
			for _, order := range orders() {
				lost := same.lost[order]
				t.Logf("%s loses %.1f GPU hours at the %d moments of LeastLost", order, lost.Hours(), same.moments)
				if order != batch.VictimsLeastLost && lost <= least {
					t.Errorf("%s loses no more than LeastLost", order)
				}
			}
		})
	}
}
