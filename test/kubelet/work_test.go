//go:build linux

package kubelet

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/test/kubelet/evidence"
)

// work is a Job that was submitted.
type work struct {
	*team
	job *batchv1.Job
}

func (t *team) submit(job *batchv1.Job) *work {
	t.t.Helper()
	// A right that was granted a moment ago is not in effect everywhere at once.
	eventually(t.t, patience, job.Name+" is let in", func() (string, bool) {
		err := t.client.Create(t.t.Context(), job)
		if err != nil && !apierrors.IsForbidden(err) {
			t.t.Fatalf("submit %s: %v", job.Name, err)
		}
		return fmt.Sprint(err), err == nil
	})
	return &work{team: t, job: job}
}

// record is the Job's workload; nil if it has none (yet).
func (w *work) record() *v1alpha1.QueuedWorkload {
	w.t.Helper()
	var list v1alpha1.QueuedWorkloadList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.name)); err != nil {
		w.t.Fatalf("list workloads: %v", err)
	}
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && owner.UID == w.job.UID {
			return &list.Items[i]
		}
	}
	return nil
}

// mustBe waits for a word in the STATE column, and returns the workload.
func (w *work) mustBe(want string) *v1alpha1.QueuedWorkload {
	w.t.Helper()
	var qw *v1alpha1.QueuedWorkload
	eventually(w.t, patience, w.job.Name+" is "+want, func() (string, bool) {
		qw = w.record()
		return describe(qw), qw != nil && qw.Status.Summary != nil && qw.Status.Summary.State == want
	})
	return qw
}

// mustRun waits until its pods run, and their program does.
func (w *work) mustRun() []podLife {
	w.t.Helper()
	w.mustBe("Running")
	want := int(*w.job.Spec.Parallelism)
	var pods []podLife
	eventually(w.t, patience, w.job.Name+" works", func() (string, bool) {
		pods = nil
		for _, pod := range w.history.podsOf(w.job.UID) {
			if _, started := w.life(pod).First(evidence.Started, ""); started && !pod.over() {
				pods = append(pods, pod)
			}
		}
		return fmt.Sprintf("%d pods of %d work", len(pods), want), len(pods) == want
	})
	return pods
}

// life is what a pod has written down.
func (t *team) life(pod podLife) evidence.Life {
	t.t.Helper()
	life, err := evidence.Read(evidenceDir, pod.Name)
	if err != nil {
		t.t.Fatal(err)
	}
	return life
}

// mustHappen waits for something in a pod's evidence.
func (t *team) mustHappen(pod podLife, within time.Duration, kind evidence.Kind, detail string) evidence.Event {
	t.t.Helper()
	var event evidence.Event
	eventually(t.t, within, fmt.Sprintf("%s: %s %s", pod.Name, kind, detail), func() (string, bool) {
		var ok bool
		life := t.life(pod)
		event, ok = life.First(kind, detail)
		return fmt.Sprint(life.Told()), ok
	})
	return event
}

// silence is after how long without a sign of life a process is dead.
const silence = 10 * evidence.Pulse

// mustDie waits until the processes of pods are gone, and says when the last of
// them gave its last sign of life.
func (t *team) mustDie(pods []podLife) (last time.Time) {
	t.t.Helper()
	for _, pod := range pods {
		var end time.Time
		eventually(t.t, patience, pod.Name+" is dead", func() (string, bool) {
			end = t.life(pod).End()
			return "last sign of life " + end.Format(clock), time.Since(end) > silence
		})
		if end.After(last) {
			last = end
		}
	}
	return last
}

// mustGetSIGTERM says that pods get SIGTERM as soon after something as a kubelet
// can, and when each did.
func (t *team) mustGetSIGTERM(pods []podLife, after time.Time) (all []time.Time) {
	t.t.Helper()
	return t.mustGetSIGTERMWithin(kubeletTime, pods, after)
}

