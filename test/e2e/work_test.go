package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

// work is a Job or a Pod that was submitted.
type work struct {
	*team
	object client.Object
	job    *batchv1.Job // nil for a Pod
}

// submit makes a Job in the team's namespace.
func (t *team) submit(job *batchv1.Job) *work {
	t.t.Helper()
	return t.submitAs(t.client, job)
}

// submitAs is submit by somebody.
func (t *team) submitAs(who client.Client, job *batchv1.Job) *work {
	t.t.Helper()
	w, err := t.trySubmit(who, job)
	if err != nil {
		t.t.Fatalf("submit %s: %v", job.Name, err)
	}
	return w
}

// trySubmit is submit by somebody who may be refused.
func (t *team) trySubmit(who client.Client, job *batchv1.Job) (*work, error) {
	job.Namespace = t.name
	if err := who.Create(t.t.Context(), job); err != nil {
		return nil, err
	}
	return &work{team: t, object: job, job: job}, nil
}

// submitPod makes a Pod in the team's namespace.
func (t *team) submitPod(pod *corev1.Pod) *work {
	t.t.Helper()
	pod.Namespace = t.name
	t.create(pod)
	return &work{team: t, object: pod}
}

func (w *work) uid() types.UID { return w.object.GetUID() }
func (w *work) what() string   { return w.object.GetName() }

// records are the workloads that the work owns: one, if all is well.
func (w *work) records() []v1alpha1.QueuedWorkload {
	w.t.Helper()
	var list v1alpha1.QueuedWorkloadList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.name)); err != nil {
		w.t.Fatalf("list workloads: %v", err)
	}
	return slices.DeleteFunc(list.Items, func(qw v1alpha1.QueuedWorkload) bool {
		owner := metav1.GetControllerOf(&qw)
		return owner == nil || owner.UID != w.uid()
	})
}

// record is its workload; nil if it has none (yet).
func (w *work) record() *v1alpha1.QueuedWorkload {
	w.t.Helper()
	all := w.records()
	switch len(all) {
	case 0:
		return nil
	case 1:
		return &all[0]
	}
	w.t.Fatalf("%s has %d workloads", w.what(), len(all))
	return nil
}

// state is the word in the STATE column; empty while there is none.
func state(qw *v1alpha1.QueuedWorkload) string {
	if qw == nil || qw.Status.Summary == nil {
		return ""
	}
	return qw.Status.Summary.State
}

// mustBe waits for a word in the STATE column, and returns the workload.
func (w *work) mustBe(want string, within time.Duration) *v1alpha1.QueuedWorkload {
	w.t.Helper()
	var qw *v1alpha1.QueuedWorkload
	eventually(w.t, within, w.what()+" is "+want, func() (string, bool) {
		qw = w.record()
		return describe(qw), state(qw) == want
	})
	return qw
}

// mustRun waits until all its pods are ready, and until the history, which has
// a watch of its own, has seen them on their nodes.
func (w *work) mustRun() *v1alpha1.QueuedWorkload {
	w.t.Helper()
	qw := w.mustBe("Running", patience)
	w.bound(len(hostsOf(qw)), soon)
	return qw
}

// mustEnd waits for its end.
func (w *work) mustEnd(state string) *v1alpha1.QueuedWorkload {
	w.t.Helper()
	qw := w.mustBe(state, patience)
	if c := meta.FindStatusCondition(qw.Status.Conditions, v1alpha1.ConditionFinished); c == nil || c.Status != metav1.ConditionTrue || c.Reason != state {
		w.t.Errorf("%s is %s, but its condition Finished is %v", w.what(), state, c)
	}
	return qw
}

// mustWait waits until it is pending with a reason, and a message that has all
// the parts; then it has no pods that run or could.
func (w *work) mustWait(reason string, parts ...string) *v1alpha1.QueuedWorkload {
	w.t.Helper()
	var qw *v1alpha1.QueuedWorkload
	eventually(w.t, soon, fmt.Sprintf("%s waits with %s, %q", w.what(), reason, parts), func() (string, bool) {
		qw = w.record()
		if qw == nil {
			return "no workload", false
		}
		c := meta.FindStatusCondition(qw.Status.Conditions, v1alpha1.ConditionPending)
		ok := c != nil && c.Status == metav1.ConditionTrue && c.Reason == reason && containsAll(c.Message, parts)
		return describe(qw), ok
	})
	if qw.Status.Allocation != nil {
		w.t.Errorf("%s waits, but has an allocation", w.what())
	}
	return qw
}

