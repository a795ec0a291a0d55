package core_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

// zero is minute 0 of every test.
var zero = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// world is a cluster without a cluster: it drives a core as the live driver
// does, and plays nodes, owners and pods. Times are minutes.
type world struct {
	t    tb
	core *core.Core
	now  time.Time
	jobs map[string]*job
	// waits are the last verdicts, moved the MovedBy texts in order.
	waits map[string]batch.Verdict
	moved []string
	// wake is when the core wants to be asked again, by the last plan.
	wake time.Time
	// events are all that the core was told.
	events []batch.Event
	// look is called with each plan before it is carried out.
	look func(batch.Plan)
	// lingers is how many minutes the pods of a run stay when they are told to
	// end; nil: none.
	lingers func(batch.WorkloadID) int
	// yields says that the work of some queues gives way to that of others.
	yields bool
	// refuse says whether the API server refuses to write a start.
	refuse func(batch.StartDecision) bool
	// remnants are what is left of runs that were stopped.
	remnants []remnant
}

// tb is what testing and rapid have in common.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// job is work as a test writes it. Zero values: one pod, no GPU, no walltime,
// runs for its walltime.
type job struct {
	name     string
	pods     int
	gpu      int
	walltime int // minutes; 0: none declared
	runs     int // minutes; 0: as long as its walltime; < 0: until told
	queue    string
	priority int
	queued   time.Time
	edit     func(*batch.Workload)

	started  time.Time
	ended    time.Time
	hosts    []string
	via      batch.Via
	starts   int
	restarts int
	evicted  batch.Cause
	live     bool // its pods are there, and nobody has told them to end
}

// remnant is the pods of a run that were told to end.
type remnant struct {
	at   time.Time // gone then
	pods []batch.PodUID
}

func newWorld(t tb) *world {
	t.Helper()
	w := &world{t: t, core: core.New(), now: zero, jobs: map[string]*job{}, waits: map[string]batch.Verdict{}}
	w.queue("main", nil)
	return w
}

func (w *world) queue(name string, edit func(*batch.Queue)) {
	q := batch.Queue{Name: batch.QueueName(name), State: batch.QueueUp}
	if edit != nil {
		edit(&q)
	}
	w.step(batch.QueueObserved{Queue: q})
	w.step(batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{
		Name: batch.LocalQueueName("ns/" + name), Queues: []batch.QueueName{q.Name},
	}})
}

// editQueue changes a queue as it is; one that is not there is made.
func (w *world) editQueue(name string, edit func(*batch.Queue)) {
	is := w.core.Snapshot().Queues[batch.QueueName(name)]
	w.queue(name, func(q *batch.Queue) {
		if is != nil {
			*q = *is
		}
		edit(q)
	})
}

func (w *world) step(e batch.Event) {
	w.events = append(w.events, e)
	w.core.Step(e)
}

// nodes makes n1..nN.
func (w *world) nodes(n, gpus int) {
	for i := 1; i <= n; i++ {
		w.node("n"+strconv.Itoa(i), gpus, nil)
	}
}

func (w *world) node(name string, gpus int, edit func(*batch.Node)) {
	node := batch.Node{Name: batch.NodeName(name), Ready: true, Labels: batch.Labels{"host": name, "rack": rackOf(batch.NodeName(name))}, Capacity: batch.Resources{
		batch.ResourceCPU: 64_000, batch.ResourceGPU: batch.Amount(gpus), batch.ResourcePods: 110,
	}}
	if edit != nil {
		edit(&node)
	}
	w.step(batch.NodeObserved{Node: node})
}

// rackOf is the rack of a node: n1 and n2 share one, and so on.
func rackOf(node batch.NodeName) string {
	n, err := strconv.Atoi(strings.TrimPrefix(string(node), "n"))
	if err != nil {
		return "r0"
	}
	return "r" + strconv.Itoa((n+1)/2)
}

// submit queues jobs, a second after the last one each.
func (w *world) submit(jobs ...job) {
	for _, j := range jobs {
		if j.queued.IsZero() {
			j.queued = w.now.Add(time.Duration(len(w.jobs)) * time.Millisecond)
		}
		w.jobs[j.name] = &j
		w.step(batch.WorkloadObserved{Workload: w.workload(&j)})
		w.step(batch.OwnerObserved{ID: id(j.name), Owner: batch.Owner{Suspended: true}})
	}
}

func id(name string) batch.WorkloadID { return batch.WorkloadID("ns/" + name) }

func (w *world) workload(j *job) batch.Workload {
	queue := j.queue
	if queue == "" {
		queue = "main"
	}
	requests := batch.Resources{batch.ResourcePods: 1}
	if j.gpu > 0 {
		requests[batch.ResourceGPU] = batch.Amount(j.gpu)
	}
	pods := max(j.pods, 1)
	if j.pods < 0 {
		pods = 0
	}
	workload := batch.Workload{
		ID: id(j.name), UID: j.name, Namespace: "ns", Name: j.name,
		LocalQueue: batch.LocalQueueName("ns/" + queue),
		PodSets:    []batch.PodSet{{Name: "main", Count: pods, Requests: requests}},
		Walltime:   batch.Walltime(time.Duration(j.walltime) * time.Minute),
		Priority:   int32(j.priority), QueuedAt: j.queued,
	}
	if j.edit != nil {
		j.edit(&workload)
	}
	return workload
}

