package checkpoint

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// EventInterrupted is the reason of the Event that says how a pod ended after it
// was told to. Its exit code counts for nothing, but its author may want to see
// that the program could not save.
const EventInterrupted = "Interrupted"

// endsMax is of how many pods of one eviction that is told.
const endsMax = 5

// tellEnds tells the owner of a stopped workload which of its pods have ended
// with an error, and how.
func (c *Courier) tellEnds(workload *v1alpha1.QueuedWorkload, pods []*corev1.Pod) {
	owner := metav1.GetControllerOf(workload)
	if owner == nil {
		return
	}
	about := &corev1.ObjectReference{
		APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: workload.Namespace, Name: owner.Name, UID: owner.UID,
	}
	id := convert.WorkloadID(workload.Namespace, workload.Name)
	for _, pod := range pods {
		// One that had failed before is not being deleted.
		if pod.Status.Phase == corev1.PodFailed && pod.DeletionTimestamp != nil && c.isNews(id, pod) {
			c.Tell(about, corev1.EventTypeNormal, EventInterrupted, "Evict",
				fmt.Sprintf("pod %s has ended after it was told to: %s; this counts neither as a failure nor as an end", pod.Name, convert.ExitText(pod)))
		}
	}
}

// isNews says whether the end of a pod is to be told, and keeps that it was.
func (c *Courier) isNews(id batch.WorkloadID, pod *corev1.Pod) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.ends[id]
	if told[pod.UID] || len(told) >= endsMax {
		return false
	}
	if told == nil {
		told = map[types.UID]bool{}
		c.ends[id] = told
	}
	told[pod.UID] = true
	return true
}

// forget drops what was told of a workload that is not being taken back.
func (c *Courier) forget(id batch.WorkloadID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ends, id)
}