// mustGetSIGTERMWithin is for pods of which others have to hear first.
func (t *team) mustGetSIGTERMWithin(limit time.Duration, pods []podLife, after time.Time) (all []time.Time) {
	t.t.Helper()
	for _, pod := range pods {
		told := t.mustHappen(pod, patience, evidence.Signal, terminated)
		t.mustBeSoon("SIGTERM to "+pod.Name, after, told.At, limit)
		all = append(all, told.At)
	}
	return all
}

// mustBeKilled says that pods that have got SIGTERM are killed when their grace
// is over, and says when the last was.
func (t *team) mustBeKilled(pods []podLife, grace time.Duration) (last time.Time) {
	t.t.Helper()
	last = t.mustDie(pods)
	for _, pod := range pods {
		told := t.mustHappen(pod, patience, evidence.Signal, terminated)
		end, due := t.life(pod).End(), told.At.Add(grace)
		t.mustBeSoon("the end of the grace of "+pod.Name+" after its last sign of life", end, due, kubeletTime)
		t.mustBeSoon("the end of "+pod.Name+" after its grace", due, end, kubeletTime)
	}
	return last
}

// mustBeGone waits until the API has no object of the pods.
func (w *work) mustBeGone(within time.Duration) {
	w.t.Helper()
	eventually(w.t, within, "the pods of "+w.job.Name+" are gone", func() (string, bool) {
		for _, pod := range w.history.podsOf(w.job.UID) {
			if pod.gone.IsZero() {
				return fmt.Sprintf("%s is there: %s", pod.Name, pod.Status.Phase), false
			}
		}
		return "", true
	})
}

// cancel deletes the Job as `kubectl delete` does, and says when.
func (w *work) cancel() time.Time {
	w.t.Helper()
	at := time.Now()
	if err := w.client.Delete(w.t.Context(), w.job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		w.t.Fatalf("delete %s: %v", w.job.Name, err)
	}
	return at
}

// mustHaveNoPods says that a Job that waits has never had a pod.
func (w *work) mustHaveNoPods() {
	w.t.Helper()
	if pods := w.history.podsOf(w.job.UID); len(pods) > 0 {
		w.t.Errorf("%s waits, and has had the pod %s", w.job.Name, pods[0].Name)
	}
}

// mustWait waits until a Job waits for a reason, and says all of this.
func (w *work) mustWait(reason string, parts ...string) {
	w.t.Helper()
	eventually(w.t, patience, fmt.Sprintf("%s waits with %s, %q", w.job.Name, reason, parts), func() (string, bool) {
		qw := w.record()
		if qw == nil {
			return "no workload", false
		}
		c := meta.FindStatusCondition(qw.Status.Conditions, v1alpha1.ConditionPending)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason {
			return describe(qw), false
		}
		return describe(qw), !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(c.Message, part) })
	})
	w.mustHaveNoPods()
}

// annotate writes an annotation onto the Job, as `kubectl annotate` does, and
// says when.
func (w *work) annotate(key, value string) time.Time {
	w.t.Helper()
	at := time.Now()
	job := &batchv1.Job{}
	w.edit(client.ObjectKeyFromObject(w.job), job, func() { job.Annotations[key] = value })
	return at
}

// mustHaveRun says how the first run of a Job ended, and that its Job counts
// neither a failure nor a success by that.
func (w *work) mustHaveRun(state, cause, by string) {
	w.t.Helper()
	var runs []v1alpha1.WorkloadRun
	eventually(w.t, patience, w.job.Name+" has a run on record", func() (string, bool) {
		qw := w.record()
		runs = qw.Status.Runs
		return describe(qw), len(runs) > 0
	})
	if got := runs[0]; got.State != state || got.Cause != cause || got.By != by {
		w.t.Errorf("%s: its first run is on record as %s because of %q by %q; want %s, %q, %q", w.job.Name, got.State, got.Cause, got.By, state, cause, by)
	}
	w.mustCountNothing()
}

// mustCountNothing says that the Job counts neither a failure nor a success.
func (w *work) mustCountNothing() {
	w.t.Helper()
	job := &batchv1.Job{}
	if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.job), job); err != nil {
		w.t.Fatal(err)
	}
	if job.Status.Failed != 0 || job.Status.Succeeded != 0 {
		w.t.Errorf("%s: its Job counts %d failures and %d successes", w.job.Name, job.Status.Failed, job.Status.Succeeded)
	}
}

