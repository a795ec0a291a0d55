package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestExplainKnowsPodsThatWereRemovedByForce: no object stands for them any
// more, and what they hold is charged all the same; their queue says so, and
// whoever asks why a job waits hears of them.
func TestExplainKnowsPodsThatWereRemovedByForce(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 2))
	hog := team.submit(job("hog", gpus(2), walltime("10m"), ignoresTerm(2*time.Minute)))
	hog.mustRun()
	life := hog.pod(0)
	if err := team.client.Delete(t.Context(), hog.object, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: life.Name}}
	team.eventually(soon, "the pod is told to end", func() (string, bool) {
		err := team.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
		return fmt.Sprint(err), err == nil && pod.DeletionTimestamp != nil
	})
	if err := team.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	next := team.submit(job("next", gpus(2), walltime("10m")))
	next.mustWait("Resources", "0 of 2 "+gpu)
	team.eventually(soon, "the queue tells of the pod", func() (string, bool) {
		queue := &v1alpha1.ClusterQueue{}
		err := team.client.Get(t.Context(), client.ObjectKey{Name: team.name}, queue)
		left := queue.Status.Lingering
		return fmt.Sprint(err, left), len(left) == 1 && left[0].Name == team.name+"/"+life.Name && left[0].Node == life.Node
	})
	team.eventually(soon, "explain names the pod", func() (string, bool) {
		text := team.explain("next")
		return text, containsAll(text, []string{"It waits for:", life.Name, "removed by force", "Its planned start is in"})
	})
}
