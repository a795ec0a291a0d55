package sandbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	berth "github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

const namespace = metav1.NamespaceDefault

type annotations map[string]string

// pod is a pod with the given behaviour.
func pod(name string, a annotations) *corev1.Pod {
	grace := int64(2)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: a},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: &grace,
			InitContainers:                []corev1.Container{{Name: "init", Image: "none"}},
			Containers:                    []corev1.Container{{Name: "main", Image: "none"}},
		},
	}
}

// job is an indexed Job of such pods.
func job(name string, pods int32, a annotations) *batchv1.Job {
	mode, none, failed := batchv1.IndexedCompletion, int32(0), batchv1.Failed
	p := pod("", a)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Completions: &pods, Parallelism: &pods, CompletionMode: &mode, BackoffLimit: &none, PodReplacementPolicy: &failed,
			Template: corev1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec},
		},
	}
}

// moment is one state in a pod's life, as a watcher sees it.
type moment struct {
	Event  watch.EventType
	Phase  corev1.PodPhase
	Ready  bool
	Exit   int32 // -1: not exited
	Reason string
	at     time.Time // when it was seen
	since  time.Time // when the simulated kubelet started the pod
}

// life watches a pod until it is gone, or terminal if it is not to be deleted,
// and returns its states without repetitions.
func life(ctx context.Context, t *testing.T, client kubernetes.Interface, name string) []moment {
	t.Helper()
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	w, err := client.CoreV1().Pods(namespace).Watch(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var seen []moment
	for event := range w.ResultChan() {
		p, ok := event.Object.(*corev1.Pod)
		if !ok {
			t.Fatalf("watch: %v", event.Object)
		}
		m := momentOf(event.Type, p)
		if len(seen) == 0 || !cmp.Equal(seen[len(seen)-1], m, cmp.AllowUnexported(moment{}), ignoreTimes) {
			seen = append(seen, m)
		}
		terminal := m.Phase == corev1.PodSucceeded || m.Phase == corev1.PodFailed
		if event.Type == watch.Deleted || terminal && p.DeletionTimestamp == nil {
			return seen
		}
	}
	t.Fatalf("pod %s: the watch ended after %+v", name, seen)
	return nil
}

var ignoreTimes = cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "at" || p.String() == "since" }, cmp.Ignore())

func momentOf(event watch.EventType, p *corev1.Pod) moment {
	m := moment{Event: event, Phase: p.Status.Phase, Exit: -1, Reason: p.Status.Reason, at: time.Now()}
	if text := p.Annotations["sandbox.berth.dev/started-at"]; text != "" {
		m.since, _ = time.Parse(time.RFC3339Nano, text) // zero is told by the caller's bounds
	}
	if event == watch.Added {
		m.Event = watch.Modified // the difference is the watcher's alone
	}
	for _, c := range p.Status.Conditions {
		m.Ready = m.Ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil {
			m.Exit = c.State.Terminated.ExitCode
		}
	}
	return m
}

const (
	modified = watch.Modified
	deleted  = watch.Deleted
)

// podCase is a pod, what is done to it, and how its life must look.
type podCase struct {
	name        string
	annotations annotations
	deadline    int64 // activeDeadlineSeconds, 0: none
	grace       int64 // 0: 2 s
	delete      bool  // once it runs
	forceAfter  time.Duration
	want        []moment // from when it runs
	least, most time.Duration
}

