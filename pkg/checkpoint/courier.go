package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/controller/queued"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/metrics"
)

const (
	// parallel is how many pods of one workload are told at a time, and
	// concurrency of how many workloads: all pods of a gang shall hear of it
	// within a second.
	parallel    = 32
	concurrency = 8

	// patience is how long what ends pods waits until they carry the notice.
	patience = time.Second

	// underWayMax is how many deliveries are under way at a time. A command
	// that saves a checkpoint may take minutes, and holds a connection.
	underWayMax = 512
)

// EventUndelivered is the reason of the Event that names a pod which a notice
// has not reached, and the error.
const EventUndelivered = "NoticeUndelivered"

// Courier brings notices to pods.
type Courier struct {
	Client  client.Client
	Clock   clock.Clock
	Metrics *metrics.Set
	// Exec runs commands in containers.
	Exec Runner
	// Post sends requests to pods.
	Post Poster
	// Tell writes an Event of a kind about an object.
	Tell func(about *corev1.ObjectReference, kind, reason, action, note string)

	once  sync.Once
	slots chan struct{}

	// life is the context of deliveries, which outlive the reconcile that began
	// them.
	life  context.Context //nolint:containedctx // of a process, not of a call
	begun chan struct{}
	group sync.WaitGroup

	mu       sync.Mutex
	underWay map[types.UID]string                    // by pod: the notice that is being delivered
	ends     map[batch.WorkloadID]map[types.UID]bool // by workload: the pods whose end was told
}

// SetupWithManager registers the controller.
func (c *Courier) SetupWithManager(mgr ctrl.Manager) error {
	c.prepare()
	if err := mgr.Add(manager.RunnableFunc(c.live)); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("notice").
		For(&v1alpha1.QueuedWorkload{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(workloadOf)).
		Watches(&corev1.Pod{}, handler.Funcs{UpdateFunc: c.doubt}).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(c)
}

func (c *Courier) prepare() {
	c.once.Do(func() {
		c.slots = make(chan struct{}, underWayMax)
		c.begun = make(chan struct{})
		c.underWay = map[types.UID]string{}
		c.ends = map[batch.WorkloadID]map[types.UID]bool{}
	})
}

// live keeps deliveries going until the process ends.
func (c *Courier) live(ctx context.Context) error {
	c.life = ctx
	close(c.begun)
	<-ctx.Done()
	c.group.Wait()
	return nil
}

// workloadOf is the workload to look at when a pod has changed: of pods that
// are on a node.
func workloadOf(_ context.Context, object client.Object) []reconcile.Request {
	pod := object.(*corev1.Pod)
	id := convert.PodWorkload(pod)
	if id == "" || pod.Spec.NodeName == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: convert.SplitID(id)}}
}

// Reconcile implements reconcile.Reconciler.
func (c *Courier) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	workload, err := queued.Find(ctx, c.Client, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	id := convert.WorkloadID(request.Namespace, request.Name)
	if workload == nil {
		c.forget(id)
		return ctrl.Result{}, nil
	}
	notice, given := Of(workload)
	if !given {
		c.forget(id)
		return ctrl.Result{}, nil
	}
	all, err := queued.Pods(ctx, c.Client, id)
	if err != nil {
		return ctrl.Result{}, err
	}
	if convert.Stopped(workload) {
		c.tellEnds(workload, all)
	}
	pods := living(all)
	if err := c.announce(ctx, notice, pods); err != nil {
		return ctrl.Result{}, err
	}
	checkpoint, means, err := convert.ParseCheckpoint(workload.Spec.Checkpoint)
	if err != nil {
		return ctrl.Result{}, reconcile.TerminalError(err) // it should never have started
	}
	if !needsCourier(checkpoint.Delivery) || convert.Stopped(workload) {
		return ctrl.Result{}, nil // what is stopped is being told to end
	}
	select {
	case <-c.begun:
	case <-ctx.Done():
		return ctrl.Result{}, nil
	}
	for _, pod := range pods {
		c.begin(delivery{Notice: notice, kind: checkpoint.Delivery, means: means}, pod)
	}
	return ctrl.Result{}, nil
}

func needsCourier(kind batch.Delivery) bool {
	switch kind {
	case batch.DeliverSignal, batch.DeliverExec, batch.DeliverHTTP:
		return true
	case batch.DeliverTerm, batch.DeliverAnnotation:
	}
	return false
}

// Announce puts the notice of a workload onto its pods, and waits for that for
// a moment: whoever is about to end them calls it before, so that a program that
// is told to end can find out why. It is no reason not to end them that it
// could not be written.
func (c *Courier) Announce(ctx context.Context, workload *v1alpha1.QueuedWorkload) {
	notice, given := Of(workload)
	if !given {
		return
	}
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pods, err := queued.Pods(short, c.Client, convert.WorkloadID(workload.Namespace, workload.Name))
	if err == nil {
		err = c.announce(short, notice, living(pods))
	}
	if err != nil {
		log.FromContext(ctx).V(1).Info("pods are ended before all of them carry the notice", "workload", workload.Name, "error", err.Error())
	}
}

// living are the pods that are on a node and not terminal.
func living(pods []*corev1.Pod) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && !convert.Pod(pod).Terminal() {
			out = append(out, pod)
		}
	}
	return out
}

// announce writes the annotation onto the pods that do not have it.
func (c *Courier) announce(ctx context.Context, notice Notice, pods []*corev1.Pod) error {
	failures := make([]error, len(pods))
	slots := make(chan struct{}, parallel)
	var group sync.WaitGroup
	for i, pod := range pods {
		if notice.announced(pod) {
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			failures[i] = c.annotate(ctx, pod, map[string]string{v1alpha1.NoticeAnnotation: notice.text()})
			<-slots
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

// annotate writes annotations onto a pod, if it still is that pod.
func (c *Courier) annotate(ctx context.Context, pod *corev1.Pod, annotations map[string]string) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": annotations}})
	if err != nil {
		return fmt.Errorf("patch for pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	err = c.Client.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, body))
	switch {
	case err == nil:
		c.Metrics.Wrote("pod", metrics.ResultOK)
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // gone, or another pod of that name
	}
	c.Metrics.Wrote("pod", metrics.ResultFailed)
	return fmt.Errorf("annotate pod %s/%s: %w", pod.Namespace, pod.Name, err)
}
