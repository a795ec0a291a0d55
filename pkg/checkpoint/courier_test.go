package checkpoint

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/controller/queued"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/metrics"
)

// world is a workload of two pods and a courier.
type world struct {
	t       *testing.T
	client  client.Client
	courier *Courier

	mu       sync.Mutex
	ran      []string // pod: command
	posted   []string // URL: body
	warned   []string // Events
	exitWith func(pod string, nth int) error
	status   int
}

const grace = 2 * time.Minute

// measures registers with the process, so there is one.
var measures = sync.OnceValue(metrics.New)

// play runs a test in virtual time on a workload with a berth.dev/checkpoint.
func play(t *testing.T, checkpoint string, test func(w *world)) {
	t.Helper()
	measures() // outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, status: http.StatusOK, exitWith: func(string, int) error { return nil }}
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
			if err := add(scheme); err != nil {
				t.Fatal(err)
			}
		}
		objects := []client.Object{gang(checkpoint)}
		for _, name := range []string{"a", "b"} {
			objects = append(objects, pod(name))
		}
		w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
			WithStatusSubresource(&v1alpha1.QueuedWorkload{}, &corev1.Pod{}).
			WithIndex(&corev1.Pod{}, queued.PodsByWorkload, queued.IndexPods).Build()
		w.courier = &Courier{
			Client: w.client, Clock: clock.RealClock{}, Metrics: measures(), Exec: w, Post: w,
			Tell: func(about *corev1.ObjectReference, _, _, _, note string) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.warned = append(w.warned, about.Name+": "+note)
			},
		}
		w.courier.prepare()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = w.courier.live(ctx) }() // it ends with the context
		test(w)
		cancel()
		synctest.Wait()
	})
}

var jobRef = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "1", Controller: new(true)}

func name() string { return convert.WorkloadName("Job", "train", "1") }

func gang(checkpoint string) *v1alpha1.QueuedWorkload {
	qw := &v1alpha1.QueuedWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name(), OwnerReferences: []metav1.OwnerReference{jobRef}},
		Spec:       v1alpha1.QueuedWorkloadSpec{QueueName: "gpu", Checkpoint: checkpoint, PodSets: []v1alpha1.PodSet{{Name: "main", Count: new(int32(2))}}},
	}
	now := time.Now()
	convert.RecordStart(qw, batch.StartDecision{Allocation: batch.Allocation{Queue: "gpu", Start: now, PodSets: []batch.Placement{{PodSet: "main", Hosts: []batch.NodeName{"n0", "n1"}}}}}, now)
	return qw
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID("uid-" + name), OwnerReferences: []metav1.OwnerReference{jobRef},
			Labels: map[string]string{v1alpha1.WorkloadLabel: convert.WorkloadName("Job", "train", "1")},
		},
		Spec:   corev1.PodSpec{NodeName: "n0", Containers: []corev1.Container{{Name: "main"}, {Name: "other"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
	}
}

// Run implements Runner.
func (w *world) Run(_ context.Context, pod *corev1.Pod, container string, command []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	nth := 0
	for _, line := range w.ran {
		if strings.HasPrefix(line, pod.Name+"/") {
			nth++
		}
	}
	w.ran = append(w.ran, pod.Name+"/"+container+": "+strings.Join(command, " "))
	return w.exitWith(pod.Name, nth)
}

// Post implements Poster.
func (w *world) Post(_ context.Context, url string, body []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posted = append(w.posted, url+" "+string(body))
	return w.status, nil
}

// notice writes a notice into the workload's status, as the applier does.
func (w *world) notice(edit func(e *batch.Eviction)) {
	w.t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	e := batch.Eviction{Notice: batch.Notice{Cause: batch.CausePreempted, By: "team/urgent", Time: now, Until: now.Add(grace)}}
	if edit != nil {
		edit(&e)
	}
	qw := &v1alpha1.QueuedWorkload{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "team", Name: name()}, qw); err != nil {
		w.t.Fatal(err)
	}
	convert.RecordEvict(qw, e, now)
	if err := w.client.Status().Update(w.t.Context(), qw); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) reconcile() {
	w.t.Helper()
	if _, err := w.courier.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "team", Name: name()}}); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// marks are the annotations of the pods, in their order.