// mustCountAs says what the workload of a Job of one pod is when the Job
// controller has counted the end of its pod, and that it has counted no more than
// that.
func (w *work) mustCountAs(state string) {
	w.t.Helper()
	job := &batchv1.Job{}
	eventually(w.t, patience, w.job.Name+" is "+state, func() (string, bool) {
		w.must(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.job), job))
		s, qw := job.Status, w.record()
		counted := s.Active == 0 && (s.Terminating == nil || *s.Terminating == 0) && (s.UncountedTerminatedPods == nil || len(s.UncountedTerminatedPods.Failed)+len(s.UncountedTerminatedPods.Succeeded) == 0)
		return fmt.Sprintf("%+v %s", s, describe(qw)), counted && qw != nil && qw.Status.Summary != nil && qw.Status.Summary.State == state
	})
	var failed, succeeded int32
	switch state {
	case "Completed":
		succeeded = 1
	case "Failed":
		failed = 1
	}
	if job.Status.Failed != failed || job.Status.Succeeded != succeeded {
		w.t.Errorf("%s is %s, and its Job counts %d failures and %d successes", w.job.Name, state, job.Status.Failed, job.Status.Succeeded)
	}
	for _, pod := range w.history.podsOf(w.job.UID) {
		if pod.Status.Phase == corev1.PodRunning && pod.gone.IsZero() {
			w.t.Errorf("%s runs", pod.Name)
		}
	}
}

// exec runs a command in a pod, through the API server and the kubelet.
func (t *team) exec(pod podLife, command ...string) (string, error) {
	return t.kubectl(append([]string{"exec", pod.Name, "--"}, command...)...)
}

// kubectl runs kubectl in the team's namespace.
func (t *team) kubectl(args ...string) (string, error) {
	args = append([]string{"--kubeconfig", t.sandbox.Kubeconfig, "--cache-dir", kubectlCache, "--namespace", t.name}, args...)
	out, err := exec.CommandContext(t.t.Context(), t.sandbox.Bin+"/kubectl", args...).CombinedOutput() //nolint:gosec // a test's own words
	return strings.TrimSpace(string(out)), err
}

// mustKubectl runs it, and it has to do what it is asked.
func (t *team) mustKubectl(args ...string) {
	t.t.Helper()
	if out, err := t.kubectl(args...); err != nil {
		t.t.Fatalf("kubectl %q: %v: %s", args, err, out)
	}
}

// beginKubectl runs it while the test goes on; await waits until it is done.
func (t *team) beginKubectl(args ...string) (await func()) {
	done := make(chan error, 1)
	go func() {
		out, err := t.kubectl(args...)
		if err != nil {
			err = fmt.Errorf("kubectl %q: %w: %s", args, err, out)
		}
		done <- err
	}()
	return func() {
		t.t.Helper()
		if err := <-done; err != nil {
			t.t.Error(err)
		}
	}
}

// mustFollow says that a Job has its pods after the last process of another was
// dead, soon after, and that none of them failed.
func (w *work) mustFollow(last time.Time) {
	w.t.Helper()
	for _, pod := range w.mustRun() {
		if early := last.Sub(pod.created); early > 0 {
			w.t.Errorf("%s was made %s before the one before it was dead", pod.Name, early.Round(time.Millisecond))
		}
		w.mustBeSoon("the making of "+pod.Name, last, pod.created, handOver)
	}
	for _, pod := range w.history.podsOf(w.job.UID) {
		if pod.Status.Phase == corev1.PodFailed {
			w.t.Errorf("%s failed: %s %s", pod.Name, pod.Status.Reason, pod.Status.Message)
		}
	}
}

// unhurried skips a test that takes a minute or more on nodes of its own, unless
// BERTH_LONG=1 asks for it: on a busy machine several of them starve each other.
func unhurried(t *testing.T) {
	t.Helper()
	if os.Getenv("BERTH_LONG") == "" {
		t.Skip("takes a minute and nodes of its own: BERTH_LONG=1 runs it")
	}
}