// until plays on until a minute, with every wake-up and end on the way.
func (w *world) until(minute int) {
	w.t.Helper()
	target := zero.Add(time.Duration(minute) * time.Minute)
	w.settle()
	for {
		next := w.next()
		if next.IsZero() || next.After(target) {
			break
		}
		w.now = next
		w.endDue()
		w.settle()
	}
	if w.now.Before(target) {
		w.now = target
		w.settle()
	}
}

// next is when something happens next, now that all is settled.
func (w *world) next() time.Time {
	next := w.wake
	for _, r := range w.remnants {
		if next.IsZero() || r.at.Before(next) {
			next = r.at
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.jobs)) {
		if end := w.jobs[name].due(); end.After(w.now) && (next.IsZero() || end.Before(next)) {
			next = end
		}
	}
	return next
}

// due is when the job ends by itself; zero: not while nothing happens.
func (j *job) due() time.Time {
	minutes := j.runs
	if minutes == 0 {
		minutes = j.walltime
	}
	if !j.live || minutes <= 0 {
		return time.Time{}
	}
	return j.started.Add(time.Duration(minutes) * time.Minute)
}

func (w *world) endDue() {
	for _, name := range slices.Sorted(maps.Keys(w.jobs)) {
		if j := w.jobs[name]; j.live && !j.due().IsZero() && !j.due().After(w.now) {
			w.end(name)
		}
	}
	still := w.remnants[:0]
	for _, r := range w.remnants {
		if r.at.After(w.now) {
			still = append(still, r)
		} else {
			w.leave(r)
		}
	}
	w.remnants = still
}

// end lets a running job end now.
func (w *world) end(name string) {
	j := w.jobs[name]
	j.live, j.ended = false, w.now
	for i, host := range j.hosts {
		w.step(batch.PodObserved{Pod: w.pod(j, i, host, batch.PodSucceeded)})
	}
	w.step(batch.OwnerObserved{ID: id(name), Owner: batch.Owner{
		Started: true, End: &batch.End{State: batch.Completed, Time: w.now},
	}})
}

// pod is the i-th pod of a job, counted over all its pod sets.
func (w *world) pod(j *job, i int, host string, phase batch.PodPhase) batch.Pod {
	sets, k := w.workload(j).PodSets, i
	set := 0
	for set+1 < len(sets) && k >= sets[set].Count {
		k -= sets[set].Count
		set++
	}
	return batch.Pod{
		UID:  batch.PodUID(fmt.Sprintf("%s-%d-%d", j.name, j.restarts, i)),
		Name: fmt.Sprintf("ns/%s-%d", j.name, i), Workload: id(j.name),
		Node: batch.NodeName(host), Requests: sets[set].Requests, Phase: phase, Run: j.restarts + 1,
	}
}

// settle plans and carries out until nothing changes, and holds every plan to
// what it promises.
func (w *world) settle() {
	w.t.Helper()
	for range 100 {
		plan := w.core.Plan(w.now)
		if w.look != nil {
			w.look(plan)
		}
		w.step(batch.PlanIssued{Plan: plan})
		again := w.core.Plan(w.now)
		// One that is cut short goes on a second later.
		cutShort := plan.Stats.Unsettled && plan.Wake.Equal(w.now.Add(time.Second))
		if !again.Empty() && !cutShort {
			w.t.Fatalf("%d: a plan after a plan is not empty:\nfirst %s\nthen  %s", minuteOf(w.now), brief(plan), brief(again))
		}
		if next := again.Wake; !next.IsZero() && (plan.Wake.IsZero() || next.Before(plan.Wake)) {
			w.t.Fatalf("%d: wakes at %v, though something changes at %v: %s", minuteOf(w.now), plan.Wake, next, brief(plan))
		}
		if plan.Empty() {
			w.wake = again.Wake
			return
		}
		w.carryOut(plan)
	}
	w.t.Fatalf("%v: plans do not come to an end", w.now)
}

// brief is a plan in a few words.
func brief(p batch.Plan) string {
	var b strings.Builder
	for _, d := range p.Evict {
		fmt.Fprintf(&b, "evict %s (%s) ", nameOf(d.ID), d.Eviction.Cause)
	}
	for _, d := range p.Stop {
		fmt.Fprintf(&b, "stop %s ", nameOf(d.ID))
	}
	for _, d := range p.Nominate {
		fmt.Fprintf(&b, "nominate %s %v ", nameOf(d.ID), d.Nomination != nil)
	}
	for _, d := range p.Requeue {
		fmt.Fprintf(&b, "requeue %s ", nameOf(d.ID))
	}
	for _, d := range p.Finish {
		fmt.Fprintf(&b, "finish %s ", nameOf(d.ID))
	}
	for _, d := range p.Start {
		fmt.Fprintf(&b, "start %s ", nameOf(d.ID))
	}
	for _, d := range p.Wait {
		fmt.Fprintf(&b, "wait %s %s %s [%s] ", nameOf(d.ID), d.Verdict.Reason, d.Verdict.PlannedStart.Format("15:04:05"), d.Verdict.MovedBy)
	}
	for _, d := range p.Ready {
		fmt.Fprintf(&b, "ready %s %t ", nameOf(d.ID), d.Ready)
	}
	for _, d := range p.Remember {
		fmt.Fprintf(&b, "remember %s %+v ", nameOf(d.ID), d.Outcomes)
	}
	return b.String()
}

