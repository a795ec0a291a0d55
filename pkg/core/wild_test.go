package core_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
)

// drawPolicy draws a mode and bounds of planned starts.
func drawPolicy(t *rapid.T, p *batch.Policy) {
	p.Backfill = rapid.SampledFrom([]batch.BackfillMode{
		batch.BackfillConservative, batch.BackfillConservative, batch.BackfillEASY, batch.BackfillStrict, batch.BackfillNone,
	}).Draw(t, "mode")
	p.Window = rapid.SampledFrom([]time.Duration{0, 20 * time.Minute}).Draw(t, "window")
	p.PerUser = rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "per user")
	p.PerQueue = rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "per queue")
}

// drawWishes adds what else a job may ask for.
func drawWishes(t *rapid.T, w *world, j *job) {
	var wishes []func(*batch.Workload)
	wish := func(label string, oneIn int, edit func(*batch.Workload)) {
		if rapid.IntRange(1, oneIn).Draw(t, label) == 1 {
			wishes = append(wishes, edit)
		}
	}
	now := minuteOf(w.now)
	user := rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user")
	wishes = append(wishes, func(w *batch.Workload) { w.Submitter = user })
	wish("elastic", 4, func(w *batch.Workload) { w.PodSets[0].MinCount = 1 })
	wish("time min", 4, timeMin(3))
	wish("end before", 5, endBefore(now+rapid.IntRange(1, 60).Draw(t, "end")))
	wish("begin", 6, func(w *batch.Workload) { w.Begin = zero.Add(time.Duration(now+7) * time.Minute) })
	wish("whole", 6, whole)
	wish("singleton", 8, func(w *batch.Workload) {
		w.JobName, w.After = "one", []batch.Dependency{{Kind: batch.Singleton}}
	})
	names := append(slices.Sorted(maps.Keys(w.jobs)), j.name, "j3", "j7")
	kind := rapid.SampledFrom([]string{"after", "afterok", "afterany", "afternotok"}).Draw(t, "kind")
	wish("depends", 4, after(kind+":"+rapid.SampledFrom(names).Draw(t, "of")))
	wish("one rack", 3, oneRack)
	index := len(w.jobs)
	wish("member", 5, func(w *batch.Workload) { w.Array = &batch.ArrayMember{Name: "sweep", Index: index, Limit: 2} })
	j.queue = rapid.SampledFrom([]string{j.queue, j.queue, "any", "alone", "racked", "racked"}).Draw(t, "door")
	first := j.edit
	j.edit = func(w *batch.Workload) {
		if first != nil {
			first(w)
		}
		for _, edit := range wishes {
			edit(w)
		}
	}
}

// oneRack keeps all pods in one rack, where the queue knows racks.
func oneRack(w *batch.Workload) {
	if w.LocalQueue != "ns/racked" {
		return
	}
	for i := range w.PodSets {
		w.PodSets[i].Domain = "rack"
	}
}

// checkWishes holds a plan to what its workloads ask for.
func checkWishes(w *world, plan batch.Plan) {
	snapshot := w.core.Snapshot()
	waiting := map[batch.WorkloadID]*batch.Workload{}
	for _, is := range snapshot.Waiting {
		waiting[is.Workload.ID] = is.Workload
	}
	for _, is := range snapshot.Started {
		waiting[is.Workload.ID] = is.Workload // it may be requeued
	}
	members := map[string]int{}
	for _, is := range snapshot.Started {
		ended := is.Owner != nil && is.Owner.End != nil
		if a := is.Workload.Array; a != nil && !ended && !requeued(plan, is.Workload.ID) {
			members[a.Name]++
		}
	}
	for _, d := range plan.Start {
		workload := waiting[d.ID]
		if a := workload.Array; a != nil {
			if members[a.Name]++; members[a.Name] > a.Limit {
				w.t.Fatalf("%s is member %d of %s to run, at most %d may", d.ID, members[a.Name], a.Name, a.Limit)
			}
		}
		if why := breach(workload, d.Allocation, w.now); why != "" {
			w.t.Fatalf("%s: %s: %+v", d.ID, why, d.Allocation)
		}
	}
}

