//go:build linux

package kubelet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// podLife is a pod as the API server last told of it, and when things were seen
// of it: the API's own times have whole seconds. A zero time: not seen.
type podLife struct {
	corev1.Pod
	created time.Time
	noticed time.Time // it has the annotation
	gone    time.Time
}

// history remembers every pod, also those that are gone.
type history struct {
	mu   sync.Mutex
	pods map[types.UID]*podLife
}

func watchPods(ctx context.Context, config *rest.Config, scheme *runtime.Scheme) (*history, error) {
	watched, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	h := &history{pods: map[types.UID]*podLife{}}
	pods, err := watched.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	_, err = pods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { h.see(object.(*corev1.Pod), time.Time{}) },
		UpdateFunc: func(_, object any) { h.see(object.(*corev1.Pod), time.Time{}) },
		DeleteFunc: func(object any) {
			if unknown, lost := object.(toolscache.DeletedFinalStateUnknown); lost {
				object = unknown.Obj
			}
			h.see(object.(*corev1.Pod), time.Now())
		},
	})
	if err != nil {
		return nil, err
	}
	go watched.Start(ctx) //nolint:errcheck // it ends with the context
	if !watched.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("watch the pods: %w", context.Cause(ctx))
	}
	return h, nil
}

func (h *history) see(pod *corev1.Pod, gone time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	life, known := h.pods[pod.UID]
	if !known {
		life = &podLife{created: time.Now()}
		h.pods[pod.UID] = life
	}
	life.Pod, life.gone = *pod, gone
	if life.noticed.IsZero() && pod.Annotations[v1alpha1.NoticeAnnotation] != "" {
		life.noticed = time.Now()
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
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []podLife
	for _, life := range h.pods {
		if of := metav1.GetControllerOf(&life.Pod); of != nil && of.UID == owner {
			out = append(out, *life)
		}
	}
	slices.SortFunc(out, func(a, b podLife) int { return a.created.Compare(b.created) })
	return out
}
