package checkpoint

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/convert"
)

// EventNoTime is the reason of the Event on a pod that says that its work was
// saved, at what is no time.
const EventNoTime = "NoTime"

// doubt tells a pod's author that berth.dev/checkpointed-at is no time: it counts
// for nothing, and whoever wrote it waits for its effect. It is told once, when
// the value appears.
func (c *Courier) doubt(_ context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	pod := e.ObjectNew.(*corev1.Pod)
	value, told := pod.Annotations[v1alpha1.CheckpointedAtAnnotation]
	if !told || value == e.ObjectOld.GetAnnotations()[v1alpha1.CheckpointedAtAnnotation] || convert.PodWorkload(pod) == "" {
		return
	}
	if _, err := convert.SavedAt(pod); err != nil {
		c.Tell(aboutPod(pod), corev1.EventTypeWarning, EventNoTime, "Save", fmt.Sprintf(
			"pod %s/%s says in the annotation %s that its work was saved at %q, which is no time and counts for nothing: write one such as 2026-01-05T14:00:00Z",
			pod.Namespace, pod.Name, v1alpha1.CheckpointedAtAnnotation, value))
	}
}
