package live

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/framework"
)

const (
	// lateness is how much later than the API says a node kills a pod: a
	// deletion's time has whole seconds, rounded down, and a kubelet counts the
	// grace from when it comes to that pod.
	lateness = 3 * time.Second
	// forcedKill is how long a node takes to end a pod that was deleted without
	// grace: a kubelet's minimum of two seconds, and what it takes to notice.
	forcedKill = 2*time.Second + lateness
)

// deadline is when a pod that is being deleted is gone by its first deletion.
type deadline struct{ at time.Time }

func (i *Intake) pod(pod *corev1.Pod) {
	if convert.OwnWorkload(pod) {
		i.owner(framework.Pod{}, pod)
	}
	seen := convert.Pod(pod)
	if seen.Workload == "" && seen.Node == "" {
		return // neither ours nor on a node: nobody's capacity
	}
	if !seen.GoneBy.IsZero() {
		seen.GoneBy = i.firstDeadline(seen)
	}
	i.observe(batch.PodObserved{Pod: seen})
}

// firstDeadline remembers the latest deadline that a pod's deletions have set:
// a termination under way is not shortened by its node.
func (i *Intake) firstDeadline(pod batch.Pod) time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	if known, seen := i.deadlines[pod.UID]; seen && known.at.After(pod.GoneBy) {
		return known.at
	}
	i.deadlines[pod.UID] = deadline{at: pod.GoneBy}
	return pod.GoneBy
}

func (i *Intake) podGone(pod *corev1.Pod) {
	if convert.OwnWorkload(pod) {
		i.ownerGone(batch.WorkloadGone{ID: framework.ID(framework.Pod{}, pod)})
	}
	i.observe(batch.PodGone{UID: batch.PodUID(pod.UID), By: i.stillThereUntil(pod)})
}

// stillThereUntil is when the processes of a pod whose object is gone have
// ended at the latest. A node reports a pod's end before its object goes; an
// object that vanishes without one was removed by force, and its processes
// live on to the deadline that the first deletion set, and a little longer.
func (i *Intake) stillThereUntil(pod *corev1.Pod) time.Time {
	i.mu.Lock()
	known, deleting := i.deadlines[batch.PodUID(pod.UID)]
	delete(i.deadlines, batch.PodUID(pod.UID))
	i.mu.Unlock()
	if convert.Pod(pod).Terminal() || pod.Spec.NodeName == "" || pod.Status.StartTime == nil {
		return time.Time{}
	}
	now := i.clock.Now()
	if dead := known.at.Add(lateness); deleting && dead.After(now) {
		return dead.UTC()
	}
	if !deleting || pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds == 0 {
		return now.Add(forcedKill).UTC()
	}
	return time.Time{}
}
