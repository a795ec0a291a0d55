package checkpoint

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/convert"
)

// Notice is what a pod is told. Its JSON is an interface: programs read it from
// the downward API, or as the body of a request.
type Notice struct {
	// Cause is why: Preempted, Reclaimed, Cancelled, Drained, Walltime, …
	Cause string `json:"cause"`
	// By is who or what, in words; empty: nobody else.
	By string `json:"by,omitempty"`
	// Time is when the notice was given, Until the end of the grace: by then
	// the work must be saved.
	Time  time.Time `json:"time"`
	Until time.Time `json:"until"`
}

// Of is the notice of a workload; false if it has none, or has ended.
func Of(workload *v1alpha1.QueuedWorkload) (Notice, bool) {
	n := workload.Status.Notice
	if n == nil || workload.Status.Allocation == nil || convert.Finished(workload) {
		return Notice{}, false
	}
	return Notice{Cause: n.Cause, By: n.By, Time: n.Time.UTC(), Until: n.Until.UTC()}, true
}

// text is the notice as a pod carries it.
func (n Notice) text() string {
	raw, err := json.Marshal(n)
	if err != nil {
		panic(fmt.Sprintf("a struct of texts and times did not marshal: %v", err))
	}
	return string(raw)
}

// id tells the notices of one pod apart.
func (n Notice) id() string { return n.Time.UTC().Format(time.RFC3339) }

// announced says whether a pod carries the notice.
func (n Notice) announced(pod *corev1.Pod) bool {
	return pod.Annotations[v1alpha1.NoticeAnnotation] == n.text()
}

// delivered says whether the notice has reached the pod's program.
func (n Notice) delivered(pod *corev1.Pod) bool {
	return pod.Annotations[v1alpha1.NoticeDeliveredAnnotation] == n.id()
}
