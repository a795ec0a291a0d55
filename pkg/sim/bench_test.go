package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
)

// stream is a made-up log: sizes by powers of two, run times from a minute to
// hours, walltimes that people round up, and arrivals that fill the machine to
// a share. It is the same for the same seed.
type stream struct {
	random     *rand.Rand
	left, next int
	at         float64
	pause      float64 // mean seconds between arrivals
	most       int     // processors of the largest job
	sets       map[int][]batch.PodSet
	perNode    int
}

func newStream(jobs, procs, perNode int, load float64) *stream {
	s := &stream{random: rand.New(rand.NewPCG(1, 7)), left: jobs, most: procs / 2, perNode: perNode, sets: map[int][]batch.PodSet{}}
	work := 0.0
	const tries = 20_000
	for range tries {
		size, run, _ := s.draw()
		work += float64(size) * run
	}
	s.pause = work / tries / (load * float64(procs))
	s.random = rand.New(rand.NewPCG(1, 7))
	return s
}

func (s *stream) draw() (size int, run, walltime float64) {
	size = min(s.most, 1<<s.random.IntN(1+int(math.Log2(float64(s.most)))))
	run = 60 * math.Exp(s.random.Float64()*math.Log(300))
	walltime = math.Ceil(run*(1+4*s.random.Float64()*s.random.Float64())/900) * 900
	return size, math.Round(run), walltime
}

// Next implements Source.
func (s *stream) Next() (*scenario.Job, error) {
	if s.left == 0 {
		return nil, nil
	}
	s.left--
	s.next++
	s.at += s.random.ExpFloat64() * s.pause
	size, run, walltime := s.draw()
	sets, known := s.sets[size]
	if !known {
		each := min(size, s.perNode)
		sets = []batch.PodSet{{Name: "main", Count: max(1, size/each), Requests: batch.Resources{
			batch.ResourceCPU: batch.Amount(each) * 1000, batch.ResourcePods: 1,
		}}}
		s.sets[size] = sets
	}
	name := fmt.Sprintf("j%d", s.next)
	id := scenario.JobID("default", name)
	return &scenario.Job{
		At: time.Duration(s.at) * time.Second, Runtime: time.Duration(run) * time.Second, FromTrace: true,
		Workload: batch.Workload{
			ID: id, UID: string(id), Namespace: "default", Name: name, LocalQueue: "default/default", PodSets: sets,
			Walltime: batch.Walltime(time.Duration(walltime) * time.Second), Submitter: "user",
		},
	}, nil
}

// BenchmarkTrace plays a stream of jobs with conservative backfill; jobs/s is
// the figure. The budget is 100,000 jobs in 60 s.
func BenchmarkTrace(b *testing.B) {
	for _, machine := range []struct{ nodes, perNode int }{{1, 4096}, {128, 1}, {128, 32}, {1024, 8}} {
		b.Run(fmt.Sprintf("nodes=%d/procs=%d", machine.nodes, machine.perNode), func(b *testing.B) {
			const jobs = 2000
			for b.Loop() {
				file := story(0)
				for i := range machine.nodes {
					file.Nodes = append(file.Nodes, batch.Node{
						Name: batch.NodeName(fmt.Sprintf("n%04d", i)), Ready: true,
						Capacity: batch.Resources{batch.ResourceCPU: batch.Amount(machine.perNode) * 1000, batch.ResourcePods: batch.Amount(max(110, machine.perNode))},
					})
				}
				result, err := Run(file, Options{Source: newStream(jobs, machine.nodes*machine.perNode, machine.perNode, 0.85)})
				if err != nil || result.Breach != nil || result.Counts.Ended != jobs {
					b.Fatalf("%v, %+v", err, result)
				}
				b.ReportMetric(float64(result.Counts.LongestQueue), "queue")
			}
			b.ReportMetric(float64(jobs)*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}
