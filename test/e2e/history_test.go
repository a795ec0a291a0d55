package e2e

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/test/look"
)

// podLife is what was seen of one pod, with the times at which it was seen:
// the API's own times have whole seconds. A zero time: not seen.
type podLife struct {
	UID       types.UID
	Namespace string
	Name      string
	Owner     types.UID // of the Job; the pod's own for a pod without an owner
	Index     int       // completion index; -1: none
	Node      string
	Failed    bool

	Created, Bound, Ready, Ended, Gone time.Time
}

// released is when the pod held nothing any more.
func (p podLife) released() time.Time {
	if !p.Ended.IsZero() {
		return p.Ended
	}
	return p.Gone
}

// holds says whether the pod is on a node and not terminal.
func (p podLife) holds() bool { return !p.Bound.IsZero() && p.released().IsZero() }

// history remembers every pod of the cluster, and has pods, nodes and
// workloads as they are, from one watch each.
type history struct {
	cache cache.Cache

	mu   sync.Mutex
	pods map[types.UID]*podLife
}

// watchAll begins to watch and returns when it has seen what is there.
func watchAll(ctx context.Context, config *rest.Config, scheme *runtime.Scheme) (*history, error) {
	h := &history{pods: map[types.UID]*podLife{}}
	var err error
	h.cache, err = look.Pods(ctx, config, scheme, func(pod *corev1.Pod, gone bool) {
		if gone {
			h.miss(pod, time.Now())
		} else {
			h.see(pod, time.Now())
		}
	}, &corev1.Node{}, &v1alpha1.QueuedWorkload{})
	return h, err
}

func (h *history) see(pod *corev1.Pod, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	life := h.life(pod, now)
	if pod.Spec.NodeName != "" && life.Bound.IsZero() {
		life.Node, life.Bound = pod.Spec.NodeName, now
	}
	if life.Ready.IsZero() && podReady(pod) {
		life.Ready = now
	}
	if life.Ended.IsZero() && terminal(pod) {
		life.Ended, life.Failed = now, pod.Status.Phase == corev1.PodFailed
	}
}

func (h *history) miss(pod *corev1.Pod, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.life(pod, now).Gone = now
}

func (h *history) life(pod *corev1.Pod, now time.Time) *podLife {
	life, known := h.pods[pod.UID]
	if known {
		return life
	}
	life = &podLife{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Owner: pod.UID, Index: -1, Created: now}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		life.Owner = owner.UID
	}
	if index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil {
		life.Index = index
	}
	h.pods[pod.UID] = life
	return life
}

// podsOf are all pods that an owner has ever had, by completion index, then age.
func (h *history) podsOf(owner types.UID) []podLife {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []podLife
	for _, life := range h.pods {
		if life.Owner == owner {
			out = append(out, *life)
		}
	}
	slices.SortFunc(out, func(a, b podLife) int {
		if a.Index != b.Index {
			return a.Index - b.Index
		}
		return a.Created.Compare(b.Created)
	})
	return out
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
