package convert

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// lingeringMax is how many pods a queue's status names.
const lingeringMax = 256

// Lingering are pods that were removed by force, as the status of their queue
// says it: those that take longest, if there are more than it holds.
func Lingering(pods []batch.Pod) []v1alpha1.LingeringPod {
	pods = pods[max(0, len(pods)-lingeringMax):]
	var out []v1alpha1.LingeringPod
	for i := range pods {
		p := &pods[i]
		out = append(out, v1alpha1.LingeringPod{
			Name: p.Name, UID: string(p.UID), Node: string(p.Node), Workload: string(p.Workload), Flavor: string(p.Flavor),
			Until: metav1.NewTime(wholeSecond(p.GoneBy)), Requests: resourceList(p.Requests),
		})
	}
	return out
}

// LingeringPods reads back the pods of a queue that have not ended by now. No
// object in the API stands for them any more: who was not there when they were
// removed learns of them here alone.
func LingeringPods(queue *v1alpha1.ClusterQueue, now time.Time) []batch.Pod {
	var out []batch.Pod
	for i := range queue.Status.Lingering {
		p := &queue.Status.Lingering[i]
		if !p.Until.After(now) {
			continue
		}
		out = append(out, batch.Pod{
			UID: batch.PodUID(p.UID), Name: p.Name, Workload: batch.WorkloadID(p.Workload), Node: batch.NodeName(p.Node),
			Requests: Resources(p.Requests), Phase: batch.PodBound, GoneBy: p.Until.UTC(),
			Queue: batch.QueueName(queue.Name), Flavor: batch.FlavorName(p.Flavor),
		})
	}
	return out
}

// wholeSecond rounds up: times of the API have seconds, and what holds a node
// for longer must not be told to hold it for less.
func wholeSecond(at time.Time) time.Time { return at.Add(time.Second - 1).Truncate(time.Second) }

func resourceList(amounts batch.Resources) corev1.ResourceList {
	out := make(corev1.ResourceList, len(amounts))
	for name, amount := range amounts { //order:any each entry is set by itself
		out[corev1.ResourceName(name)] = resource.MustParse(Quantity(name, amount))
	}
	return out
}
