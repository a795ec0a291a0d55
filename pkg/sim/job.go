package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/explain"
	"github.com/berth-dev/berth/pkg/scenario"
)

// job is work as the cluster has it: the owner, its pods, and the
// QueuedWorkload with what earlier plans have written.
type job struct {
	spec     *scenario.Job
	workload batch.Workload
	owner    batch.Owner
	pods     []batch.Pod
	deleted  bool // by its author
	ended    bool

	started time.Duration  // of this run
	asked   batch.Walltime // when this run started
	relimit int            // how often its deadline was moved
	left    bool           // this run was taken back, and its pods have ended
	kept    time.Duration  // progress of earlier runs that it goes on from
	late    batch.EndState // how it has ended, which a node that is not ready keeps from being seen; empty: it has not
	history
}

// history is what is remembered of a job for the result.
type history struct {
	submitted  time.Duration
	starts     int
	evictions  int
	firstStart time.Duration
	lastEnd    time.Duration
	first      *batch.Allocation // of the first run
	state      string
	planned    []time.Duration // planned starts, each time one was given
	later      bool            // a planned start moved later
	lost       time.Duration
	notices    []time.Duration
	cause      batch.Cause      // of the last eviction
	by         batch.WorkloadID // for whom it was
}

// submit makes a job: suspended, until its start.
func (w *world) submit(spec *scenario.Job) {
	j := &job{spec: spec, workload: spec.Workload, owner: batch.Owner{Suspended: true}}
	j.workload.QueuedAt = w.time()
	j.submitted, j.state = w.now, scenario.StatePending
	id := j.workload.ID
	w.jobs[id] = j
	if !spec.FromTrace || w.watched[id] {
		w.order = append(w.order, j)
	}
	w.doing = "submission of " + string(id)
	if name := j.workload.Namespace; !w.namespaces[name] {
		w.namespaces[name] = true
		w.step(namespaceSeen(name))
	}
	w.meter.submitted(j)
	w.log(EventSubmit, id, nil)
	w.step(batch.OwnerObserved{ID: id, Owner: j.owner})
	w.step(batch.WorkloadObserved{Workload: j.workload})
	if spec.CancelAt > 0 {
		w.agenda.add(spec.CancelAt, causeEdit, func() { w.cancel(j) })
	}
}

// start releases the owner: its pods are bound and ready at once.
func (w *world) start(d batch.StartDecision) {
	j := w.jobs[d.ID]
	w.checkStart(j, d)
	w.checkQuota(j, &d.Allocation)
	if w.breach != nil {
		return
	}
	j.workload.Allocation = &d.Allocation
	j.workload.Promise, j.workload.RequeueAfter, j.workload.PodsReady, j.workload.LastVerdict = time.Time{}, time.Time{}, nil, nil
	j.workload.Nomination, j.workload.ReadySince = nil, time.Time{}
	j.owner = batch.Owner{Started: true, Run: d.Run}
	j.started, j.state, j.late = w.now, scenario.StateRunning, ""
	j.left, j.asked = false, j.workload.Walltime
	j.starts++
	if j.starts == 1 {
		j.first, j.firstStart = &d.Allocation, w.now
	}
	w.meter.started(j)
	w.logStart(j, &d.Allocation)
	w.makePods(j)
	w.step(batch.OwnerObserved{ID: d.ID, Owner: j.owner})
	w.awaitEnd(j)
}

// awaitEnd lets a run end when it is over, unless its deadline is moved until then.
func (w *world) awaitEnd(j *job) {
	run, relimit := j.starts, j.relimit
	if at, state, ends := w.endOf(j); ends {
		w.agenda.add(max(at, w.now), causeEnd, func() {
			if j.starts == run && j.relimit == relimit && j.runs() {
				w.mayEnd(j, state)
			}
		})
	}
}

