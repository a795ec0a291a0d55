package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/config"
	"github.com/berth-dev/berth/pkg/convert"
)

var morning = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// takenBack is a job that waits again, after one run.
func takenBack() *v1alpha1.QueuedWorkload {
	told, gone := metav1.NewTime(morning.Add(-time.Hour)), metav1.NewTime(morning.Add(-58*time.Minute))
	planned := metav1.NewTime(morning.Add(30 * time.Minute))
	return &v1alpha1.QueuedWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "lab", Name: convert.WorkloadName("Job", "train", "u"),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "u", Controller: new(true)}},
		},
		Spec: v1alpha1.QueuedWorkloadSpec{QueueName: "gpu", PodSets: []v1alpha1.PodSet{{Name: "main", Count: new(int32(1))}}},
		Status: v1alpha1.QueuedWorkloadStatus{
			Conditions:       []metav1.Condition{{Type: v1alpha1.ConditionPending, Status: metav1.ConditionTrue, Reason: "Resources", Message: "0 of 8 free"}},
			PlannedStartTime: &planned, Restarts: new(int32(1)),
			Runs: []v1alpha1.WorkloadRun{{
				Start: metav1.NewTime(morning.Add(-2 * time.Hour)), End: gone, State: "Requeued", Notice: &told, Cause: "Preempted", By: "team/urgent",
			}},
		},
	}
}

// asks explains train to somebody who may list, in the whole cluster, what is
// granted.
func asks(t *testing.T, granted func(schema.GroupResource) bool) (string, error) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "train", UID: "u", Labels: map[string]string{v1alpha1.QueueLabel: "gpu"}},
		Spec:       batchv1.JobSpec{Suspend: new(true)},
	}
	objects := []client.Object{
		job, takenBack(),
		&v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "all"}},
		&v1alpha1.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "gpu"}, Spec: v1alpha1.LocalQueueSpec{ClusterQueueNames: []string{"all"}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"pods": resource.MustParse("9")}, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		}},
	}
	list := func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		kind, err := apiutil.GVKForObject(list, scheme)
		if err != nil {
			return err
		}
		kind.Kind = strings.TrimSuffix(kind.Kind, "List")
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		var of client.ListOptions
		of.ApplyOptions(options)
		if of.Namespace == "" && !granted(plural.GroupResource()) {
			return apierrors.NewForbidden(plural.GroupResource(), "", nil)
		}
		return c.List(ctx, list, options...)
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{List: list}).Build()
	var out bytes.Buffer
	err := explainJob(t.Context(), explainInput{
		reader: reader, clock: clocktesting.NewFakePassiveClock(morning), namespace: "lab", name: "train", out: &out,
	})
	return out.String(), err
}

// TestWhoMayNotListReadsWhatBerthWrote, and which rights are missing.
func TestWhoMayNotListReadsWhatBerthWrote(t *testing.T) {
	t.Parallel()
	out, err := asks(t, func(r schema.GroupResource) bool { return r.Resource != "nodes" && r.Resource != "pods" })
	if err == nil || !strings.HasPrefix(err.Error(), "you may not list, in the whole cluster: nodes, pods\n") || !strings.Contains(err.Error(), "--clusterrole=berth-explainer") {
		t.Errorf("error %v", err)
	}
	want := `lab/train waits in lab/gpu
Resources: 0 of 8 free
Its planned start is in 30m.

It was taken back before:
  run 1, from 2026-03-02T06:00:00Z to 2026-03-02T07:02:00Z: preempted by team/urgent (it was told at 2026-03-02T07:00:00Z)
`
	if out != want {
		t.Errorf("said\n%s\nwant\n%s", out, want)
	}
}

// TestTheRoleIsEnoughToExplain: nothing is missing that explain asks for.
func TestTheRoleIsEnoughToExplain(t *testing.T) {
	t.Parallel()
	objects, err := config.Objects()
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	for _, object := range objects {
		if object.GetKind() == "ClusterRole" && object.GetName() == explainerRole {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
				t.Fatal(err)
			}
		}
	}
	used := map[schema.GroupResource]bool{}
	out, err := asks(t, func(r schema.GroupResource) bool {
		used[r] = true
		return slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.APIGroups, r.Group) && slices.Contains(rule.Resources, r.Resource) && slices.Contains(rule.Verbs, "list")
		})
	})
	// There is room; what was written stands beside it.
	want := `lab/train waits in lab/gpu
It can start now: the next plan starts it.
If it does not, this is why: Berth last said Resources: 0 of 8 free
`
	if err != nil || !strings.HasPrefix(out, want) {
		t.Errorf("%v, said\n%s\nwant\n%s", err, out, want)
	}
	for _, rule := range role.Rules {
		for _, plural := range rule.Resources {
			if !used[schema.GroupResource{Group: rule.APIGroups[0], Resource: plural}] {
				t.Errorf("%s is granted, and nothing asks for it", plural)
			}
		}
	}
}
