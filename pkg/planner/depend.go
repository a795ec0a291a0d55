package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
)

// kin knows who depends on whom. It is made when the first workload asks.
type kin struct {
	waiting map[batch.WorkloadID]*batch.Workload
	groups  map[groupKey][]*batch.Workload // that have not ended, or whose pods have not, older first
	cycles  map[batch.WorkloadID]string    // in words; absent: not in a cycle
}

// groupKey is what singleton compares.
type groupKey struct{ namespace, submitter, job string }

func groupOf(w *batch.Workload) groupKey {
	key := groupKey{namespace: w.Namespace, submitter: w.Submitter, job: w.JobName}
	if key.job == "" && w.Array != nil {
		key.job = w.Array.Name
	}
	if key.job == "" {
		key.job = w.Name
	}
	return key
}

// older orders workloads by when they were queued, whatever their priority.
func older(a, b *batch.Workload) int {
	x, y := *a, *b
	x.Priority, y.Priority = 0, 0
	return batch.CompareRank(&x, &y)
}

func (p *pass) kinship() *kin {
	if p.kin != nil {
		return p.kin
	}
	k := &kin{
		waiting: map[batch.WorkloadID]*batch.Workload{}, groups: map[groupKey][]*batch.Workload{},
		cycles: map[batch.WorkloadID]string{},
	}
	p.kin = k
	add := func(w *batch.Workload) {
		key := groupOf(w)
		k.groups[key] = append(k.groups[key], w)
	}
	for _, w := range p.waiting {
		k.waiting[w.Workload.ID] = w.Workload
		add(w.Workload)
	}
	for _, s := range p.Started {
		if (s.Owner == nil || s.Owner.End == nil) && !p.leaving[s.Workload.ID] {
			add(s.Workload)
		}
	}
	for _, w := range p.Ending { //order:any sorted below
		if w != nil {
			add(w)
		}
	}
	for _, group := range k.groups { //order:any each group by itself
		slices.SortFunc(group, older)
	}
	k.findCycles(p)
	return k
}

// dependency says whether what a workload depends on keeps it from its start;
// an empty verdict: all of it has happened.
func (p *pass) dependency(w *batch.Workload) batch.Verdict {
	if len(w.After) == 0 {
		return batch.Verdict{}
	}
	k := p.kinship()
	if words := k.cycles[w.ID]; words != "" {
		return verdictOf(batch.ReasonDependencyNeverSatisfied, batch.Facts{Text: words})
	}
	var open []string
	for _, d := range w.After {
		words, never := p.unmet(w, d)
		switch {
		case never:
			return verdictOf(batch.ReasonDependencyNeverSatisfied, batch.Facts{Text: words})
		case words != "":
			open = append(open, words)
		}
	}
	if len(open) > 0 {
		return verdictOf(batch.ReasonDependency, batch.Facts{Text: strings.Join(open, " and for ")})
	}
	return batch.Verdict{}
}

// unmet says in words what a dependency still waits for, or why it can never
// be; empty: it has happened.
func (p *pass) unmet(w *batch.Workload, d batch.Dependency) (words string, never bool) {
	if d.Kind == batch.Singleton {
		if other := p.kinship().before(w); other != nil {
			return other.Name + " to end, which is older and has the same job name" + p.stillEnding(other.ID), false
		}
		return "", false
	}
	t := tallyOf(p, p.fatesOf(w, d))
	switch {
	case d.Kind == batch.AfterOK && t.failed != nil:
		return fmt.Sprintf("%s:%s cannot be met: %s%s", d.Kind, d.Name, which(d.Name, t.failed), endWords(t.failed)), true
	case d.Kind == batch.AfterNotOK && t.all && t.ended+t.ending == t.known && t.failed == nil:
		return fmt.Sprintf("%s:%s cannot be met: it has completed", d.Kind, d.Name), true
	case d.Kind == batch.After && t.all && t.begun == t.known, t.all && t.ended == t.known:
		return "", false
	}
	verb := map[batch.DependencyKind]string{
		batch.After: "start", batch.AfterOK: "complete", batch.AfterAny: "end", batch.AfterNotOK: "fail",
	}[d.Kind]
	words = fmt.Sprintf("%s to %s (%s)", d.Name, verb, d.Kind)
	if t.ending > 0 {
		words += podsStillEnd
	}
	if t.known == 0 {
		words += ", and no workload of that name is known"
	}
	return words, false
}

// podsStillEnd follows the name of one that has ended but for its pods.
const podsStillEnd = ", whose pods are still ending"

func (p *pass) stillEnding(id batch.WorkloadID) string {
	if _, ends := p.Ending[id]; ends {
		return podsStillEnd
	}
	return ""
}

// tally counts what is known of those that a dependency names.
type tally struct {
	known, begun, ended int
	ending              int         // have ended, but for their pods
	all                 bool        // all that there are are known, and there are some
	failed              *batch.Fate // the first that has ended otherwise than completed
}

func tallyOf(p *pass, fates []batch.Fate) tally {
	t := tally{known: len(fates)}
	members := 0
	for i := range fates {
		f := p.asOfNow(&fates[i])
		members = max(members, f.Members)
		if f.Started || f.End != "" || p.begun[f.ID] {
			t.begun++
		}
		if f.End == "" {
			continue
		}
		if f.Living {
			t.ending++
		} else {
			t.ended++
		}
		if f.End != batch.Completed && t.failed == nil {
			t.failed = f
		}
	}
	t.all = t.known > 0 && t.known >= members
	return t
}

// asOfNow is a fate with the end that this very plan has decided: the next one
// would find it so.
func (p *pass) asOfNow(f *batch.Fate) *batch.Fate {
	if f.End != "" || len(p.plan.Finish) == 0 {
		return f
	}
	at := slices.IndexFunc(p.plan.Finish, func(d batch.FinishDecision) bool { return d.ID == f.ID })
	if at < 0 {
		return f
	}
	is := *f
	is.End = p.plan.Finish[at].End.State
	return &is
}

func which(name string, f *batch.Fate) string {
	if f.Members > 0 {
		return fmt.Sprintf("its member %d ", f.Index)
	}
	return name + " "
}

func endWords(f *batch.Fate) string {
	switch {
	case f.Gone && f.End == batch.Cancelled:
		return "was deleted before it had completed"
	case f.End == batch.Timeout:
		return "ran into its walltime"
	case f.End == batch.Cancelled:
		return "was cancelled"
	}
	return "has failed"
}

// before is the oldest workload that a singleton waits for; nil: none. Members
// of one array do not wait for each other.
func (k *kin) before(w *batch.Workload) *batch.Workload {
	for _, other := range k.groups[groupOf(w)] {
		if older(other, w) >= 0 {
			return nil
		}
		if other.Array == nil || w.Array == nil || other.Array.Name != w.Array.Name {
			return other
		}
	}
	return nil
}