// relimit gives a run another deadline.
func (w *world) relimit(d batch.RelimitDecision) {
	j := w.jobs[d.ID]
	if d.Refused != "" {
		w.decline(d.ID, explain.Relimit(d))
	}
	if j.workload.Allocation == nil || j.workload.Allocation.Deadline.Equal(d.Deadline) {
		return
	}
	a := *j.workload.Allocation
	a.Deadline = d.Deadline
	j.workload.Allocation = &a
	j.relimit++
	w.awaitEnd(j)
	if j.late != "" {
		w.limitLate(j)
	}
	w.step(batch.WorkloadObserved{Workload: j.workload})
}

// runs says whether a job runs and nobody has told it to stop.
func (j *job) runs() bool {
	return !j.ended && j.workload.Allocation != nil && j.workload.Eviction == nil
}

func (w *world) makePods(j *job) {
	prefix := string(j.workload.ID) + "/" + strconv.Itoa(j.workload.Restarts) + "/"
	for i, placement := range j.workload.Allocation.PodSets {
		requests := j.workload.PodSets[i].Requests
		for rank, host := range placement.Hosts {
			uid := prefix + strconv.Itoa(i) + "-" + strconv.Itoa(rank)
			name := string(j.workload.ID) + "-" + strconv.Itoa(rank)
			if len(j.workload.PodSets) > 1 {
				name = string(j.workload.ID) + "-" + j.workload.PodSets[i].Name + "-" + strconv.Itoa(rank)
			}
			pod := batch.Pod{
				UID: batch.PodUID(uid), Name: name, Workload: j.workload.ID, Node: host,
				Requests: requests, Phase: batch.PodReady,
				Queue: j.workload.Allocation.Queue, Flavor: j.workload.Allocation.Flavor, Run: j.workload.Restarts + 1,
			}
			j.pods = append(j.pods, pod)
			w.occupy(j, &pod, 1)
			w.step(batch.PodObserved{Pod: pod})
		}
	}
}

// occupy counts a pod on its node, or no longer.
func (w *world) occupy(j *job, pod *batch.Pod, n int) {
	w.meter.charge(j.workload.Allocation.Queue, pod.Requests, n)
	on, ok := w.nodes[pod.Node]
	if !ok {
		return // it was deleted under the pod
	}
	on.pods += n
	if on.jobs[j] += n; on.jobs[j] == 0 {
		delete(on.jobs, j)
	}
	for name, amount := range pod.Requests { //order:any sums
		on.used[name] += amount * batch.Amount(n)
	}
	w.checkNode(on)
}

// endOf is when and how a run ends, if nobody stops it.
func (w *world) endOf(j *job) (at time.Duration, state batch.EndState, ends bool) {
	a := j.workload.Allocation
	limit := scenario.Never
	if !a.Deadline.IsZero() {
		limit = a.Deadline.Sub(a.Start)
	}
	long := j.spec.Runtime
	if long == 0 && !j.spec.Instant {
		long = limit
		switch declared := j.asked; {
		case declared == batch.Unlimited:
			long = scenario.Never
		case declared > 0:
			long = time.Duration(declared)
		}
	}
	if long != scenario.Never {
		long = max(0, long-j.kept+j.resume())
	}
	if limit = w.limitOf(a); limit != scenario.Never && (long == scenario.Never || long > limit) {
		return j.started + limit, batch.Timeout, true
	}
	if long == scenario.Never {
		return 0, "", false
	}
	if j.spec.Fails {
		return j.started + long, batch.Failed, true
	}
	return j.started + long, batch.Completed, true
}

// limitOf is the owner's own limit, which ends a run whatever the controller and
// the nodes do.
func (w *world) limitOf(a *batch.Allocation) time.Duration {
	if a.Deadline.IsZero() {
		return scenario.Never
	}
	return a.Deadline.Sub(a.Start) + w.overrun(a.Queue)
}