func (w *world) marks(key string) []string {
	w.t.Helper()
	var list corev1.PodList
	if err := w.client.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].Annotations[key])
	}
	return out
}

func (w *world) commands() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(slices.Values(w.ran))
}

func TestEveryPodCarriesTheNotice(t *testing.T) {
	t.Parallel()
	for _, checkpoint := range []string{"", "annotation", "signal=USR1"} {
		play(t, checkpoint, func(w *world) {
			w.reconcile()
			if diff := cmp.Diff([]string{"", ""}, w.marks(v1alpha1.NoticeAnnotation)); diff != "" {
				t.Errorf("before the notice (-want +got):\n%s", diff)
			}
			w.notice(nil)
			w.reconcile()
			text := `{"cause":"Preempted","by":"team/urgent","time":"2000-01-01T00:00:00Z","until":"2000-01-01T00:02:00Z"}`
			if diff := cmp.Diff([]string{text, text}, w.marks(v1alpha1.NoticeAnnotation)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", checkpoint, diff)
			}
		})
	}
}

func TestASignalIsSentOnce(t *testing.T) {
	t.Parallel()
	play(t, "signal=USR1,container=other", func(w *world) {
		w.notice(nil)
		for range 3 {
			w.reconcile()
		}
		want := []string{"a/other: /bin/sh -c kill -s USR1 1", "b/other: /bin/sh -c kill -s USR1 1"}
		if diff := cmp.Diff(want, w.commands()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"", ""}, w.marks(v1alpha1.CheckpointedAtAnnotation)); diff != "" {
			t.Errorf("a signal says nothing about what is saved (-want +got):\n%s", diff)
		}
		// A new leader finds on the pods what was delivered.
		w.courier.underWay = map[types.UID]string{}
		w.reconcile()
		if diff := cmp.Diff(want, w.commands()); diff != "" {
			t.Errorf("after a restart (-want +got):\n%s", diff)
		}
	})
}

func TestAnImageWithoutAShellMayHaveKill(t *testing.T) {
	t.Parallel()
	play(t, "signal=USR1", func(w *world) {
		w.exitWith = func(_ string, nth int) error {
			if nth == 0 {
				return errors.New("exec: no such file")
			}
			return nil
		}
		w.notice(nil)
		w.reconcile()
		want := []string{"a/main: /bin/sh -c kill -s USR1 1", "a/main: kill -s USR1 1", "b/main: /bin/sh -c kill -s USR1 1", "b/main: kill -s USR1 1"}
		if diff := cmp.Diff(want, w.commands()); diff != "" || len(w.warned) > 0 {
			t.Errorf("warned %v (-want +got):\n%s", w.warned, diff)
		}
	})
}

func TestACommandThatSucceedsHasSaved(t *testing.T) {
	t.Parallel()
	play(t, "exec=/save.sh now", func(w *world) {
		w.notice(nil)
		w.reconcile()
		if diff := cmp.Diff([]string{"a/main: /save.sh now", "b/main: /save.sh now"}, w.commands()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"2000-01-01T00:00:00Z", "2000-01-01T00:00:00Z"}, w.marks(v1alpha1.CheckpointedAtAnnotation)); diff != "" {
			t.Errorf("acknowledged (-want +got):\n%s", diff)
		}
	})
}

func TestWhatFailsIsTriedAgainAndToldOnce(t *testing.T) {
	t.Parallel()
	play(t, "exec=/save.sh", func(w *world) {
		w.exitWith = func(pod string, nth int) error {
			if pod == "a" && nth < 4 {
				return errors.New("exit code 3")
			}
			return nil
		}
		w.notice(nil)
		w.reconcile()
		time.Sleep(10 * time.Second) // 0.25 + 0.5 + 1 + 2
		synctest.Wait()
		if n := len(w.commands()); n != 6 {
			t.Errorf("%d commands were run, want 5 for a and 1 for b", n)
		}
		if len(w.warned) != 1 || !strings.Contains(w.warned[0], "a: the notice (Preempted) could not be delivered to pod a by exec") || !strings.Contains(w.warned[0], "exit code 3") {
			t.Errorf("told %q, want one Event that names the pod and the error", w.warned)
		}
		if got := w.marks(v1alpha1.CheckpointedAtAnnotation); got[0] == "" || got[1] == "" {
			t.Errorf("acknowledged %q", got)
		}
	})
}

