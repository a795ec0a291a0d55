package node

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/controller/queued"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/metrics"
)

// now is when each test looks.
func now() time.Time { return time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC) }

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now().Add(-d)) }

// scene is a node, a Job, its pod on the node, and perhaps a policy.
type scene struct {
	node   *corev1.Node
	job    *batchv1.Job
	pod    *corev1.Pod
	policy *v1alpha1.SchedulingPolicy
}

// stranded is a scene in which the pod is to leave its Job.
func stranded() *scene {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "train", UID: "u-1", Labels: map[string]string{v1alpha1.QueueLabel: "gpu"}},
		Spec:       batchv1.JobSpec{Suspend: new(true)},
	}
	return &scene{
		node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: ago(2 * time.Minute)},
		}}},
		job: job,
		pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "lab", Name: "train-0", UID: "p-1", DeletionTimestamp: new(ago(time.Second)), Finalizers: []string{"test/kept"},
				Annotations: map[string]string{v1alpha1.RestartCountAnnotation: "1"},
				Labels: map[string]string{
					v1alpha1.WorkloadLabel: convert.WorkloadName(convert.KindJob, "train", "u-1"), batchv1.ControllerUidLabel: "u-1", "mine": "stays",
				},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
			},
			Spec: corev1.PodSpec{NodeName: "n1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
		},
	}
}

func TestWhatIsLeftOnALostNodeLeavesItsJob(t *testing.T) {
	t.Parallel()
	measures := metrics.New()
	for _, c := range []struct {
		name   string
		change func(*scene)
		leaves bool
		again  time.Duration
	}{
		{"its grace is over on a lost node", func(*scene) {}, true, 0},
		{"its Job is being deleted and runs", func(s *scene) {
			s.job.Spec.Suspend = new(false)
			s.job.DeletionTimestamp, s.job.Finalizers = new(ago(time.Minute)), []string{"foregroundDeletion"}
		}, true, 0},
		{"its Job runs: it is suspended first", func(s *scene) {
			s.job.Spec.Suspend, s.job.Annotations = new(false), map[string]string{v1alpha1.RestoreAnnotation: `{"run":1}`}
		}, false, again},
		{"its Job runs again, without it", func(s *scene) {
			s.job.Spec.Suspend, s.job.Annotations = new(false), map[string]string{v1alpha1.RestoreAnnotation: `{"run":2}`}
		}, true, 0},
		{"the node is ready", func(s *scene) { s.node.Status.Conditions[0].Status = corev1.ConditionTrue }, false, 0},
		{"the node may come back", func(s *scene) { s.node.Status.Conditions[0].LastTransitionTime = ago(50 * time.Second) }, false, 10 * time.Second},
		{"the policy gives it more time", func(s *scene) {
			s.policy = &v1alpha1.SchedulingPolicy{
				ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SchedulingPolicyName},
				Spec:       v1alpha1.SchedulingPolicySpec{NodeFailure: &v1alpha1.NodeFailurePolicy{Timeout: "5m"}},
			}
		}, false, 3 * time.Minute},
		{"it is in its grace", func(s *scene) { s.pod.DeletionTimestamp = new(ago(-20 * time.Second)) }, false, 20 * time.Second},
		{"nobody has told it to end", func(s *scene) { s.pod.DeletionTimestamp, s.pod.Finalizers = nil, nil }, false, 0},
		{"it has ended", func(s *scene) { s.pod.Status.Phase = corev1.PodFailed }, false, 0},
		{"it is nobody's of ours", func(s *scene) { delete(s.pod.Labels, v1alpha1.WorkloadLabel) }, false, 0},
		{"its Job is gone", func(s *scene) { s.job.Name = "another" }, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := stranded()
			c.change(s)
			left, again, told := s.look(t, measures)
			if left != c.leaves || again != c.again || (told != "") != c.leaves {
				t.Errorf("left %t, looks again after %s, told %q; want %t, %s", left, again, told, c.leaves, c.again)
			}
		})
	}
}

// look reconciles the node, and says whether the pod has left its Job, whole and
// with all that is not ours.
func (s *scene) look(t *testing.T, measures *metrics.Set) (left bool, again time.Duration, told string) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	objects := []client.Object{s.node, s.job, s.pod}
	if s.policy != nil {
		objects = append(objects, s.policy)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithIndex(&corev1.Pod{}, queued.PodsByNode, queued.IndexByNode).Build()
	recorder := events.NewFakeRecorder(10)
	r := &Reconciler{Client: c, Reader: c, Clock: clocktesting.NewFakePassiveClock(now()), Metrics: measures, Recorder: recorder}
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "n1"}})
	if err != nil {
		t.Fatal(err)
	}
	is := &corev1.Pod{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.pod), is); err != nil {
		t.Fatal(err)
	}
	left = metav1.GetControllerOf(is) == nil
	if ours := strings.Contains(strings.Join(keys(is.Labels), " "), "controller-uid") || is.Labels[v1alpha1.WorkloadLabel] != ""; left && ours || is.Labels["mine"] != "stays" {
		t.Errorf("its labels are %v", is.Labels)
	}
	job := &batchv1.Job{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.job), job); err != nil {
		t.Fatal(err)
	}
	if woken := job.Annotations[v1alpha1.LeftBehindAnnotation] == "train-0"; woken != left {
		t.Errorf("the Job controller is made to look: %t; it has left: %t", woken, left)
	}
	select {
	case told = <-recorder.Events:
	default:
	}
	return left, result.RequeueAfter, told
}

func keys(labels map[string]string) (all []string) {
	for key := range labels { //order:any looked through
		all = append(all, key)
	}
	return all
}