// end lets a run end: its pods are terminal, then its owner is.
func (w *world) end(j *job, state batch.EndState) {
	id := j.workload.ID
	w.doing = "end of " + string(id)
	phase := batch.PodSucceeded
	if state != batch.Completed {
		phase = batch.PodFailed
	}
	seen := make([]batch.Pod, 0, len(j.pods))
	for i := range j.pods {
		pod := &j.pods[i]
		w.occupy(j, pod, -1)
		if w.strand(pod) {
			continue // it is the node's from now on
		}
		pod.Phase = phase
		seen = append(seen, *pod)
		if j.spec.FromTrace {
			w.step(batch.PodGone{UID: pod.UID})
		} else {
			w.step(batch.PodObserved{Pod: *pod})
		}
	}
	j.ended, j.state, j.lastEnd = true, string(state), w.now
	w.ran(j)
	j.pods = seen
	j.owner.End = &batch.End{State: state, Time: w.time(), Message: endMessage(state, j)}
	w.open--
	w.meter.stopped(j)
	w.meter.finished(j)
	w.log(EventEnd, id, EndDetail{State: string(state)})
	w.step(batch.OwnerObserved{ID: id, Owner: j.owner})
}

// overrun is how long work of a queue may go on past its deadline.
func (w *world) overrun(queue batch.QueueName) time.Duration {
	seen, _ := w.objects["ClusterQueue//"+string(queue)].Seen.(batch.QueueObserved)
	return seen.Queue.Overrun
}

func endMessage(state batch.EndState, j *job) string {
	if state == batch.Timeout {
		return fmt.Sprintf("ran into its walltime of %s", batch.FormatDuration(j.workload.Allocation.Deadline.Sub(j.workload.Allocation.Start)))
	}
	return ""
}

// cancel is its author deleting the job. Of one that has ended only the record
// is left to go.
func (w *world) cancel(j *job) {
	if j.deleted {
		return
	}
	id := j.workload.ID
	w.doing = "deletion of " + string(id)
	if j.ended {
		j.deleted = true
		w.forget(j)
		for i := range j.pods {
			w.step(batch.PodGone{UID: j.pods[i].UID})
		}
		return
	}
	running := len(j.pods) > 0
	j.deleted, j.ended, j.lastEnd, j.state = true, true, w.now, string(batch.Cancelled)
	w.open--
	if running {
		w.ran(j)
		w.meter.stopped(j)
	} else {
		w.meter.gone(j)
	}
	w.log(EventEnd, id, EndDetail{State: j.state})
	w.step(batch.WorkloadGone{ID: id})
	w.dropPods(j)
	delete(w.jobs, id)
}

func (w *world) dropPods(j *job) {
	for i := range j.pods {
		w.occupy(j, &j.pods[i], -1)
		if !w.strand(&j.pods[i]) {
			w.step(batch.PodGone{UID: j.pods[i].UID})
		}
	}
	j.pods = nil
}

// forget drops a job whose end is on record, as a cluster does with finished
// Jobs after their time to live.
func (w *world) forget(j *job) {
	delete(w.jobs, j.workload.ID)
	w.step(batch.WorkloadGone{ID: j.workload.ID})
}

// forgetFacts leaves of a verdict what the API server has of it.
func (j *job) forgetFacts() {
	if v := j.workload.LastVerdict; v != nil {
		j.workload.LastVerdict = &batch.Verdict{Reason: v.Reason, PlannedStart: v.PlannedStart, Message: v.Message}
	}
}

// ran tells of a run that is over.
func (w *world) ran(j *job) {
	if w.options.Ran == nil {
		return
	}
	a := j.workload.Allocation
	r := Ran{
		Job: j.workload.ID, Queue: a.Queue, Number: j.starts, Submitted: j.submitted, Start: j.started, End: w.now,
		Via: a.Via, State: j.state, Total: batch.Resources{},
	}
	if len(j.planned) > 0 {
		r.Planned = &j.planned[0]
	}
	at := map[batch.NodeName]int{}
	for i := range j.pods {
		pod := &j.pods[i]
		k, known := at[pod.Node]
		if !known {
			k = len(r.Takes)
			at[pod.Node] = k
			r.Takes = append(r.Takes, Take{Node: pod.Node, Requests: batch.Resources{}})
		}
		r.Takes[k].Requests = r.Takes[k].Requests.Plus(pod.Requests)
		r.Total = r.Total.Plus(pod.Requests)
	}
	w.options.Ran(r)
}