func podCases() []podCase {
	running := moment{Event: modified, Phase: corev1.PodRunning, Ready: true, Exit: -1}
	unready := moment{Event: modified, Phase: corev1.PodRunning, Exit: -1}
	ended := func(phase corev1.PodPhase, code int32) moment {
		return moment{Event: modified, Phase: phase, Exit: code}
	}
	gone := func(phase corev1.PodPhase, code int32) moment {
		return moment{Event: deleted, Phase: phase, Exit: code}
	}
	overdue := ended(corev1.PodFailed, 137)
	overdue.Reason = "DeadlineExceeded"
	// late is more than a busy machine needs for what takes 8 s at most, and
	// less than the grace of 30 s, or the hour, that none of them may take.
	const second, late = time.Second, 25 * time.Second
	return []podCase{
		{
			name: "runs-and-succeeds", annotations: annotations{simulate.RuntimeAnnotation: "1500ms"},
			want: []moment{running, ended(corev1.PodSucceeded, 0)}, least: 1500 * time.Millisecond, most: late,
		},
		{
			name: "runs-and-fails", annotations: annotations{simulate.RuntimeAnnotation: "1s", simulate.ExitCodeAnnotation: "3"},
			want: []moment{running, ended(corev1.PodFailed, 3)}, least: second, most: late,
		},
		{
			name: "becomes-ready-later", annotations: annotations{simulate.RuntimeAnnotation: "0h0m8s", simulate.ReadyAfterAnnotation: "1s"},
			want: []moment{unready, running, ended(corev1.PodSucceeded, 0)}, least: 8 * second, most: late,
		},
		{
			name: "ends-before-it-is-ready", annotations: annotations{simulate.RuntimeAnnotation: "1s", simulate.ReadyAfterAnnotation: "1d"},
			want: []moment{unready, ended(corev1.PodSucceeded, 0)}, least: second, most: late,
		},
		{
			name: "meets-its-deadline", annotations: annotations{simulate.RuntimeAnnotation: "1h"}, deadline: 1,
			want: []moment{running, overdue}, least: second, most: late,
		},
		{
			name: "ends-before-its-deadline", annotations: annotations{simulate.RuntimeAnnotation: "1s"}, deadline: 100,
			want: []moment{running, ended(corev1.PodSucceeded, 0)}, least: second, most: late,
		},
		{
			name: "is-killed-at-the-end-of-its-grace", delete: true,
			want: []moment{running, ended(corev1.PodFailed, 137), gone(corev1.PodFailed, 137)}, least: 2 * second, most: late,
		},
		{
			name: "exits-cleanly-on-the-signal", delete: true, grace: 30,
			annotations: annotations{simulate.ExitsAfterAnnotation: "500ms", simulate.ExitCodeAnnotation: "0"},
			want:        []moment{running, ended(corev1.PodSucceeded, 0), gone(corev1.PodSucceeded, 0)}, least: second / 2, most: late,
		},
		{
			name: "dies-of-the-signal", delete: true, grace: 30, annotations: annotations{simulate.ExitsAfterAnnotation: "100ms"},
			want: []moment{running, ended(corev1.PodFailed, 143), gone(corev1.PodFailed, 143)}, least: second / 10, most: late,
		},
		{
			name: "saves-for-longer-than-its-grace", delete: true, annotations: annotations{simulate.ExitsAfterAnnotation: "1h", simulate.ExitCodeAnnotation: "0"},
			want: []moment{running, ended(corev1.PodFailed, 137), gone(corev1.PodFailed, 137)}, least: 2 * second, most: late,
		},
		{
			name: "ends-by-itself-in-its-grace", delete: true, grace: 30, annotations: annotations{simulate.RuntimeAnnotation: "8s"},
			want: []moment{running, ended(corev1.PodSucceeded, 0), gone(corev1.PodSucceeded, 0)}, least: second / 10, most: late,
		},
		{
			name: "is-forced", delete: true, grace: 30, forceAfter: 300 * time.Millisecond,
			want: []moment{running, {Event: deleted, Phase: corev1.PodRunning, Ready: true, Exit: -1}}, most: late,
		},
	}
}

func TestPodsLiveAsTheirAnnotationsSay(t *testing.T) {
	s := up(t, sandbox.Options{Berth: sandbox.WithoutController})
	client := kubernetes.NewForConfigOrDie(s.RESTConfig())
	t.Run("pods", func(t *testing.T) {
		for _, c := range podCases() {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				playPod(t, client, c)
			})
		}
	})
	t.Run("an annotation that is no duration fails the pod", func(t *testing.T) {
		ctx := within(t, 3*time.Minute)
		create(ctx, t, client, pod("wrong", annotations{simulate.RuntimeAnnotation: "soon"}))
		seen := life(ctx, t, client, "wrong")
		if last := seen[len(seen)-1]; last.Phase != corev1.PodFailed || last.Reason != "InvalidSandboxAnnotation" {
			t.Errorf("ended as %+v", last)
		}
	})
	t.Run("a Job with the queue label is suspended from the start", func(t *testing.T) {
		ctx := within(t, 3*time.Minute)
		queued := job("queued", 1, nil)
		queued.Labels = map[string]string{berth.QueueLabel: "default"}
		queued, err := client.BatchV1().Jobs(namespace).Create(ctx, queued, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if queued.Spec.Suspend == nil || !*queued.Spec.Suspend {
			t.Error("it is not suspended")
		}
	})
	t.Run("a Job completes", func(t *testing.T) { playJob(t, client) })
	t.Run("a Job's deleted pod is replaced when it is gone", func(t *testing.T) { playReplacement(t, client) })
	t.Run("a suspended Job's pods have their grace", func(t *testing.T) { playSuspension(t, client) })
	t.Run("a node group is added later", func(t *testing.T) { addNodes(t, s, client) })
}

