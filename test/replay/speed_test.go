package replay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/options"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// jobsOfBudget is how many jobs of a log are to be simulated in a minute.
const jobsOfBudget = 100_000

// BenchmarkLog plays the head of a large log with conservative backfill, on the
// machine as one node, where counting is enough, and on its nodes of 16. The
// budget is 60 s; run it with -benchtime 1x.
func BenchmarkLog(b *testing.B) {
	path := filepath.Join(dataFolder, "swf", "CEA-curie-sc15.swf.gz")
	if _, err := os.Stat(path); err != nil {
		b.Skipf("the job log is not there: %v", err)
	}
	defer options.CollectRarely()() // as kubectl berth simulate has it
	server, err := admission.New()
	if err != nil {
		b.Fatal(err)
	}
	for _, perNode := range []int{80_640, 16} {
		b.Run(fmt.Sprintf("procsPerNode=%d", perNode), func(b *testing.B) {
			for b.Loop() {
				result := playHead(b, server, path, perNode)
				b.ReportMetric(result.Metrics[scenario.MetricMeanWait], "wait-s")
				b.ReportMetric(float64(result.Counts.LongestQueue), "queue")
				b.ReportMetric(float64(result.Counts.Plans), "plans")
			}
		})
	}
}

// playHead plays the head of a log.
func playHead(b *testing.B, server scenario.Admitter, path string, perNode int) *sim.Result {
	b.Helper()
	text := fmt.Sprintf(`{apiVersion: sim.berth.dev/v1alpha1, kind: Scenario, metadata: {name: log}, spec: {trace: {file: log, format: swf, procsPerNode: %d, limit: %d}}}`,
		perNode, jobsOfBudget)
	file, err := scenario.Load("log", []byte(text), scenario.Options{Admitter: server})
	if err != nil {
		b.Fatal(err)
	}
	log, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	trace, err := scenario.OpenTrace(file, log)
	if err != nil {
		b.Fatal(err)
	}
	result, err := sim.Run(file, sim.Options{Source: trace})
	if err != nil || result.Breach != nil {
		b.Fatalf("%v, %+v", err, result)
	}
	return result
}