func containsAll(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// pods are all pods it has ever had.
func (w *work) pods() []podLife { return w.history.podsOf(w.uid()) }

// pod waits until the history has seen a pod of an index, and returns the first.
func (w *work) pod(index int) podLife {
	w.t.Helper()
	var found podLife
	eventually(w.t, soon, fmt.Sprintf("%s has a pod of index %d", w.what(), index), func() (string, bool) {
		for _, life := range w.pods() {
			if life.Index == index || w.job == nil {
				found = life
				return "", true
			}
		}
		return fmt.Sprintf("%d pods of other indexes", len(w.pods())), false
	})
	return found
}

// finish lets the programs of all its pods end by themselves.
func (w *work) finish() {
	w.t.Helper()
	for _, life := range w.pods() {
		if life.released().IsZero() {
			w.finishPod(life)
		}
	}
}

// finishPod lets the program of one of its pods end by itself.
func (w *work) finishPod(life podLife) {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: life.Name}}
	w.edit(pod, func() { pod.Annotations[simulate.RuntimeAnnotation] = "1s" })
}

// mustHaveNoPods says that it has never had a pod.
func (w *work) mustHaveNoPods() {
	w.t.Helper()
	if pods := w.pods(); len(pods) > 0 {
		w.t.Errorf("%s waits and must have no pods; it has had %d", w.what(), len(pods))
	}
}

// mustBeDeleted deletes it as `kubectl delete` does.
func (w *work) mustBeDeleted() {
	w.t.Helper()
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	if err := w.client.Delete(w.t.Context(), w.object, background, client.Preconditions{UID: new(w.uid())}); err != nil {
		w.t.Fatalf("delete %s: %v", w.what(), err)
	}
}

// podsGone waits until none of its pods holds anything, and says since when.
func (w *work) podsGone(within time.Duration) (last time.Time) {
	w.t.Helper()
	eventually(w.t, within, "the pods of "+w.what()+" are gone", func() (string, bool) {
		last = time.Time{}
		for _, pod := range w.pods() {
			if pod.released().IsZero() {
				return "pod " + pod.Name + " is there", false
			}
			if pod.released().After(last) {
				last = pod.released()
			}
		}
		return "", true
	})
	return last
}

// bound waits until n of its pods are bound, and says when the first and the
// last were.
func (w *work) bound(n int, within time.Duration) (first, last time.Time) {
	w.t.Helper()
	eventually(w.t, within, fmt.Sprintf("%d pods of %s are bound", n, w.what()), func() (string, bool) {
		count := 0
		first, last = time.Time{}, time.Time{}
		for _, pod := range w.pods() {
			if pod.Bound.IsZero() {
				continue
			}
			count++
			if first.IsZero() || pod.Bound.Before(first) {
				first = pod.Bound
			}
			if pod.Bound.After(last) {
				last = pod.Bound
			}
		}
		return fmt.Sprintf("%d are; %s", count, describe(w.record())), count >= n
	})
	return first, last
}

// hosts are the nodes of its pods that hold something, by completion index.
func (w *work) hosts() []string {
	var out []string
	for _, pod := range w.pods() {
		if pod.holds() {
			out = append(out, pod.Node)
		}
	}
	return out
}

// now is the Job as it is.
func (w *work) now() *batchv1.Job {
	w.t.Helper()
	job := &batchv1.Job{}
	if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.object), job); err != nil {
		w.t.Fatalf("read Job %s: %v", w.what(), err)
	}
	return job
}

// change edits the Job as a person with kubectl edit does.
func (w *work) change(edit func(*batchv1.Job)) {
	w.t.Helper()
	if err := w.tryChange(w.client, edit); err != nil {
		w.t.Fatalf("edit Job %s: %v", w.what(), err)
	}
}

func (w *work) tryChange(who client.Client, edit func(*batchv1.Job)) error {
	job := w.now()
	return w.tryEdit(who, job, func() { edit(job) })
}