func create(ctx context.Context, t *testing.T, client kubernetes.Interface, p *corev1.Pod) {
	t.Helper()
	if _, err := client.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func playPod(t *testing.T, client kubernetes.Interface, c podCase) {
	ctx := within(t, 3*time.Minute)
	p := pod(c.name, c.annotations)
	if c.grace > 0 {
		p.Spec.TerminationGracePeriodSeconds = &c.grace
	}
	if c.deadline > 0 {
		p.Spec.ActiveDeadlineSeconds = &c.deadline
	}
	create(ctx, t, client, p)
	begin := make(chan time.Time, 1)
	go func() {
		defer close(begin)
		awaitRunning(ctx, client, c.name)
		if c.delete {
			begin <- time.Now()
			_ = client.CoreV1().Pods(namespace).Delete(ctx, c.name, metav1.DeleteOptions{})
		}
		if c.forceAfter > 0 {
			<-time.After(c.forceAfter)
			_ = client.CoreV1().Pods(namespace).Delete(ctx, c.name, *metav1.NewDeleteOptions(0))
		}
	}()
	all := life(ctx, t, client, c.name)
	seen := all
	for len(seen) > 0 && seen[0].Phase == corev1.PodPending {
		seen = seen[1:]
	}
	if diff := cmp.Diff(c.want, seen, cmp.AllowUnexported(moment{}), ignoreTimes); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	from, deleted := <-begin
	if !deleted {
		from = seen[0].since // a watcher may see it late
	}
	end := seen[1].at
	if len(c.want) > 2 && !c.delete {
		end = seen[2].at
	}
	if took := end.Sub(from); took < c.least || took > c.most {
		t.Errorf("took %v, want %v to %v", took, c.least, c.most)
	}
}

func awaitRunning(ctx context.Context, client kubernetes.Interface, name string) {
	for ctx.Err() == nil {
		p, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && p.Status.Phase != corev1.PodPending {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

// until asks every 20 ms.
func until(ctx context.Context, t *testing.T, what string, ask func() bool) {
	t.Helper()
	for !ask() {
		select {
		case <-ctx.Done():
			t.Fatalf("not in time: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func podsOf(ctx context.Context, t *testing.T, client kubernetes.Interface, name string) []corev1.Pod {
	t.Helper()
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + name})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func getJob(ctx context.Context, t *testing.T, client kubernetes.Interface, name string) *batchv1.Job {
	t.Helper()
	j, err := client.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func playJob(t *testing.T, client kubernetes.Interface) {
	ctx := within(t, 3*time.Minute)
	j := job("completes", 32, annotations{simulate.RuntimeAnnotation: "1s"})
	if _, err := client.BatchV1().Jobs(namespace).Create(ctx, j, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "32 of 32 pods succeed and the Job completes", func() bool {
		j := getJob(ctx, t, client, "completes")
		return j.Status.Succeeded == 32 && j.Status.CompletionTime != nil
	})
}

func playReplacement(t *testing.T, client kubernetes.Interface) {
	ctx := within(t, 3*time.Minute)
	j := job("replaces", 1, nil)
	limit := int32(6)
	j.Spec.BackoffLimit = &limit
	if _, err := client.BatchV1().Jobs(namespace).Create(ctx, j, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	running := func() bool {
		pods := podsOf(ctx, t, client, "replaces")
		return len(pods) == 1 && pods[0].Status.Phase == corev1.PodRunning && pods[0].DeletionTimestamp == nil
	}
	until(ctx, t, "the first pod runs", running)
	first := podsOf(ctx, t, client, "replaces")[0]
	// Forced: the finalizer keeps the object until the Job has counted it, and
	// for that it must become terminal.
	if err := client.CoreV1().Pods(namespace).Delete(ctx, first.Name, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the forced pod is gone", func() bool {
		_, err := client.CoreV1().Pods(namespace).Get(ctx, first.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	until(ctx, t, "a second pod runs", running) // after the Job's back-off, 10 s
}

func playSuspension(t *testing.T, client kubernetes.Interface) {
	ctx := within(t, 3*time.Minute)
	const name = "suspends"
	if _, err := client.BatchV1().Jobs(namespace).Create(ctx, job(name, 4, nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "4 pods are ready", func() bool {
		j := getJob(ctx, t, client, name)
		return j.Status.Ready != nil && *j.Status.Ready == 4
	})
	setSuspend := func(value bool) {
		j := getJob(ctx, t, client, name)
		j.Spec.Suspend = &value
		if _, err := client.BatchV1().Jobs(namespace).Update(ctx, j, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	setSuspend(true)
	begin := time.Now()
	until(ctx, t, "the pods are gone", func() bool { return len(podsOf(ctx, t, client, name)) == 0 })
	if took := time.Since(begin); took < 1900*time.Millisecond || took > 25*time.Second {
		t.Errorf("the pods were gone after %v, want their grace of 2 s", took)
	}
	setSuspend(false)
	until(ctx, t, "4 new pods are ready", func() bool {
		j := getJob(ctx, t, client, name)
		return j.Status.Ready != nil && *j.Status.Ready == 4
	})
}

func addNodes(t *testing.T, s *sandbox.Sandbox, client kubernetes.Interface) {
	ctx := within(t, 3*time.Minute)
	group := sandbox.NodeGroup{Prefix: "late", Count: 2, Racks: 1, Blocks: 1, Resources: map[string]simulate.Amount{simulate.GPUResource: "4"}}
	if err := s.AddNodes(ctx, group); err != nil {
		t.Fatal(err)
	}
	node, err := client.CoreV1().Nodes().Get(ctx, "late-01", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{node.Labels[simulate.RackLabel], node.Labels[simulate.BlockLabel]}
	if diff := cmp.Diff([]string{"rack-4", "block-2"}, got); diff != "" {
		t.Errorf("place (-want +got)\n%s", diff)
	}
}