func TestWhatNeverArrivesIsToldAtTheEnd(t *testing.T) {
	t.Parallel()
	play(t, "signal=USR1", func(w *world) {
		w.exitWith = func(string, int) error { return errors.New("forbidden") }
		w.notice(nil)
		w.reconcile()
		time.Sleep(grace + time.Second)
		synctest.Wait()
		before := len(w.commands())
		last := w.warned[len(w.warned)-1]
		if len(w.warned) != 4 || !strings.Contains(last, "did not reach pod") || !strings.Contains(last, "forbidden") {
			t.Errorf("told %q, want two Events a pod", w.warned)
		}
		time.Sleep(time.Hour)
		w.reconcile()
		if after := len(w.commands()); after != before {
			t.Errorf("%d tries after the grace was over", after-before)
		}
	})
}

func TestTheDeadPodIsLeftAlone(t *testing.T) {
	t.Parallel()
	play(t, "signal=USR1", func(w *world) {
		w.exitWith = func(string, int) error { return errors.New("container not running") }
		for _, name := range []string{"a", "b"} {
			p := pod(name)
			p.Status.Phase = corev1.PodSucceeded
			if err := w.client.Status().Update(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		w.notice(nil)
		w.reconcile()
		if len(w.commands()) != 0 || len(w.warned) != 0 {
			t.Errorf("ran %q, told %q", w.commands(), w.warned)
		}
	})
}

func TestAnswersToARequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status           int
		delivered, saved bool
	}{
		{http.StatusOK, true, true},
		{http.StatusNoContent, true, true},
		{http.StatusAccepted, true, false},
		{http.StatusFound, false, false},
		{http.StatusInternalServerError, false, false},
	} {
		play(t, "http=:8080/save?now=1", func(w *world) {
			w.status = test.status
			w.notice(nil)
			w.reconcile()
			if !strings.HasPrefix(w.posted[0], `http://10.0.0.1:8080/save?now=1 {"cause":"Preempted"`) {
				t.Errorf("posted %q", w.posted[0])
			}
			delivered, saved := w.marks(v1alpha1.NoticeDeliveredAnnotation)[0] != "", w.marks(v1alpha1.CheckpointedAtAnnotation)[0] != ""
			if delivered != test.delivered || saved != test.saved {
				t.Errorf("%d: delivered %v, saved %v", test.status, delivered, saved)
			}
		})
	}
}

func TestWhatIsStoppedGetsTheNoticeAndNoDelivery(t *testing.T) {
	t.Parallel()
	play(t, "signal=USR1", func(w *world) {
		w.notice(func(e *batch.Eviction) { e.Stopped = e.Time })
		w.reconcile()
		if got := w.marks(v1alpha1.NoticeAnnotation); got[0] == "" || got[1] == "" || len(w.commands()) > 0 {
			t.Errorf("notices %q, ran %q", got, w.commands())
		}
	})
}

func TestRequestsFollowNobody(t *testing.T) {
	t.Parallel()
	elsewhere := 0
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path == "/elsewhere" {
			elsewhere++
		}
		http.Redirect(out, in, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	status, err := NewPods().Post(t.Context(), server.URL, []byte("{}"))
	if err != nil || status != http.StatusTemporaryRedirect || elsewhere != 0 {
		t.Errorf("status %d, %v, %d requests elsewhere", status, err, elsewhere)
	}
}

func TestB52TheExitCodeOfAnInterruptedPodIsTold(t *testing.T) {
	t.Parallel()
	play(t, "", func(w *world) {
		w.notice(func(e *batch.Eviction) { e.Stopped = e.Time })
		for _, name := range []string{"a", "b"} { // b had failed before
			p := pod(name)
			p.Status.Phase = corev1.PodFailed
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: 77, Reason: "Error"},
			}}}
			if err := w.client.Status().Update(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		a := pod("a")
		if err := w.client.Patch(t.Context(), a, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["batch.kubernetes.io/job-tracking"]}}`))); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Delete(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			w.reconcile()
		}
		want := "train: pod a has ended after it was told to: container main exited with code 77 (Error); this counts neither as a failure nor as an end"
		if diff := cmp.Diff([]string{want}, w.warned); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}
