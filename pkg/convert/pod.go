package convert

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// Annotations that a pod gets with its release: the rank whose place it was
// given, and the flavor it is charged to besides its ClusterQueue. What a pod
// holds outlives its Job, so the pod itself has to say whose it is.
const (
	RankAnnotation   = "berth.dev/rank"
	FlavorAnnotation = "berth.dev/flavor"
)

// Pod is a pod as the planner sees it.
func Pod(pod *corev1.Pod) batch.Pod {
	out := batch.Pod{
		UID:      batch.PodUID(pod.UID),
		Name:     pod.Namespace + "/" + pod.Name,
		Workload: PodWorkload(pod),
		Node:     batch.NodeName(pod.Spec.NodeName),
		Requests: PodRequests(pod),
		Phase:    podPhase(pod),
		GoneBy:   instant(pod.DeletionTimestamp),
	}
	if at, err := SavedAt(pod); err == nil {
		out.CheckpointedAt = at
	}
	if out.Workload != "" && !OwnWorkload(pod) {
		out.Run, out.Disrupted = runOf(pod), disrupted(pod)
	}
	if out.Phase == batch.PodWaiting {
		out.Held = heldBy(pod)
	}
	if out.Workload != "" && Rank(pod) >= 0 {
		out.Queue = batch.QueueName(pod.Annotations[v1alpha1.ClusterQueueAnnotation])
		out.Flavor = batch.FlavorName(pod.Annotations[FlavorAnnotation])
	}
	return out
}

// disrupted is who ended a pod, other than its owner and itself; empty: nobody.
func disrupted(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue {
			return condition.Reason
		}
	}
	return ""
}

// runOf is the run that a pod was made for, the first being 1; 0: it does not
// say.
func runOf(pod *corev1.Pod) int {
	before, err := strconv.Atoi(pod.Annotations[v1alpha1.RestartCountAnnotation])
	if err != nil || before < 0 {
		return 0
	}
	return before + 1
}

// SavedAt is when a pod says that its work was saved.
func SavedAt(pod *corev1.Pod) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, pod.Annotations[v1alpha1.CheckpointedAtAnnotation])
	return at.UTC(), err
}

// PodWorkload is the workload that a pod belongs to; empty if it is none of
// ours. The label alone proves nothing, since anybody can write it: the name
// must be the one that follows from the UID of the pod's owner.
func PodWorkload(pod *corev1.Pod) batch.WorkloadID {
	if OwnWorkload(pod) {
		return WorkloadID(pod.Namespace, WorkloadName(KindPod, pod.Name, pod.UID))
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return ""
	}
	label := pod.Labels[v1alpha1.WorkloadLabel]
	if label == "" || owner.Kind != KindJob || label != WorkloadName(owner.Kind, owner.Name, owner.UID) {
		return ""
	}
	return WorkloadID(pod.Namespace, label)
}

// The kinds of owner.
const (
	KindJob = "Job"
	KindPod = "Pod"
)

// OwnWorkload says whether a pod goes through a queue as a workload of its own:
// because it has no owner, or because it is a member of an array.
func OwnWorkload(pod *corev1.Pod) bool {
	if pod.Labels[v1alpha1.QueueLabel] == "" {
		return false
	}
	owner := metav1.GetControllerOf(pod)
	return owner == nil || owner.Kind == KindJob && pod.Labels[v1alpha1.WorkloadLabel] == v1alpha1.ArrayMember
}

// Gated says whether a pod still waits for its host.
func Gated(pod *corev1.Pod) bool {
	return slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: v1alpha1.PlacementGate})
}

// Rank is the rank whose place a pod was given; -1 if it has none yet.
func Rank(pod *corev1.Pod) int {
	rank, err := strconv.Atoi(pod.Annotations[RankAnnotation])
	if err != nil || rank < 0 {
		return -1
	}
	return rank
}

// ExitText names the container of a pod that failed, and how it did.
func ExitText(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		container := &pod.Status.ContainerStatuses[i]
		if t := container.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Sprintf("container %s exited with code %d (%s)", container.Name, t.ExitCode, t.Reason)
		}
	}
	return pod.Status.Message
}

func podPhase(pod *corev1.Pod) batch.PodPhase {
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return batch.PodSucceeded
	case pod.Status.Phase == corev1.PodFailed:
		return batch.PodFailed
	case pod.Spec.NodeName == "":
		return batch.PodWaiting
	case podReady(pod):
		return batch.PodReady
	default:
		return batch.PodBound
	}
}

func podReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// heldBy says what keeps a released pod from its node: somebody else's gate
// first, else what kube-scheduler says.
func heldBy(pod *corev1.Pod) string {
	if Gated(pod) {
		return ""
	}
	for _, gate := range pod.Spec.SchedulingGates {
		return fmt.Sprintf("released by Berth, waiting for the gate %s", gate.Name)
	}
	for _, condition := range pod.Status.Conditions {
		// What was said of its gates is over with them.
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason != corev1.PodReasonSchedulingGated {
			return "kube-scheduler: " + condition.Message
		}
	}
	if name := pod.Spec.SchedulerName; name != "" && name != corev1.DefaultSchedulerName {
		return "released by Berth, waiting for the scheduler " + name
	}
	return ""
}
