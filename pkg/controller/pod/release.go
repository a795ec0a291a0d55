package pod

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/controller/queued"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/framework"
	"github.com/berth-dev/berth/pkg/metrics"
)

const (
	// parallel is how many pods of one workload are released at a time: the
	// patches of a gang should reach kube-scheduler together.
	parallel = 16

	// refusalsMax is how often the API server may refuse the release of a pod
	// before the run is taken back.
	refusalsMax = 5
)

// place is a pod and the host it is to run on.
type place struct {
	pod  *corev1.Pod
	rank int
	host batch.NodeName
}

// release gives every gated pod of a started workload its host and takes away
// its gate.
func (r *Reconciler) release(ctx context.Context, workload *v1alpha1.QueuedWorkload, pods []*corev1.Pod) error {
	allocation := convert.Workload(workload).Allocation
	tolerations, err := r.tolerations(ctx, workload, pods)
	if err != nil {
		return err
	}
	hosts := allocation.PodSets[0].Hosts
	if whole, err := r.assembled(ctx, workload, pods, len(hosts)); err != nil || !whole {
		return err
	}
	places := r.places(workload, pods, hosts)
	failures := make([]error, len(places))
	slots := make(chan struct{}, parallel)
	var group sync.WaitGroup
	for i, p := range places {
		slots <- struct{}{}
		group.Go(func() {
			failures[i] = r.releaseOne(ctx, workload, p, tolerations)
			<-slots
		})
	}
	group.Wait()
	return r.judge(workload, errors.Join(failures...))
}

// assembled says whether all pods of a gang exist, if none of them has been
// released yet. One that a quota or an admission plugin keeps from being made
// would leave the others to wait for it on nodes that they hold.
func (r *Reconciler) assembled(ctx context.Context, workload *v1alpha1.QueuedWorkload, pods []*corev1.Pod, places int) (bool, error) {
	living := 0
	for _, pod := range pods {
		if convert.Pod(pod).Terminal() {
			continue
		}
		if convert.Rank(pod) >= 0 {
			return true, nil // the run has begun; pods that are replaced come one by one
		}
		living++
	}
	if living >= places {
		return true, nil
	}
	owner := metav1.GetControllerOf(workload)
	if owner == nil || owner.Kind != convert.KindJob {
		return true, nil
	}
	job := &batchv1.Job{}
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: workload.Namespace, Name: owner.Name}, job); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	// Indexes that an earlier run has finished get no pods again.
	return living >= framework.Expected(job), nil
}

// tolerations are the flavor's, needed here only by a pod that is a workload of
// its own: the pods of a gang have them from their Job's template.
func (r *Reconciler) tolerations(ctx context.Context, workload *v1alpha1.QueuedWorkload, pods []*corev1.Pod) ([]corev1.Toleration, error) {
	if ownWorkload(pods) == nil {
		return nil, nil
	}
	return queued.FlavorTolerations(ctx, r.Client, workload.Status.Allocation.Flavor)
}

// places chooses a rank for each gated pod: the completion index where each
// index has a place of its own, else the lowest rank that no living pod has.
func (r *Reconciler) places(workload *v1alpha1.QueuedWorkload, pods []*corev1.Pod, hosts []batch.NodeName) []place {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := convert.WorkloadID(workload.Namespace, workload.Name)
	given := r.given[id]
	taken := map[int]bool{}
	var waiting []*corev1.Pod
	still := map[batch.PodUID]int{}
	for _, pod := range pods {
		rank, known := given[batch.PodUID(pod.UID)]
		if !known {
			rank = convert.Rank(pod)
		}
		switch {
		case convert.Gated(pod) && !known && pod.DeletionTimestamp == nil:
			waiting = append(waiting, pod)
		case !convert.Pod(pod).Terminal() && rank >= 0:
			taken[rank] = true
			if known {
				still[batch.PodUID(pod.UID)] = rank
			}
		}
	}
	slices.SortFunc(waiting, inOrder)
	var out []place
	for _, pod := range waiting {
		rank := ownIndex(pod, len(hosts))
		if rank < 0 || taken[rank] {
			rank = lowestFree(taken, len(hosts))
		}
		if rank < 0 {
			continue // more pods than places: they wait for one to end
		}
		taken[rank] = true
		still[batch.PodUID(pod.UID)] = rank
		out = append(out, place{pod: pod, rank: rank, host: hosts[rank]})
	}
	r.given[id] = still
	return out
}

