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
	grace    int            // seconds
	end      int            // second at which it ends by itself; 0: it does not
}

// dumb finds the cheapest set of victims by going through all of them.
type dumb struct {
	now     int // second
	nodes   []string
	tenants []tenant
	pods    int
	gpu     int
	free    int // the set of those who need not be told to go
}

// fits says whether there is room when those of a set are gone.
func (d *dumb) fits(out int) bool {
	room := 0
	for _, node := range d.nodes {
		free := 8
		for i, t := range d.tenants {
			if (out|d.free)&(1<<i) == 0 {
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

// expiring are those of some who have ended by themselves when their grace would be over.
func (d *dumb) expiring(some int) (set int) {
	for i, t := range d.tenants {
		if some&(1<<i) != 0 && t.end > 0 && t.end <= d.now+t.grace {
			set |= 1 << i
		}
	}
	return set
}

// cheapest is the least that a set of some costs.
func (d *dumb) cheapest(some int) (cost [4]int64, found bool) {
	for out := range 1 << len(d.tenants) {
		if c := d.cost(out); out&^some == 0 && d.fits(out) && (!found || slices.Compare(c[:], cost[:]) < 0) {
			cost, found = c, true
		}
	}
	return cost, found
}

// over are those that have ended by themselves at a second.
func (d *dumb) over(second int) (set int) {
	for i, t := range d.tenants {
		if t.end > 0 && t.end <= second {
			set |= 1 << i
		}
	}
	return set
}

// quick are those whose grace is over before a second.
func (d *dumb) quick(second int) (set int) {
	for i, t := range d.tenants {
		if d.now+t.grace < second {
			set |= 1 << i
		}
	}
	return set
}

// byItself is the second at which there is room though nobody is told to go; far
// away: never.
func (d *dumb) byItself() int {
	at := 1 << 20
	for _, t := range d.tenants {
		if t.end > 0 && t.end < at && d.fits(d.over(t.end)) {
			at = t.end
		}
	}
	return at
}

// gone is when all of a set are gone, if they are told to go now.
func (d *dumb) gone(out int) int {
	at := d.now
	for i, t := range d.tenants {
		if out&(1<<i) != 0 {
			at = max(at, d.now+t.grace)
		}
	}
	return at
}

// usable is the first second at which there is room when a set is told to go now: who
// need not be told may be in the way until he has ended.
func (d *dumb) usable(out int) int {
	free := d.free
	defer func() { d.free = free }()
	d.free = 0
	first, last := d.gone(out), d.now
	for _, t := range d.tenants {
		last = max(last, t.end)
	}
	for at := first; at <= last; at++ {
		if d.fits(out | d.over(at)) {
			return at
		}
	}
	return first
}

// atBest says whether a set is one that costs so much and of which nobody could
// stay, less those that have ended by themselves when all of it would be gone.
func (d *dumb) atBest(out int, cost [4]int64) bool {
	for more := range 1 << len(d.tenants) {
		whole := out | more
		if more&out == 0 && d.fits(whole) && more&^d.over(d.usable(whole)) == 0 && d.allNeeded(whole) && d.cost(whole) == cost {
			return true
		}
	}
	return false
}

// allNeeded says whether there is no room if one of a set stays.
func (d *dumb) allNeeded(out int) bool {
	for i := range d.tenants {
		if out&(1<<i) != 0 && d.fits(out&^(1<<i)) {
			return false
		}
	}
	return true
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
			walltime: rapid.SampledFrom([]int{0, 0, 50, 60, 90}).Draw(t, "walltime"),
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
		if j.walltime > 0 {
			is.end = secondOf(j.started) + 60*j.walltime
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
		graces := map[string]int{}
		for _, name := range []string{"main", "side", "top"} {
			graces[name] = rapid.SampledFrom([]int{0, 3, 20, 40}).Draw(t, "grace")
			w.queue(name, func(q *batch.Queue) {
				q.Tier = map[string]int32{"main": 1, "side": 2, "top": 9}[name]
				q.Preemption = batch.Preemption{Mode: batch.PreemptRequeue, Grace: time.Duration(graces[name]) * time.Minute}
			})
		}
		d := &dumb{}
		for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
			d.nodes = append(d.nodes, fmt.Sprintf("n%d", i+1))
		}
		w.nodes(len(d.nodes), 8)
		d.tenants = drawTenants(t, w, victims)
		for i := range d.tenants {
			d.tenants[i].grace = 60 * graces[map[int]string{1: "main", 2: "side"}[d.tenants[i].tier]]
		}
		d.now = secondOf(w.now)
		d.pods, d.gpu = rapid.IntRange(1, 4).Draw(t, "asks for pods"), rapid.SampledFrom([]int{1, 2, 3, 4, 8}).Draw(t, "asks for gpus")
		w.submit(job{name: "top", queue: "top", pods: d.pods, gpu: d.gpu, runs: -1})
		d.check(t, w.core.Plan(w.now))
	})
}

func secondOf(t time.Time) int { return int(t.Sub(zero) / time.Second) }

// check holds the victims of a plan to what they are for.
func (d *dumb) check(t *rapid.T, plan batch.Plan) {
	out, some := d.set(plan), d.quick(d.byItself())
	d.free = d.expiring(some)
	want, possible := d.cheapest(some &^ d.free)
	switch {
	case !possible && out != 0:
		t.Fatalf("no set would do, and %b go: %+v for %d × %d", out, d.tenants, d.pods, d.gpu)
	case possible && out == 0:
		if !d.fits(0) && !d.fits(d.over(d.gone(some))) {
			t.Fatalf("nobody goes, and %v would do: %+v", want, d.tenants)
		}
	}
	if out == 0 {
		return
	}
	d.free = 0
	start := d.now
	for _, n := range plan.Nominate {
		start = secondOf(n.Nomination.Allocation.Start)
	}
	if all := out | d.over(start); !d.fits(all) {
		t.Fatalf("%b of %+v go, which makes no room for %d × %d at %d", out, d.tenants, d.pods, d.gpu, start)
	}
	for i := range d.tenants {
		if out&(1<<i)&d.over(start) != 0 {
			t.Fatalf("%s goes, and has ended before the start at %d", d.tenants[i].name, start)
		}
	}
	d.free = d.expiring(some)
	if !d.atBest(out, want) {
		t.Fatalf("%b costs %v, and not all of it need go or %v would do: %+v for %d × %d", out, d.cost(out), want, d.tenants, d.pods, d.gpu)
	}
}
