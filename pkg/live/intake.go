package live

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/framework"
)

// Intake turns what the informers see into events.
type Intake struct {
	cache   cache.Cache
	clock   clock.PassiveClock
	observe func(batch.Event)

	mu sync.Mutex
	// owners are the workloads whose Job or Pod exists and wants to be queued.
	// A QueuedWorkload without one takes no part: its owner was deleted, and
	// the garbage collector has not come by yet.
	owners map[batch.WorkloadID]bool
	// workloads are the newest QueuedWorkloads, for when their owner turns up.
	workloads map[batch.WorkloadID]batch.Workload
	// deadlines are the first deadlines of pods that are being deleted. A node
	// waits for the first one, whatever a later deletion asks for.
	deadlines map[batch.PodUID]deadline
	// nodes are those that exist.
	nodes map[batch.NodeName]bool
}

// NewIntake makes an intake that hands its events to observe.
func NewIntake(cache cache.Cache, clock clock.PassiveClock, observe func(batch.Event)) *Intake {
	return &Intake{
		cache: cache, clock: clock, observe: observe,
		owners:    map[batch.WorkloadID]bool{},
		workloads: map[batch.WorkloadID]batch.Workload{},
		deadlines: map[batch.PodUID]deadline{},
		nodes:     map[batch.NodeName]bool{},
	}
}

// Start registers with the informers and returns when all that exists has been
// handed on as events.
func (i *Intake) Start(ctx context.Context) error {
	i.observe(batch.PolicyObserved{Policy: batch.DefaultPolicy()})
	// Nodes and pods before work: the order is for the reader of a journal.
	// Nothing is planned before all of them have been taken in.
	sources := []struct {
		object  client.Object
		handler toolscache.ResourceEventHandler
	}{
		{&corev1.Namespace{}, levels(ofNamespace, i.namespace, i.namespaceGone)},
		{&corev1.Node{}, levels(ofNode, i.node, i.nodeGone)},
		{&corev1.Pod{}, levels(ofPod, i.pod, i.podGone)},
		{&v1alpha1.SchedulingPolicy{}, levels(ofPolicy, i.policy(ctx), i.policyGone)},
		{&v1alpha1.Topology{}, levels(ofTopology, i.topology, i.topologyGone)},
		{&v1alpha1.ResourceFlavor{}, levels(ofFlavor, i.flavor, i.flavorGone)},
		{&v1alpha1.Cohort{}, levels(ofCohort, i.cohort, i.cohortGone)},
		{&v1alpha1.Account{}, levels(ofAccount, i.account, i.accountGone)},
		{&v1alpha1.ClusterQueue{}, levels(ofQueue, i.queue(ctx), i.queueGone)},
		{&v1alpha1.LocalQueue{}, levels(ofLocalQueue, i.localQueue, i.localQueueGone)},
		{&batchv1.Job{}, levels(ofJob, i.job, i.jobGone)},
		{&v1alpha1.QueuedWorkload{}, levels(ofWorkload, i.workload, i.workloadGone)},
	}
	for _, source := range sources {
		informer, err := i.cache.GetInformer(ctx, source.object)
		if err != nil {
			return fmt.Errorf("watch %T: %w", source.object, err)
		}
		registration, err := informer.AddEventHandler(source.handler)
		if err != nil {
			return fmt.Errorf("watch %T: %w", source.object, err)
		}
		if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			return fmt.Errorf("watch %T: %w", source.object, context.Cause(ctx))
		}
	}
	i.missNodes()
	return nil
}

// levels makes a handler of three functions: what matters of an object (an
// update that leaves it the same is no event: nodes report every few seconds
// that nothing has changed), what to do with it now, and when it is gone.
func levels[T client.Object](matters func(T) any, now func(T), gone func(T)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { now(object.(T)) },
		UpdateFunc: func(old, object any) {
			if !reflect.DeepEqual(matters(old.(T)), matters(object.(T))) {
				now(object.(T))
			}
		},
		DeleteFunc: func(object any) {
			if unknown, lost := object.(toolscache.DeletedFinalStateUnknown); lost {
				object = unknown.Obj
			}
			gone(object.(T))
		},
	}
}