// inOrder sorts pods by completion index, then age, then name.
func inOrder(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(index(a), index(b)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

func index(pod *corev1.Pod) int {
	i, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return i
}

// ownIndex is a pod's completion index where there is a place for it.
func ownIndex(pod *corev1.Pod, places int) int {
	if i := index(pod); i < places {
		return i
	}
	return -1
}

func lowestFree(taken map[int]bool, places int) int {
	for rank := range places {
		if !taken[rank] {
			return rank
		}
	}
	return -1
}

// releaseOne patches one pod: host, rank, no gate. The patch carries the UID,
// so that a pod made again under the same name is not meant.
func (r *Reconciler) releaseOne(ctx context.Context, workload *v1alpha1.QueuedWorkload, p place, tolerations []corev1.Toleration) error {
	spec := map[string]any{
		"schedulingGates": []map[string]any{{"$patch": "delete", "name": v1alpha1.PlacementGate}},
		"affinity":        convert.PinnedAffinity(p.pod.Spec.Affinity, p.host),
	}
	annotations := map[string]string{
		convert.RankAnnotation:          strconv.Itoa(p.rank),
		v1alpha1.ClusterQueueAnnotation: workload.Status.Allocation.ClusterQueue,
		convert.FlavorAnnotation:        workload.Status.Allocation.Flavor,
	}
	if convert.OwnWorkload(p.pod) {
		tellOfRun(annotations, workload)
		if len(tolerations) > 0 {
			spec["tolerations"] = append(slices.Clone(p.pod.Spec.Tolerations), tolerations...)
		}
		if deadline := workload.Status.Allocation.Deadline; deadline != nil {
			overrun, err := queued.Overrun(ctx, r.Client, workload.Status.Allocation.ClusterQueue)
			if err != nil {
				return err
			}
			spec["activeDeadlineSeconds"] = convert.SecondsLeft(p.pod.Spec.ActiveDeadlineSeconds, deadline.Sub(r.Clock.Now())+overrun)
		}
	}
	meta := map[string]any{"uid": p.pod.UID, "annotations": annotations}
	body, err := json.Marshal(map[string]any{"metadata": meta, "spec": spec})
	if err != nil {
		return fmt.Errorf("patch for pod %s/%s: %w", p.pod.Namespace, p.pod.Name, err)
	}
	err = r.Client.Patch(ctx, p.pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, body))
	switch {
	case err == nil:
		r.Metrics.Wrote("pod", metrics.ResultOK)
		r.Metrics.Released(r.Clock.Since(p.pod.CreationTimestamp.Time))
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // gone, or another pod of that name: its event comes back here
	}
	r.Metrics.Wrote("pod", metrics.ResultFailed)
	r.takeBack(workload, p.pod)
	return fmt.Errorf("release pod %s/%s to node %s: %w", p.pod.Namespace, p.pod.Name, p.host, err)
}

// tellOfRun adds what a pod that is a workload of its own could not be told when
// it was made: the policy berth-pod-late makes its environment of it.
func tellOfRun(annotations map[string]string, workload *v1alpha1.QueuedWorkload) {
	annotations[v1alpha1.RestartCountAnnotation] = strconv.Itoa(convert.Restarts(workload))
	if last := convert.LastEviction(workload); last != "" {
		annotations[v1alpha1.LastEvictionAnnotation] = last
	}
	if held := workload.Status.Allocation; held.Deadline != nil {
		annotations[v1alpha1.DeadlineAnnotation] = held.Deadline.UTC().Format(time.RFC3339)
		annotations[v1alpha1.WalltimeSecondsAnnotation] = strconv.FormatInt(int64(held.Deadline.Sub(held.StartTime.Time)/time.Second), 10)
	}
}

// takeBack frees the rank of a pod whose release failed.
func (r *Reconciler) takeBack(workload *v1alpha1.QueuedWorkload, pod *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.given[convert.WorkloadID(workload.Namespace, workload.Name)], batch.PodUID(pod.UID))
}

// judge decides what a failed release means: try again, or, where an admission
// plugin goes on refusing, tell the core to take the run back, with the
// plugin's own words. A workload that holds places without being able to use
// them would keep others out for ever.
func (r *Reconciler) judge(workload *v1alpha1.QueuedWorkload, err error) error {
	id := convert.WorkloadID(workload.Namespace, workload.Name)
	if err == nil {
		r.mu.Lock()
		delete(r.refusals, id)
		r.mu.Unlock()
		return nil
	}
	if !queued.Refused(err) {
		return err
	}
	r.mu.Lock()
	r.refusals[id]++
	enough := r.refusals[id] >= refusalsMax
	if enough {
		delete(r.refusals, id)
	}
	r.mu.Unlock()
	if !enough {
		return err // the work queue tries again, later each time
	}
	r.Metrics.Wrote("pod", metrics.ResultRefused)
	r.Observe(batch.StartRefused{ID: id, Run: convert.Restarts(workload), Text: err.Error()})
	return nil
}
