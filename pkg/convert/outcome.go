package convert

import (
	"cmp"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// outcomeStarted is the state of an outcome that has none of its own yet.
const outcomeStarted = "Started"

// RecordOutcomes writes what came of the work that a workload depends on.
func RecordOutcomes(qw *v1alpha1.QueuedWorkload, outcomes []batch.Outcome) {
	qw.Status.Dependencies = nil
	for _, o := range outcomes {
		out := v1alpha1.DependencyOutcome{Name: o.Name, State: cmp.Or(string(o.State), outcomeStarted)}
		if o.ID != "" {
			out.Workload = SplitID(o.ID).Name
		}
		if o.Member != nil {
			out.Member = new(int32(*o.Member))
		}
		qw.Status.Dependencies = append(qw.Status.Dependencies, out)
	}
}

// outcomes reads back what came of the work that a workload depends on.
func outcomes(qw *v1alpha1.QueuedWorkload) []batch.Outcome {
	var all []batch.Outcome
	for _, d := range qw.Status.Dependencies {
		o := batch.Outcome{Name: d.Name}
		if d.State != outcomeStarted {
			o.State = batch.EndState(d.State)
		}
		if d.Workload != "" {
			o.ID = WorkloadID(qw.Namespace, d.Workload)
		}
		if d.Member != nil {
			o.Member = new(int(*d.Member))
		}
		all = append(all, o)
	}
	return all
}