// What matters of each kind: what its event is made of.

func ofNamespace(n *corev1.Namespace) any       { return n.Labels }
func ofNode(n *corev1.Node) any                 { return convert.Node(n) }
func ofPolicy(p *v1alpha1.SchedulingPolicy) any { return p.Spec }
func ofTopology(t *v1alpha1.Topology) any       { return t.Spec }
func ofFlavor(f *v1alpha1.ResourceFlavor) any   { return f.Spec }
func ofQueue(q *v1alpha1.ClusterQueue) any      { return []any{q.Spec, q.DeletionTimestamp, stateSince(q)} }
func ofCohort(c *v1alpha1.Cohort) any           { return c.Spec }
func ofAccount(a *v1alpha1.Account) any         { return convert.Account(a) }
func ofLocalQueue(q *v1alpha1.LocalQueue) any   { return q.Spec }
func ofWorkload(q *v1alpha1.QueuedWorkload) any { return convert.Workload(q) }
func ofJob(j *batchv1.Job) any                  { return owned(framework.Job{}, j) }
func ofPod(p *corev1.Pod) any                   { return []any{convert.Pod(p), owned(framework.Pod{}, p)} }

func owned(kind framework.Kind, o client.Object) any { return []any{kind.QueueName(o), kind.Owner(o)} }

func stateSince(queue *v1alpha1.ClusterQueue) any {
	converted, _ := convert.Queue(queue) // an unreadable queue is told of where it is taken in
	return converted.StateSince
}

func (i *Intake) namespace(namespace *corev1.Namespace) {
	i.observe(batch.NamespaceObserved{Name: namespace.Name, Labels: namespace.Labels})
}

func (i *Intake) namespaceGone(namespace *corev1.Namespace) {
	i.observe(batch.NamespaceGone{Name: namespace.Name})
}

func (i *Intake) node(node *corev1.Node) {
	i.mu.Lock()
	i.nodes[batch.NodeName(node.Name)] = true
	i.mu.Unlock()
	i.observe(batch.NodeObserved{Node: convert.Node(node)})
}

func (i *Intake) nodeGone(node *corev1.Node) {
	i.mu.Lock()
	delete(i.nodes, batch.NodeName(node.Name))
	i.mu.Unlock()
	i.observe(batch.NodeGone{Name: batch.NodeName(node.Name)})
}

// missNodes tells of nodes that were deleted while nobody watched, and that work
// was started on. A list without any node proves nothing.
func (i *Intake) missNodes() {
	i.mu.Lock()
	missing := map[batch.NodeName]bool{}
	for _, workload := range i.workloads { //order:any into a set
		if workload.Allocation == nil || workload.Finished != nil {
			continue
		}
		for _, placement := range workload.Allocation.PodSets {
			for _, host := range placement.Hosts {
				missing[host] = len(i.nodes) > 0 && !i.nodes[host]
			}
		}
	}
	i.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if missing[name] {
			i.observe(batch.NodeGone{Name: name})
		}
	}
}

func (i *Intake) policy(ctx context.Context) func(*v1alpha1.SchedulingPolicy) {
	return func(object *v1alpha1.SchedulingPolicy) {
		if object.Name != v1alpha1.SchedulingPolicyName {
			return
		}
		policy, err := convert.Policy(object)
		if err != nil {
			log.FromContext(ctx).Error(err, "this SchedulingPolicy cannot be read; the last good one holds")
			return
		}
		i.observe(batch.PolicyObserved{Policy: policy})
	}
}

func (i *Intake) policyGone(object *v1alpha1.SchedulingPolicy) {
	if object.Name == v1alpha1.SchedulingPolicyName {
		i.observe(batch.PolicyObserved{Policy: batch.DefaultPolicy()})
	}
}

func (i *Intake) topology(topology *v1alpha1.Topology) {
	i.observe(batch.TopologyObserved{Topology: convert.Topology(topology)})
}

func (i *Intake) topologyGone(topology *v1alpha1.Topology) {
	i.observe(batch.TopologyGone{Name: batch.TopologyName(topology.Name)})
}

