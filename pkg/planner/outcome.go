package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// fatesOf is what is known of those that a dependency names. Where nobody is
// left of that name, the dependent's own record tells what came of them.
func (p *pass) fatesOf(w *batch.Workload, d batch.Dependency) []batch.Fate {
	if fates := p.Fates[batch.DependencyName{Namespace: w.Namespace, Name: d.Name}]; len(fates) > 0 {
		return fates
	}
	for i := range w.Outcomes {
		// That it had started says nothing about how it has ended.
		if o := &w.Outcomes[i]; o.Name == d.Name && (o.State != "" || d.Kind == batch.After) {
			return []batch.Fate{p.recalled(o)}
		}
	}
	return nil
}

// recalled is the fate that an outcome stands for.
func (p *pass) recalled(o *batch.Outcome) batch.Fate {
	_, living := p.Ending[o.ID]
	f := batch.Fate{ID: o.ID, Started: true, End: o.State, Gone: true, Living: living && o.ID != ""}
	if o.Member != nil {
		f.Index, f.Members = *o.Member, 1 // one that stands for all
	}
	return f
}

// noteOutcomes puts on record what has come of those that a waiting workload
// depends on, where that is more, or other, than stands there.
func (p *pass) noteOutcomes(w *batch.Workload) {
	if len(w.After) == 0 && len(w.Outcomes) == 0 {
		return
	}
	var all []batch.Outcome
	for _, d := range w.After {
		if o, known := p.outcome(w, d); known && !slices.ContainsFunc(all, func(other batch.Outcome) bool { return other.Name == o.Name }) {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b batch.Outcome) int { return cmp.Compare(a.Name, b.Name) })
	if !slices.EqualFunc(all, w.Outcomes, sameOutcome) {
		p.plan.Remember = append(p.plan.Remember, batch.RememberDecision{ID: w.ID, Outcomes: all})
	}
}

// outcome is what has come of those that a dependency names. Before all of
// them have ended it is nothing: their own records are there. One that has
// started is on record for those that wait for that alone.
func (p *pass) outcome(w *batch.Workload, d batch.Dependency) (o batch.Outcome, known bool) {
	fates := p.fatesOf(w, d)
	t := tallyOf(p, fates)
	o.Name = d.Name
	if len(fates) == 1 {
		o.ID = fates[0].ID
	}
	switch {
	case !t.all:
		return o, false
	case t.ended+t.ending < t.known:
		return o, t.begun == t.known && slices.Contains(w.After, batch.Dependency{Kind: batch.After, Name: d.Name})
	case t.failed == nil:
		o.State = batch.Completed
		return o, true
	}
	o.State = t.failed.End
	if t.failed.Members > 0 {
		o.Member = &t.failed.Index
	}
	return o, true
}

func sameOutcome(a, b batch.Outcome) bool {
	return a.Name == b.Name && a.ID == b.ID && a.State == b.State &&
		(a.Member == nil) == (b.Member == nil) && (a.Member == nil || *a.Member == *b.Member)
}
