package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

const (
	barsMax = 20_000 // runs on nodes that are drawn one by one
	rowsMax = 400    // nodes that have a row of their own
	gridMax = 600    // columns of the map that is drawn of more
)

// Recorder keeps of a run what its page shows.
type Recorder struct {
	unit  batch.ResourceName
	nodes []batch.NodeName
	row   map[batch.NodeName]int
	size  []float64 // units of a row
	bars  []bar
	names []string // of jobs, by index in bar.Job
	over  bool     // there were more bars than are kept
	grid  grid

	waiting, used series

	waits map[int][]float64 // seconds, by the power of two of the size
}

// bar is a run on one row.
type bar struct {
	Job   int     `json:"j"`
	Row   int     `json:"r"`
	From  float64 `json:"f"`
	Till  float64 `json:"t"`
	Units float64 `json:"u"`
	Via   string  `json:"v"`
	State string  `json:"s"`
	Wait  float64 `json:"w"`
}

// NewRecorder returns a recorder for a scenario. It must be made when the
// nodes are known: after the trace was opened.
func NewRecorder(file *scenario.File) *Recorder {
	r := &Recorder{unit: unitOf(file), row: map[batch.NodeName]int{}, waits: map[int][]float64{}}
	for i := range file.Nodes {
		r.addNode(&file.Nodes[i])
	}
	for i := range file.Events {
		for k := range file.Events[i].Nodes {
			r.addNode(&file.Events[i].Nodes[k])
		}
	}
	r.grid.rows = min(len(r.nodes), rowsMax)
	return r
}

// unitOf is what a node is divided into: GPUs where there are any, else CPUs,
// else pod slots.
func unitOf(file *scenario.File) batch.ResourceName {
	for _, name := range []batch.ResourceName{batch.ResourceGPU, batch.ResourceCPU} {
		for i := range file.Nodes {
			if file.Nodes[i].Capacity[name] > 0 {
				return name
			}
		}
	}
	return batch.ResourcePods
}

func (r *Recorder) addNode(n *batch.Node) {
	if _, known := r.row[n.Name]; known {
		return
	}
	r.row[n.Name] = len(r.nodes)
	r.nodes = append(r.nodes, n.Name)
	r.size = append(r.size, r.units(n.Capacity))
}

func (r *Recorder) units(amounts batch.Resources) float64 {
	if r.unit == batch.ResourceCPU {
		return float64(amounts[r.unit]) / 1000
	}
	return float64(amounts[r.unit])
}

// Ran is for sim.Options.
func (r *Recorder) Ran(run sim.Ran) {
	size := r.units(run.Total)
	if run.Number == 1 {
		class := classOf(size)
		r.waits[class] = append(r.waits[class], (run.Start - run.Submitted).Seconds())
	}
	job := -1
	for _, take := range run.Takes {
		row, ok := r.row[take.Node]
		if !ok {
			continue
		}
		units := r.units(take.Requests)
		r.grid.add(row*r.grid.rows/max(len(r.nodes), 1), span{run.Start, run.End}, units)
		if len(r.bars) >= barsMax {
			r.over = true
			continue
		}
		if job < 0 {
			job = len(r.names)
			r.names = append(r.names, shortName(run.Job))
		}
		r.bars = append(r.bars, bar{
			Job: job, Row: row, From: run.Start.Seconds(), Till: run.End.Seconds(), Units: units,
			Via: string(run.Via), State: run.State, Wait: (run.Start - run.Submitted).Seconds(),
		})
	}
}

func shortName(id batch.WorkloadID) string {
	const home = "default/"
	if len(id) > len(home) && id[:len(home)] == home {
		return string(id[len(home):])
	}
	return string(id)
}

// classOf is the power of two at or above a size.
func classOf(size float64) int {
	class := 1
	for float64(class) < size {
		class *= 2
	}
	return class
}

// Sample is for sim.Options.
func (r *Recorder) Sample(s sim.Sample) {
	r.waiting.set(s.At, float64(s.Waiting))
	if total := r.units(s.Capacity); total > 0 {
		r.used.set(s.At, r.units(s.Used)/total)
	}
}

// class is the waits of jobs of like size.
type class struct {
	Size   int     `json:"size"` // at most; more than half of it
	Jobs   int     `json:"jobs"`
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
}

func (r *Recorder) classes() []class {
	out := []class{}
	for _, size := range slices.Sorted(maps.Keys(r.waits)) {
		waits := slices.Sorted(slices.Values(r.waits[size]))
		sum := 0.0
		for _, wait := range waits {
			sum += wait
		}
		n := len(waits)
		out = append(out, class{
			Size: size, Jobs: n, Mean: sum / float64(n), Median: waits[(n-1)/2], P95: waits[min(n-1, (95*n+99)/100-1)],
		})
	}
	return out
}

// lanes gives each bar its place within its row: the lowest units that are
// free for all of its time. It returns the first unit of each bar.
func (r *Recorder) lanes() []float64 {
	order := make([]int, len(r.bars))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &r.bars[a], &r.bars[b]
		return cmp.Or(cmp.Compare(x.Row, y.Row), cmp.Compare(x.From, y.From), cmp.Compare(a, b))
	})
	lanes := make([]float64, len(r.bars))
	var live []int
	row := -1
	for _, i := range order {
		b := &r.bars[i]
		if b.Row != row {
			row, live = b.Row, nil
		}
		live = slices.DeleteFunc(live, func(k int) bool { return r.bars[k].Till <= b.From })
		slices.SortFunc(live, func(x, y int) int { return cmp.Compare(lanes[x], lanes[y]) })
		at := 0.0
		for _, k := range live {
			if lanes[k]-at >= b.Units {
				break
			}
			at = max(at, lanes[k]+r.bars[k].Units)
		}
		lanes[i] = at
		live = append(live, i)
	}
	return lanes
}

// span is from a time to a time.
type span struct{ from, till time.Duration }
