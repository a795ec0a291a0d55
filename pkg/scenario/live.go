package scenario

import (
	"fmt"

	"github.com/berth-dev/berth/pkg/batch"
)

// NotLive lists what of a scenario cannot be played against a real control
// plane (test/e2e), so that it is refused there: half of a story that is played,
// or an expectation that nobody looks at, would pass for all of it.
func (f *File) NotLive() []string {
	var found []string
	add := func(is bool, what string, args ...any) {
		if is {
			found = append(found, fmt.Sprintf(what, args...))
		}
	}
	add(len(f.Events) > 0, "events")
	add(f.Trace != nil, "a trace")
	add(f.LocalQueues, "LocalQueues of its own")
	for i := range f.Objects {
		if queue, is := f.Objects[i].Seen.(batch.QueueObserved); is {
			add(len(queue.Queue.Flavors) > 0 || queue.Queue.Cohort != "", "the flavors and the cohort of ClusterQueue %s", f.Objects[i].Name)
			continue
		}
		add(f.Objects[i].Kind != "LocalQueue", "a %s", f.Objects[i].Kind)
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		_, named := n.Labels[hostnameLabel]
		add(len(n.Labels) > 1 || len(n.Labels) == 1 && !named || len(n.Taints) > 0, "the labels or taints of node %s", n.Name)
	}
	for i := range f.Jobs {
		add(!f.Jobs[i].live(), "job %s: it is elastic, in several pod sets or an array, or has selectors, a topology, an account, checkpoints, dependencies, times, a hold or a cancel", f.Jobs[i].Workload.Name)
	}
	for i := range f.Expect {
		if what := f.Expect[i].notLive(); what != "" {
			found = append(found, fmt.Sprintf("line %d: %s", f.Expect[i].Line, what))
		}
	}
	return found
}

// live says whether a job is one that is played live.
func (j *Job) live() bool {
	w := &j.Workload
	if len(w.PodSets) != 1 || j.Saves != nil || j.CancelAt > 0 || w.Array != nil || w.NoRequeue || w.Namespace != "default" {
		return false
	}
	set := &w.PodSets[0]
	anywhere := set.MinCount == 0 && len(set.Selector.Labels)+len(set.Selector.AnyOf)+len(set.Tolerations) == 0 && set.Domain == ""
	return anywhere && w.Exclusive != batch.ExclusiveWorkload && free(w)
}

// free says whether a workload waits for nothing but its turn.
func free(w *batch.Workload) bool {
	return !w.Held && w.Begin.IsZero() && w.EndBefore.IsZero() && len(w.After) == 0 && w.TimeMin == 0 && w.JobName == "" && w.Account == ""
}

// notLive is what of an expectation nobody looks at live; empty: nothing.
func (e *Expectation) notLive() string {
	switch {
	case e.At != nil:
		return "what is so at a moment"
	case e.Metric != "":
		return "metrics"
	case e.NeverAbove != nil:
		return "neverAbove"
	case e.NonIncreasing:
		return "plannedStarts"
	case len(e.Domains) > 0:
		return "domains"
	}
	return ""
}
