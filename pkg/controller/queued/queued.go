// Package queued is what the controllers of all kinds of jobs share: making
// and updating the QueuedWorkload of an object, and reading what the API
// server will add to its pods.
package queued

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/framework"
	"github.com/berth-dev/berth/pkg/metrics"
)

// Find is the QueuedWorkload of a name; nil if there is none.
func Find(ctx context.Context, reader client.Reader, key types.NamespacedName) (*v1alpha1.QueuedWorkload, error) {
	workload := &v1alpha1.QueuedWorkload{}
	err := reader.Get(ctx, key, workload)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read QueuedWorkload %s: %w", key, err)
	}
	return workload, nil
}

// Create makes the QueuedWorkload of an owner. Its name follows from the
// owner's UID: made twice, it is the same one.
func Create(ctx context.Context, c client.Client, m *metrics.Set, kind framework.Kind, owner client.Object, spec v1alpha1.QueuedWorkloadSpec) (*v1alpha1.QueuedWorkload, error) {
	gvk, err := apiutil.GVKForObject(owner, c.Scheme())
	if err != nil {
		return nil, fmt.Errorf("kind of %s %s/%s: %w", kind.Name(), owner.GetNamespace(), owner.GetName(), err)
	}
	workload := &v1alpha1.QueuedWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       owner.GetNamespace(),
			Name:            convert.WorkloadName(kind.Name(), owner.GetName(), owner.GetUID()),
			Annotations:     framework.Record(owner),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)},
		},
		Spec: spec,
	}
	err = c.Create(ctx, workload)
	if apierrors.IsAlreadyExists(err) {
		return nil, nil // made a moment ago; its informer event comes back here
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil, nil // its owner goes with the namespace
	}
	if err != nil {
		m.Wrote("queuedworkload", metrics.ResultFailed)
		return nil, fmt.Errorf("create the workload of %s %s/%s: %w", kind.Name(), owner.GetNamespace(), owner.GetName(), err)
	}
	m.Wrote("queuedworkload", metrics.ResultOK)
	return workload, nil
}

// Gone says whether a write came too late: its object is gone, or another has
// its name. There is nothing left to do.
func Gone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// Refused says whether the API server will give the same answer again: an
// admission plugin or its validation said no. Of several errors joined, the
// first answer of the server counts.
func Refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// Same says whether two specs ask for the same.
func Same(a, b v1alpha1.QueuedWorkloadSpec) bool { return equality.Semantic.DeepEqual(a, b) }

// Update brings the spec of a waiting QueuedWorkload up to date.
func Update(ctx context.Context, c client.Client, m *metrics.Set, workload *v1alpha1.QueuedWorkload, spec v1alpha1.QueuedWorkloadSpec) (*v1alpha1.QueuedWorkload, error) {
	after := workload.DeepCopy()
	after.Spec = spec
	// Conditional on the version: it must not have been started meanwhile.
	err := c.Update(ctx, after)
	if apierrors.IsConflict(err) {
		return nil, nil // its newer version's event comes back to the caller
	}
	if err != nil {
		m.Wrote("queuedworkload", metrics.ResultFailed)
		return nil, fmt.Errorf("update QueuedWorkload %s/%s: %w", workload.Namespace, workload.Name, err)
	}
	m.Wrote("queuedworkload", metrics.ResultOK)
	return after, nil
}

// Defaults is what the API server will add to pods of a namespace.
func Defaults(ctx context.Context, reader client.Reader, namespace string) (convert.PodDefaults, error) {
	out := convert.PodDefaults{Overhead: map[string]corev1.ResourceList{}, PriorityClasses: map[string]int32{}}
	runtimes := &nodev1.RuntimeClassList{}
	if err := reader.List(ctx, runtimes); err != nil {
		return out, fmt.Errorf("list RuntimeClasses: %w", err)
	}
	for _, class := range runtimes.Items {
		if class.Overhead != nil {
			out.Overhead[class.Name] = class.Overhead.PodFixed
		}
	}
	classes := &schedulingv1.PriorityClassList{}
	if err := reader.List(ctx, classes); err != nil {
		return out, fmt.Errorf("list PriorityClasses: %w", err)
	}
	for _, class := range classes.Items {
		out.PriorityClasses[class.Name] = class.Value
		if class.GlobalDefault {
			out.DefaultPriorityClass = class.Name
		}
	}
	limits := &corev1.LimitRangeList{}
	if err := reader.List(ctx, limits, client.InNamespace(namespace)); err != nil {
		return out, fmt.Errorf("list LimitRanges of %s: %w", namespace, err)
	}
	out.LimitRanges = limits.Items
	return out, nil
}

// FlavorTolerations are the tolerations that pods of a flavor get.
func FlavorTolerations(ctx context.Context, reader client.Reader, flavor string) ([]corev1.Toleration, error) {
	if flavor == "" {
		return nil, nil
	}
	object := &v1alpha1.ResourceFlavor{}
	err := reader.Get(ctx, types.NamespacedName{Name: flavor}, object)
	if apierrors.IsNotFound(err) {
		return nil, nil // deleted since; the nodes that were chosen are still good
	}
	if err != nil {
		return nil, fmt.Errorf("read ResourceFlavor %s: %w", flavor, err)
	}
	return object.Spec.Tolerations, nil
}

// Overrun is how long work of a ClusterQueue may go on past its deadline.
func Overrun(ctx context.Context, reader client.Reader, queue string) (time.Duration, error) {
	object := &v1alpha1.ClusterQueue{}
	err := reader.Get(ctx, types.NamespacedName{Name: queue}, object)
	if apierrors.IsNotFound(err) {
		return 0, nil // deleted since; what it had promised ends at the deadline
	}
	if err != nil {
		return 0, fmt.Errorf("read ClusterQueue %s: %w", queue, err)
	}
	converted, err := convert.Queue(object)
	return converted.Overrun, err
}