func (i *Intake) flavor(flavor *v1alpha1.ResourceFlavor) {
	i.observe(batch.FlavorObserved{Flavor: convert.Flavor(flavor)})
}

func (i *Intake) flavorGone(flavor *v1alpha1.ResourceFlavor) {
	i.observe(batch.FlavorGone{Name: batch.FlavorName(flavor.Name)})
}

func (i *Intake) queue(ctx context.Context) func(*v1alpha1.ClusterQueue) {
	return func(object *v1alpha1.ClusterQueue) {
		queue, err := convert.Queue(object)
		if err != nil {
			log.FromContext(ctx).Error(err, "this ClusterQueue cannot be read; it starts nothing", "clusterQueue", object.Name)
			queue.State = batch.QueueDown
		}
		i.observe(batch.QueueObserved{Queue: queue})
		for _, pod := range convert.LingeringPods(object, i.clock.Now()) {
			i.observe(batch.PodObserved{Pod: pod})
			i.observe(batch.PodGone{UID: pod.UID, By: pod.GoneBy})
		}
	}
}

func (i *Intake) queueGone(queue *v1alpha1.ClusterQueue) {
	i.observe(batch.QueueGone{Name: batch.QueueName(queue.Name)})
}

func (i *Intake) cohort(cohort *v1alpha1.Cohort) {
	i.observe(batch.CohortObserved{Cohort: convert.Cohort(cohort)})
}

func (i *Intake) cohortGone(cohort *v1alpha1.Cohort) {
	i.observe(batch.CohortGone{Name: batch.CohortName(cohort.Name)})
}

func (i *Intake) account(account *v1alpha1.Account) {
	i.observe(batch.AccountObserved{Account: convert.Account(account)})
}

func (i *Intake) accountGone(account *v1alpha1.Account) {
	i.observe(batch.AccountGone{Name: batch.AccountName(account.Name)})
}

func (i *Intake) localQueue(queue *v1alpha1.LocalQueue) {
	i.observe(batch.LocalQueueObserved{LocalQueue: convert.LocalQueue(queue)})
}

func (i *Intake) localQueueGone(queue *v1alpha1.LocalQueue) {
	i.observe(batch.LocalQueueGone{Name: convert.LocalQueue(queue).Name})
}

func (i *Intake) job(job *batchv1.Job) {
	i.owner(framework.Job{}, job)
}

func (i *Intake) jobGone(job *batchv1.Job) {
	i.ownerGone(batch.WorkloadGone{ID: framework.ID(framework.Job{}, job)})
}

// owner passes on how far an owner has come, and the workload that waited for
// its owner to be seen.
func (i *Intake) owner(kind framework.Kind, object client.Object) {
	id := framework.ID(kind, object)
	if kind.QueueName(object) == "" {
		job, is := object.(*batchv1.Job)
		i.ownerGone(batch.WorkloadGone{ID: id, Released: is && framework.IsArray(job)})
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.owners[id]
	i.owners[id] = true
	i.observe(batch.OwnerObserved{ID: id, Owner: kind.Owner(object)})
	if workload, waits := i.workloads[id]; waits && !known {
		i.observe(batch.WorkloadObserved{Workload: workload})
	}
}

func (i *Intake) ownerGone(gone batch.WorkloadGone) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.owners[gone.ID] {
		delete(i.owners, gone.ID)
		i.observe(gone)
	}
}

func (i *Intake) workload(object *v1alpha1.QueuedWorkload) {
	workload := convert.Workload(object)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.workloads[workload.ID] = workload
	if i.owners[workload.ID] {
		i.observe(batch.WorkloadObserved{Workload: workload})
	}
}

func (i *Intake) workloadGone(object *v1alpha1.QueuedWorkload) {
	id := convert.WorkloadID(object.Namespace, object.Name)
	i.mu.Lock()
	defer i.mu.Unlock()
	array := i.workloads[id].Array
	delete(i.workloads, id)
	if i.owners[id] {
		i.observe(batch.WorkloadGone{ID: id, Released: array != nil && array.Index == batch.WholeArray})
	}
}