// breach says how an allocation differs from what may be granted.
func breach(w *batch.Workload, a batch.Allocation, now time.Time) string {
	for i := range w.PodSets {
		set := &w.PodSets[i]
		if n := len(a.PodSets[i].Hosts); n < set.Least() || n > set.Count {
			return fmt.Sprintf("%d pods, of %d to %d", n, set.Least(), set.Count)
		}
	}
	racks := map[string]bool{}
	for _, p := range a.PodSets {
		for _, host := range p.Hosts {
			racks[rackOf(host)] = true
		}
	}
	if w.PodSets[0].Domain != "" && len(racks) != 1 {
		return fmt.Sprintf("lies in %d racks", len(racks))
	}
	long := batch.Walltime(a.Deadline.Sub(a.Start))
	switch {
	case w.Begin.After(now):
		return "starts before its begin time"
	case a.Deadline.IsZero():
		if w.Walltime != 0 || !w.EndBefore.IsZero() {
			return "has no deadline"
		}
		return ""
	case !w.EndBefore.IsZero() && a.Deadline.After(w.EndBefore):
		return "may end too late"
	case w.Walltime != 0 && long > w.Walltime:
		return "gets more than it asked for"
	case w.TimeMin != 0 && long < min(w.TimeMin, w.Walltime), w.TimeMin == 0 && long < w.Walltime:
		return "gets less than it asked for"
	}
	return ""
}

// checkTurns: under Strict nothing starts before one that waits before it in
// its queue. Who takes part only because of a start in this very plan was open
// to be overtaken by it: until then it took no part, and blocked nobody.
func checkTurns(w *world, plan batch.Plan) {
	snapshot := w.core.Snapshot()
	if snapshot.Policy.Backfill != batch.BackfillStrict {
		return
	}
	starts := map[batch.WorkloadID]batch.QueueName{}
	for _, d := range plan.Start {
		starts[d.ID] = d.Allocation.Queue
	}
	verdicts := map[batch.WorkloadID]batch.Verdict{}
	for _, d := range plan.Wait {
		verdicts[d.ID] = d.Verdict
	}
	blocked := map[batch.QueueName]string{}
	for _, is := range snapshot.Waiting {
		id := is.Workload.ID
		if queue, ok := starts[id]; ok {
			if other := blocked[queue]; other != "" {
				w.t.Fatalf("%s overtakes %s in %s", id, other, queue)
			}
			continue
		}
		v, ok := verdicts[id]
		if !ok && is.Workload.LastVerdict != nil {
			v = *is.Workload.LastVerdict
		}
		if local := snapshot.LocalQueues[is.Workload.LocalQueue]; v.Reason.TakesPart() && len(local.Queues) == 1 && !w.released(is.Workload, starts) {
			blocked[local.Queues[0]] = string(id)
		}
	}
}

// released says whether a workload depends on a start of this plan, and took no
// part so far; or did only in a plan whose start the API server refused.
func (w *world) released(workload *batch.Workload, starts map[batch.WorkloadID]batch.QueueName) bool {
	last := workload.LastVerdict
	tookPart := last != nil && last.Reason.TakesPart()
	return slices.ContainsFunc(workload.After, func(d batch.Dependency) bool {
		other := batch.WorkloadID(workload.Namespace + "/" + d.Name)
		_, starts := starts[other]
		return d.Kind == batch.After && starts && (!tookPart || w.jobs[nameOf(other)].starts == 0)
	})
}

func TestPlansGrantWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawWorld(t, func(w *world) func(batch.Plan) {
			maybeQuotas(t, w)
			return func(plan batch.Plan) {
				checkWishes(w, plan)
				checkTurns(w, plan)
				if plan.Stats.Unsettled {
					t.Fatal("the plan was gone over too often")
				}
			}
		})
	})
}
