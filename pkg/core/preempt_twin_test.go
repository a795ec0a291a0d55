package core_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
)

// tenant is a run as the twin sees it.
type tenant struct {
	name     string
	tier     int
	priority int
	price    int64
	gpus     map[string]int // by node
}

// dumb finds the cheapest set of victims by going through all of them.
type dumb struct {
	nodes   []string
	tenants []tenant
	pods    int
	gpu     int
}

// fits says whether there is room when those of a set are gone.
func (d *dumb) fits(out int) bool {
	room := 0
	for _, node := range d.nodes {
		free := 8
		for i, t := range d.tenants {
			if out&(1<<i) == 0 {
				free -= t.gpus[node]
			}
		}
		room += free / d.gpu
	}
	return room >= d.pods
}

// cost is what a set costs: its highest standing, what is lost, how many go.
func (d *dumb) cost(out int) [4]int64 {
	var c [4]int64
	for i, t := range d.tenants {
		if out&(1<<i) == 0 {
			continue
		}
		if tier, priority := int64(t.tier), int64(t.priority); tier > c[0] || tier == c[0] && priority > c[1] {
			c[0], c[1] = tier, priority
		}
		c[2] += t.price
		c[3]++
	}
	return c
}

func (d *dumb) cheapest() (cost [4]int64, found bool) {
	for out := range 1 << len(d.tenants) {
		if c := d.cost(out); d.fits(out) && (!found || slices.Compare(c[:], cost[:]) < 0) {
			cost, found = c, true
		}
	}
	return cost, found
}

func (d *dumb) set(plan batch.Plan) (out int) {
	for _, e := range plan.Evict {
		i := slices.IndexFunc(d.tenants, func(t tenant) bool { return id(t.name) == e.ID })
		out |= 1 << i
	}
	return out
}

// drawTenants lets work begin at different times. What waits then is taken away.
func drawTenants(t *rapid.T, w *world, victims batch.VictimOrder) []tenant {
	var jobs []*job
	for i := range rapid.IntRange(1, 9).Draw(t, "tenants") {
		w.until(minuteOf(w.now) + rapid.IntRange(0, 5).Draw(t, "minutes"))
		j := job{
			name: fmt.Sprintf("t%d", i), pods: rapid.IntRange(1, 3).Draw(t, "pods"), gpu: rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "gpu"),
			queue: rapid.SampledFrom([]string{"main", "side"}).Draw(t, "queue"), priority: rapid.IntRange(0, 2).Draw(t, "priority"), runs: -1,
		}
		w.submit(j)
		w.until(minuteOf(w.now))
		jobs = append(jobs, w.jobs[j.name])
	}
	for _, j := range jobs {
		if !j.live {
			w.step(batch.WorkloadGone{ID: id(j.name)})
		}
	}
	w.until(minuteOf(w.now) + 1)
	var tenants []tenant
	for _, j := range jobs {
		if !j.live {
			continue
		}
		is := tenant{name: j.name, tier: map[string]int{"main": 1, "side": 2}[j.queue], priority: j.priority, gpus: map[string]int{}}
		for _, host := range j.hosts {
			is.gpus[host] += j.gpu
		}
		held, seconds := int64(len(j.hosts)*j.gpu), int64(w.now.Sub(j.started)/time.Second)
		switch victims {
		case batch.VictimsYoungest:
			is.price = seconds
		case batch.VictimsSmallestFirst:
			is.price = held
		default:
			is.price = held * seconds
		}
		tenants = append(tenants, is)
	}
	slices.SortFunc(tenants, func(a, b tenant) int { return cmp.Compare(a.name, b.name) })
	return tenants
}

// The victims are the cheapest that there are, and none of them could stay.
func TestVictimsAreTheCheapestAndAllNeeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		victims := rapid.SampledFrom([]batch.VictimOrder{batch.VictimsLeastLost, batch.VictimsYoungest, batch.VictimsSmallestFirst}).Draw(t, "victims")
		policy := batch.DefaultPolicy()
		policy.Victims = victims
		w.step(batch.PolicyObserved{Policy: policy})
		for name, tier := range map[string]int32{"main": 1, "side": 2, "top": 9} { //order:any each by itself
			w.queue(name, func(q *batch.Queue) { q.Tier, q.Preemption.Mode = tier, batch.PreemptRequeue })
		}
		d := &dumb{}
		for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
			d.nodes = append(d.nodes, fmt.Sprintf("n%d", i+1))
		}
		w.nodes(len(d.nodes), 8)
		d.tenants = drawTenants(t, w, victims)
		d.pods, d.gpu = rapid.IntRange(1, 4).Draw(t, "asks for pods"), rapid.SampledFrom([]int{1, 2, 3, 4, 8}).Draw(t, "asks for gpus")
		w.submit(job{name: "top", queue: "top", pods: d.pods, gpu: d.gpu, runs: -1})
		plan := w.core.Plan(w.now)
		want, possible := d.cheapest()
		out := d.set(plan)
		if !possible {
			if out != 0 {
				t.Fatalf("no set would do, and %b go", out)
			}
			return
		}
		if !d.fits(out) {
			t.Fatalf("%b of %+v go, which makes no room for %d × %d", out, d.tenants, d.pods, d.gpu)
		}
		for i := range d.tenants {
			if out&(1<<i) != 0 && d.fits(out&^(1<<i)) {
				t.Fatalf("%s need not go", d.tenants[i].name)
			}
		}
		if got := d.cost(out); got != want {
			t.Fatalf("%b costs %v, and %v would do: %+v for %d × %d", out, got, want, d.tenants, d.pods, d.gpu)
		}
	})
}
