package live

import (
	"context"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// Lists hands on all that exists now, once, as the events that an Intake would
// make of it: for those who ask what the controller would plan, and watch
// nothing. The error names the kind that could not be listed; of kinds that may
// not be, all of them (MayNotListError).
func Lists(ctx context.Context, reader client.Reader, wall clock.PassiveClock, observe func(batch.Event)) error {
	i := NewIntake(nil, wall, observe)
	observe(batch.PolicyObserved{Policy: batch.DefaultPolicy()})
	var forbidden []string
	for _, one := range []struct {
		kind string
		list func() error
	}{
		{"namespaces", func() error {
			return each(ctx, reader, &corev1.NamespaceList{}, func(l *corev1.NamespaceList) []corev1.Namespace { return l.Items }, i.namespace)
		}},
		{"nodes", func() error {
			return each(ctx, reader, &corev1.NodeList{}, func(l *corev1.NodeList) []corev1.Node { return l.Items }, i.node)
		}},
		{"pods", func() error {
			return each(ctx, reader, &corev1.PodList{}, func(l *corev1.PodList) []corev1.Pod { return l.Items }, i.pod)
		}},
		{"schedulingpolicies", func() error {
			return each(ctx, reader, &v1alpha1.SchedulingPolicyList{}, func(l *v1alpha1.SchedulingPolicyList) []v1alpha1.SchedulingPolicy { return l.Items }, i.policy(ctx))
		}},
		{"topologies", func() error {
			return each(ctx, reader, &v1alpha1.TopologyList{}, func(l *v1alpha1.TopologyList) []v1alpha1.Topology { return l.Items }, i.topology)
		}},
		{"resourceflavors", func() error {
			return each(ctx, reader, &v1alpha1.ResourceFlavorList{}, func(l *v1alpha1.ResourceFlavorList) []v1alpha1.ResourceFlavor { return l.Items }, i.flavor)
		}},
		{"cohorts", func() error {
			return each(ctx, reader, &v1alpha1.CohortList{}, func(l *v1alpha1.CohortList) []v1alpha1.Cohort { return l.Items }, i.cohort)
		}},
		{"accounts", func() error {
			return each(ctx, reader, &v1alpha1.AccountList{}, func(l *v1alpha1.AccountList) []v1alpha1.Account { return l.Items }, i.account)
		}},
		{"clusterqueues", func() error {
			return each(ctx, reader, &v1alpha1.ClusterQueueList{}, func(l *v1alpha1.ClusterQueueList) []v1alpha1.ClusterQueue { return l.Items }, i.queue(ctx))
		}},
		{"localqueues", func() error {
			return each(ctx, reader, &v1alpha1.LocalQueueList{}, func(l *v1alpha1.LocalQueueList) []v1alpha1.LocalQueue { return l.Items }, i.localQueue)
		}},
		{"jobs", func() error {
			return each(ctx, reader, &batchv1.JobList{}, func(l *batchv1.JobList) []batchv1.Job { return l.Items }, i.job)
		}},
		{"queuedworkloads", func() error {
			return each(ctx, reader, &v1alpha1.QueuedWorkloadList{}, func(l *v1alpha1.QueuedWorkloadList) []v1alpha1.QueuedWorkload { return l.Items }, i.workload)
		}},
	} {
		err := one.list()
		switch {
		case apierrors.IsForbidden(err):
			forbidden = append(forbidden, one.kind)
		case err != nil:
			return fmt.Errorf("list %s: %w", one.kind, err)
		}
	}
	i.missNodes()
	if len(forbidden) > 0 {
		return &MayNotListError{Kinds: forbidden}
	}
	return nil
}

// MayNotListError says which kinds somebody may not list in all namespaces.
type MayNotListError struct{ Kinds []string }

// Error implements error.
func (e *MayNotListError) Error() string {
	return "you may not list, in the whole cluster: " + strings.Join(e.Kinds, ", ")
}

func each[L client.ObjectList, T any](ctx context.Context, reader client.Reader, list L, items func(L) []T, take func(*T)) error {
	if err := reader.List(ctx, list); err != nil {
		return err
	}
	all := items(list)
	for k := range all {
		take(&all[k])
	}
	return nil
}
