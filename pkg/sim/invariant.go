package sim

import (
	"fmt"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// Breach is an invariant that does not hold: when, after what, and the two
// values that disagree.
type Breach struct {
	At    time.Duration
	Event string
	Text  string
	Want  string
	Got   string
}

// String tells it in a line.
func (b *Breach) String() string {
	return fmt.Sprintf("at %s, after %s: %s: want %s, got %s", offsetText(b.At), b.Event, b.Text, b.Want, b.Got)
}

func (w *world) broke(text string, want, got any) {
	if w.breach == nil {
		w.breach = &Breach{At: w.now, Event: w.doing, Text: text, Want: fmt.Sprint(want), Got: fmt.Sprint(got)}
	}
}

// checkNode: no node is granted beyond what it has.
func (w *world) checkNode(n *node) {
	for name, used := range n.used { //order:any the first breach of a run is told, and one node breaks at a time
		if used > n.Capacity[name] {
			w.broke(fmt.Sprintf("%s on node %s", name, n.Name), fmt.Sprintf("at most %d", n.Capacity[name]), used)
		}
	}
}

// checkStart: only what waits is started, whole, and no later than promised.
func (w *world) checkStart(j *job, d batch.StartDecision) {
	switch {
	case j == nil || j.ended:
		w.broke(fmt.Sprintf("start of %s", d.ID), "work that waits", "work that has ended or is gone")
		return
	case j.workload.Allocation != nil:
		w.broke(fmt.Sprintf("start of %s", d.ID), "one allocation", "a second one")
		return
	}
	for i := range j.workload.PodSets {
		set := &j.workload.PodSets[i]
		got := 0
		if i < len(d.Allocation.PodSets) {
			got = len(d.Allocation.PodSets[i].Hosts)
		}
		least := set.Count
		if set.MinCount > 0 {
			least = set.MinCount
		}
		if got < least || got > set.Count {
			w.broke(fmt.Sprintf("pods of %s in pod set %s", d.ID, set.Name), fmt.Sprintf("%d to %d", least, set.Count), got)
		}
	}
	w.checkDomain(j, d)
	// A promise cannot be kept by a controller that is down.
	if p := j.workload.Promise; !p.IsZero() && w.time().After(p) && w.offset(p) > w.down {
		w.broke(fmt.Sprintf("start of %s by its planned start", d.ID), offsetText(w.offset(p)), offsetText(w.now))
	}
	if !d.Allocation.Start.Equal(w.time()) {
		w.broke(fmt.Sprintf("start of %s", d.ID), offsetText(w.now), offsetText(w.offset(d.Allocation.Start)))
	}
}

// checkWait: a planned start moves later only for a reason that is told.
func (w *world) checkWait(j *job, v batch.Verdict) {
	before := j.workload.Promise
	if v.Reason == "" {
		w.broke(fmt.Sprintf("reason of %s", j.workload.ID), "one of the closed set", "none")
	}
	if before.IsZero() || !v.Reason.TakesPart() || v.MovedBy != "" {
		return
	}
	if v.PlannedStart.IsZero() || v.PlannedStart.After(before) {
		got := "none"
		if !v.PlannedStart.IsZero() {
			got = offsetText(w.offset(v.PlannedStart))
		}
		w.broke(fmt.Sprintf("planned start of %s, which nothing is said to have moved", j.workload.ID), offsetText(w.offset(before)), got)
	}
}

// checkBuckets: every workload is in exactly one bucket of a plan.
func (w *world) checkBuckets(p batch.Plan) {
	if !w.options.thorough() {
		return
	}
	in := map[batch.WorkloadID]string{}
	put := func(id batch.WorkloadID, bucket string) {
		if other, twice := in[id]; twice {
			w.broke(fmt.Sprintf("buckets of %s in one plan", id), "one", other+" and "+bucket)
		}
		in[id] = bucket
		if _, known := w.jobs[id]; !known {
			w.broke(fmt.Sprintf("a decision (%s) about %s", bucket, id), "work that exists", "work that is gone")
		}
	}
	again := map[batch.WorkloadID]bool{}
	for _, d := range p.Requeue {
		again[d.ID] = true // it may start or wait in the same plan
	}
	for _, d := range p.Finish {
		again[d.ID] = true // nothing of it was there any more
	}
	for _, d := range p.Evict {
		if !again[d.ID] {
			put(d.ID, "evicted")
		}
	}
	for _, d := range p.Finish {
		put(d.ID, "finished")
	}
	for _, d := range p.Start {
		put(d.ID, "started")
	}
	for _, d := range p.Wait {
		put(d.ID, "waiting")
	}
}

// checkSettled looks at the whole cluster when nothing is left to do.
func (w *world) checkSettled() {
	if !w.options.thorough() || w.breach != nil {
		return
	}
	w.checkOwed()
	snapshot := w.core.Snapshot()
	for _, view := range snapshot.Nodes {
		w.checkCharges(view)
	}
	for _, waiting := range snapshot.Waiting {
		if waiting.Workload.LastVerdict == nil {
			w.broke(fmt.Sprintf("why %s waits", waiting.Workload.ID), "a reason", "none")
		}
	}
	for _, j := range w.order {
		places := 0
		if a := j.workload.Allocation; a != nil {
			places = a.Places()
		}
		if len(j.pods) > 0 && !j.ended && len(j.pods) != places {
			w.broke(fmt.Sprintf("running pods of %s", j.workload.ID), places, len(j.pods))
		}
	}
}

// checkCharges: bound pods are charged, and charges are within capacity.
func (w *world) checkCharges(view *batch.NodeView) {
	n, ok := w.nodes[view.Node.Name]
	if !ok {
		w.broke("nodes that the core knows", "those that exist", view.Node.Name)
		return
	}
	charged := batch.Resources{}
	for i := range view.Charges {
		charged = charged.Plus(view.Charges[i].Requests)
	}
	for _, name := range charged.Names() {
		if charged[name] > n.Capacity[name] {
			w.broke(fmt.Sprintf("%s charged on node %s", name, n.Name), fmt.Sprintf("at most %d", n.Capacity[name]), charged[name])
		}
	}
	for _, name := range n.used.Names() {
		if n.used[name] > charged[name] {
			w.broke(fmt.Sprintf("%s of running pods on node %s", name, n.Name), fmt.Sprintf("at most the %d charged", charged[name]), n.used[name])
		}
	}
}
