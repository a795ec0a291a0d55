package framework

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// Pod is a pod that is a workload of its own: one without an owner, or a member
// of an array. It waits behind our scheduling gate; once that is gone it cannot
// be stopped and started again.
type Pod struct{}

var _ Kind = Pod{}

// Name implements Kind.
func (Pod) Name() string { return convert.KindPod }

// QueueName implements Kind.
func (Pod) QueueName(object client.Object) string {
	if pod := object.(*corev1.Pod); convert.OwnWorkload(pod) {
		return pod.Labels[v1alpha1.QueueLabel]
	}
	return ""
}

// Spec implements Kind.
func (Pod) Spec(object client.Object, defaults convert.PodDefaults) v1alpha1.QueuedWorkloadSpec {
	pod := object.(*corev1.Pod)
	class, rank := pod.Spec.PriorityClassName, pod.Spec.Priority
	if class == "" {
		rank = nil
	}
	seconds := pod.Spec.ActiveDeadlineSeconds
	if !convert.Gated(pod) {
		seconds = nil // ours stands there now; what was asked for is on record
	}
	spec := v1alpha1.QueuedWorkloadSpec{
		QueueName:         pod.Labels[v1alpha1.QueueLabel],
		PodSets:           []v1alpha1.PodSet{podSet(1, pod.Labels, &pod.Spec, defaults)},
		Walltime:          walltime(pod.Annotations[v1alpha1.WalltimeAnnotation], seconds),
		Priority:          rank,
		PriorityClassName: class,
		Submitter:         pod.Annotations[v1alpha1.SubmitterAnnotation],
	}
	wishes(&spec, pod)
	return spec
}

// Owner implements Kind.
func (Pod) Owner(object client.Object) batch.Owner {
	pod := object.(*corev1.Pod)
	gated := convert.Gated(pod)
	return batch.Owner{Suspended: gated, Started: !gated, Fixed: !gated, End: podEnd(pod), Cancel: cancel(pod), Termination: terminationOf(&pod.Spec)}
}

// podEnd is how a bare pod ended. One that is deleted has ended when that was
// asked for: what its processes still hold is charged until they are gone.
func podEnd(pod *corev1.Pod) *batch.End {
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return &batch.End{State: batch.Completed, Time: terminatedAt(pod).UTC()}
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "DeadlineExceeded":
		return &batch.End{State: batch.Timeout, Time: terminatedAt(pod).UTC(), Message: pod.Status.Message}
	case pod.Status.Phase == corev1.PodFailed:
		return &batch.End{State: batch.Failed, Time: terminatedAt(pod).UTC(), Message: convert.ExitText(pod)}
	case pod.DeletionTimestamp != nil:
		return &batch.End{State: batch.Cancelled, Time: deletedAt(pod), Message: "the Pod was deleted"}
	}
	return nil
}

// deletedAt is when a pod's deletion was asked for: what the API server notes is
// the end of its grace, which lies ahead.
func deletedAt(pod *corev1.Pod) time.Time {
	at := pod.DeletionTimestamp.UTC()
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		at = at.Add(-time.Duration(*grace) * time.Second)
	}
	return at
}

// terminatedAt is when the last container of a pod ended, as far as it is known.
func terminatedAt(pod *corev1.Pod) metav1.Time {
	last := pod.CreationTimestamp
	for _, container := range pod.Status.ContainerStatuses {
		if t := container.State.Terminated; t != nil && last.Before(&t.FinishedAt) {
			last = t.FinishedAt
		}
	}
	return last
}