func (w *world) carryOut(plan batch.Plan) {
	for _, d := range plan.Evict {
		w.evict(d)
	}
	for _, d := range plan.Stop {
		w.stop(d.ID)
	}
	for _, d := range plan.Requeue {
		w.jobs[nameOf(d.ID)].restarts = d.Restarts
	}
	for _, d := range plan.Start {
		if w.refuse != nil && w.refuse(d) {
			w.step(batch.AdmitFailed{ID: d.ID, Run: d.Run, Err: "conflict"})
			continue
		}
		w.start(d)
	}
	for _, d := range plan.Wait {
		name := nameOf(d.ID)
		if d.Verdict.MovedBy != "" {
			w.moved = append(w.moved, name+": "+d.Verdict.MovedBy)
		}
		w.waits[name] = d.Verdict
	}
}

func (w *world) start(d batch.StartDecision) {
	j := w.jobs[nameOf(d.ID)]
	j.started, j.via, j.live, j.hosts = d.Allocation.Start, d.Allocation.Via, true, nil
	j.starts++
	delete(w.waits, j.name)
	for _, placement := range d.Allocation.PodSets {
		for _, host := range placement.Hosts {
			j.hosts = append(j.hosts, string(host))
		}
	}
	w.step(batch.OwnerObserved{ID: d.ID, Owner: batch.Owner{Started: true}})
	for i, host := range j.hosts {
		w.step(batch.PodObserved{Pod: w.pod(j, i, host, batch.PodReady)})
	}
}

func (w *world) evict(d batch.EvictDecision) {
	j := w.jobs[nameOf(d.ID)]
	j.evicted = d.Eviction.Cause
	if !d.Eviction.Stopped.IsZero() {
		w.stop(d.ID)
	}
}

// stop suspends the owner of a run: its pods end.
func (w *world) stop(id batch.WorkloadID) {
	j := w.jobs[nameOf(id)]
	w.step(batch.OwnerObserved{ID: id, Owner: batch.Owner{Suspended: true}})
	minutes := 0
	if w.lingers != nil {
		minutes = w.lingers(id)
	}
	r := remnant{at: w.now.Add(time.Duration(minutes) * time.Minute)}
	for i, host := range j.hosts {
		r.pods = append(r.pods, w.pod(j, i, host, batch.PodReady).UID)
	}
	if j.live = false; minutes == 0 {
		w.leave(r)
	} else {
		w.remnants = append(w.remnants, r)
	}
}

// leave takes the pods of a run away.
func (w *world) leave(r remnant) {
	for _, uid := range r.pods {
		w.step(batch.PodGone{UID: uid})
	}
}

func nameOf(id batch.WorkloadID) string { return strings.TrimPrefix(string(id), "ns/") }

// started is the minute at which a job started; -1: it did not.
func (w *world) started(name string) int {
	j := w.jobs[name]
	if j.starts == 0 {
		return -1
	}
	return minuteOf(j.started)
}

// planned is the minute of a job's planned start; -1: none.
func (w *world) planned(name string) int {
	v, ok := w.waits[name]
	if !ok || v.PlannedStart.IsZero() {
		return -1
	}
	return minuteOf(v.PlannedStart)
}

func minuteOf(t time.Time) int { return int(t.Sub(zero) / time.Minute) }

// want compares starts and planned starts: "B=40" started at 40, "B~40" is
// planned for 40, "B=-" did not start, "B~-" has no planned start.
func (w *world) want(all ...string) {
	w.t.Helper()
	for _, text := range all {
		i := strings.IndexAny(text, "=~")
		name, got := text[:i], w.started(text[:i])
		if text[i] == '~' {
			got = w.planned(name)
		}
		want, err := strconv.Atoi(text[i+1:])
		if err != nil {
			want = -1
		}
		if got != want {
			w.t.Errorf("at %d: want %s, got %d (verdict %+v)", minuteOf(w.now), text, got, w.waits[name])
		}
	}
}

func (w *world) reason(name string, reason batch.Reason, words ...string) {
	w.t.Helper()
	v := w.waits[name]
	if v.Reason != reason {
		w.t.Errorf("%s waits with %q, want %q (%s)", name, v.Reason, reason, v.Message)
	}
	for _, word := range words {
		if !strings.Contains(v.Message, word) {
			w.t.Errorf("%s: message %q does not say %q", name, v.Message, word)
		}
	}
}
