package whatif

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

// ChangeKind is what is changed of a workload.
type ChangeKind string

// The kinds of change that a person can make.
const (
	ShorterWalltime ChangeKind = "ShorterWalltime"
	FewerPods       ChangeKind = "FewerPods"
	OtherQueue      ChangeKind = "OtherQueue"
)

// Change is what would let a workload start sooner: found by planning with it.
type Change struct {
	Kind     ChangeKind
	Walltime batch.Walltime       // the longest that starts then
	Pods     int                  // the most that start then
	Queue    batch.LocalQueueName // the other queue
	Start    time.Time            // when it would start
}

// plansMax bounds how many plans a search makes.
const plansMax = 24

// worthTrying are the kinds of change that can end a wait for a reason. A
// workload that is held, or waits for another or for a time, starts no sooner in
// another size; what a queue does not let in, no size helps either.
func worthTrying(reason batch.Reason) []ChangeKind {
	switch reason {
	case batch.ReasonHeld, batch.ReasonRequeued, batch.ReasonBeginTime, batch.ReasonDependency, batch.ReasonArrayLimit,
		batch.ReasonDependencyNeverSatisfied, batch.ReasonInvalidSpec, batch.ReasonPreempting:
		return nil
	case batch.ReasonQueueStopped, batch.ReasonQueueNotFound, batch.ReasonAccessDenied:
		return []ChangeKind{OtherQueue}
	case batch.ReasonWalltimeLimit, batch.ReasonDeadlineMissed:
		return []ChangeKind{ShorterWalltime, OtherQueue}
	case batch.ReasonNeverFits:
		return []ChangeKind{FewerPods, OtherQueue}
	case batch.ReasonPriority, batch.ReasonResources, batch.ReasonTopology, batch.ReasonQuotaExceeded, batch.ReasonBorrowingLimit,
		batch.ReasonNodesUnavailable, batch.ReasonNotPlanned:
	}
	return []ChangeKind{ShorterWalltime, FewerPods, OtherQueue}
}

// changes are those that help, by the start they bring, and the kinds of those
// that were tried.
func (w *World) changes(workload batch.Workload, is outcome) (tried []ChangeKind, help []Change) {
	t := trial{image: w.core.Image(), now: w.now, workload: workload, bound: is.verdict.PlannedStart}
	// Its own planned start is not given up by asking: what is tried is
	// ranked as if it had just come.
	t.workload.Promise = time.Time{}
	for _, kind := range worthTrying(is.verdict.Reason) {
		found, could := t.tries(kind)
		if could {
			tried = append(tried, kind)
		}
		help = append(help, found...)
	}
	slices.SortStableFunc(help, func(a, b Change) int { return a.Start.Compare(b.Start) })
	return tried, help
}

// tries looks for changes of a kind; false: there is nothing of it to change.
func (t *trial) tries(kind ChangeKind) (found []Change, could bool) {
	switch kind {
	case ShorterWalltime:
		return t.shorter(), true
	case FewerPods:
		return t.fewer(), largest(t.workload.PodSets) >= 0
	default:
		doors := t.doors()
		return t.elsewhere(doors), len(doors) > 0
	}
}

// trial plans on copies of a working set with one workload changed.
type trial struct {
	image    core.Image
	now      time.Time
	workload batch.Workload
	bound    time.Time // its planned start as it is; zero: none
}

// start is when the workload starts if it is changed; false: that is not known.
func (t *trial) start(edit func(*batch.Workload)) (time.Time, bool) {
	changed := t.workload
	edit(&changed)
	c := core.Restore(t.image)
	c.Step(batch.WorkloadObserved{Workload: changed})
	is := outcomeOf(c.Plan(t.now), changed.ID)
	if is.startsNow {
		return t.now, true
	}
	return is.verdict.PlannedStart, !is.verdict.PlannedStart.IsZero()
}

// helps says whether a start is sooner than the one that is planned.
func (t *trial) helps(start time.Time) bool { return t.bound.IsZero() || start.Before(t.bound) }

// shorter looks for the longest walltime, in minutes, that brings the earliest
// start that any shorter walltime brings.
func (t *trial) shorter() []Change {
	declared := t.workload.Walltime
	longest := 7 * 24 * time.Hour // of an unlimited or undeclared walltime
	if declared > 0 {
		longest = time.Duration(declared)
	}
	minutes := int(longest / time.Minute)
	if longest%time.Minute == 0 && declared > 0 {
		minutes--
	}
	if minutes < 1 {
		return nil
	}
	try := func(minutes int) (time.Time, bool) {
		return t.start(func(w *batch.Workload) { w.Walltime = batch.Walltime(time.Duration(minutes) * time.Minute) })
	}
	best, known := try(1)
	if !known || !t.helps(best) {
		return nil
	}
	low, high := 1, minutes // try(low) brings the best start
	for plans := 0; low < high && plans < plansMax; plans++ {
		middle := (low + high + 1) / 2
		if start, known := try(middle); known && !start.After(best) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return []Change{{Kind: ShorterWalltime, Walltime: batch.Walltime(time.Duration(low) * time.Minute), Start: best}}
}

// fewer looks for the largest gang that starts as early as one pod would; of a
// gang for which no start is known, for the largest that has one.
func (t *trial) fewer() []Change {
	set := largest(t.workload.PodSets)
	if set < 0 {
		return nil
	}
	pods := t.workload.PodSets[set].Count
	try := func(n int) (time.Time, bool) {
		return t.start(func(w *batch.Workload) {
			w.PodSets = slices.Clone(w.PodSets)
			w.PodSets[set].Count = n
			w.PodSets[set].MinCount = min(w.PodSets[set].MinCount, n)
		})
	}
	best, known := try(1)
	if !known || !t.helps(best) {
		return nil
	}
	low, high := 1, pods-1
	for plans := 0; low < high && plans < plansMax; plans++ {
		middle := (low + high + 1) / 2
		if start, known := try(middle); known && (t.bound.IsZero() || !start.After(best)) {
			low, best = middle, start
		} else {
			high = middle - 1
		}
	}
	return []Change{{Kind: FewerPods, Pods: low, Start: best}}
}

// largest is the pod set with the most pods; -1: none has more than one.
func largest(sets []batch.PodSet) int {
	best, most := -1, 1
	for i := range sets {
		if sets[i].Count > most {
			best, most = i, sets[i].Count
		}
	}
	return best
}

// doors are the other LocalQueues of the namespace.
func (t *trial) doors() []batch.LocalQueueName {
	queues := core.Restore(t.image).Snapshot().LocalQueues
	return slices.DeleteFunc(slices.Sorted(maps.Keys(queues)), func(name batch.LocalQueueName) bool {
		return name == t.workload.LocalQueue || !strings.HasPrefix(string(name), t.workload.Namespace+"/")
	})
}

// elsewhere tries other LocalQueues.
func (t *trial) elsewhere(doors []batch.LocalQueueName) []Change {
	var out []Change
	for _, name := range doors {
		start, known := t.start(func(w *batch.Workload) { w.LocalQueue = name })
		if known && t.helps(start) {
			out = append(out, Change{Kind: OtherQueue, Queue: name, Start: start})
		}
	}
	return out
}
