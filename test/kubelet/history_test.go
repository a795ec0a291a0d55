//go:build linux

package kubelet

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/test/look"
)

// podLife is a pod as the API server last told of it, and when things were seen
// of it: the API's own times have whole seconds. A zero time: not seen.
type podLife struct {
	corev1.Pod
	owner   types.UID // the first: it may be taken out of its Job
	created time.Time
	noticed time.Time // it has the annotation
	deleted time.Time // it is to end
	gone    time.Time
}

// over says that a pod is gone, is to end, or has ended: one that was ended with
// its node stays, as Failed.
func (p *podLife) over() bool {
	return !p.gone.IsZero() || p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// history remembers every pod, also those that are gone.
type history struct {
	mu   sync.Mutex
	pods map[types.UID]*podLife
}

func watchPods(ctx context.Context, config *rest.Config, scheme *runtime.Scheme) (*history, error) {
	h := &history{pods: map[types.UID]*podLife{}}
	_, err := look.Pods(ctx, config, scheme, func(pod *corev1.Pod, gone bool) {
		if gone {
			h.see(pod, time.Now())
		} else {
			h.see(pod, time.Time{})
		}
	})
	return h, err
}

func (h *history) see(pod *corev1.Pod, gone time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	life, known := h.pods[pod.UID]
	if !known {
		life = &podLife{created: time.Now()}
		if owner := metav1.GetControllerOf(pod); owner != nil {
			life.owner = owner.UID
		}
		h.pods[pod.UID] = life
	}
	life.Pod, life.gone = *pod, gone
	if life.noticed.IsZero() && pod.Annotations[v1alpha1.NoticeAnnotation] != "" {
		life.noticed = time.Now()
	}
	if life.deleted.IsZero() && pod.DeletionTimestamp != nil {
		life.deleted = time.Now()
	}
}

// life is what is known of a pod.
func (h *history) life(pod types.UID) podLife {
	h.mu.Lock()
	defer h.mu.Unlock()
	if life, known := h.pods[pod]; known {
		return *life
	}
	return podLife{}
}

// podsOf are all pods that an owner has ever had, in the order of their making.
func (h *history) podsOf(owner types.UID) []podLife {
	return h.podsThat(func(life *podLife) bool { return life.owner == owner })
}

// podsThat are all pods there ever were of which something is so, in the order
// of their making.
func (h *history) podsThat(match func(*podLife) bool) []podLife {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []podLife
	for _, life := range h.pods {
		if match(life) {
			out = append(out, *life)
		}
	}
	slices.SortFunc(out, func(a, b podLife) int { return a.created.Compare(b.created) })
	return out
}
