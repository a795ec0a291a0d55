package e2e

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

const (
	// inspectEvery is how often the inspector looks.
	inspectEvery = 200 * time.Millisecond
	// startUp is how long a gang may be partly there: while it starts, and
	// while a lost pod is being replaced.
	startUp = 30 * time.Second
	// answerTime is how long a workload may be without any condition.
	answerTime = 30 * time.Second
)

// inspector looks at the whole cluster again and again, and writes down what
// must never be:
//
//   - the pods that are bound to a node and not terminal ask for more than it has;
//   - a gang runs in part, for longer than a start or a replacement takes;
//   - a workload has no condition, so that nobody knows what becomes of it;
//   - a workload is in two states at once (B18).
type inspector struct {
	history *history

	mu       sync.Mutex
	findings []finding
	known    map[string]bool
	retired  map[string]bool          // namespaces and nodes that are being taken away
	recovery map[string]time.Duration // by namespace, where pods are lost on purpose
	since    map[string]time.Time     // when something tolerable began
	pardon   time.Time                // until then nobody decides: the controller was stopped
	looks    int
}

// finding is a broken invariant, and whose: a namespace or a node.
type finding struct {
	of      string
	text    string
	at      time.Time
	claimed bool
}

func (f finding) String() string {
	return fmt.Sprintf("%s %s: %s", f.at.UTC().Format("15:04:05.000"), f.of, f.text)
}

func newInspector(h *history) *inspector {
	return &inspector{history: h, known: map[string]bool{}, retired: map[string]bool{}, recovery: map[string]time.Duration{}, since: map[string]time.Time{}}
}

func (i *inspector) run(ctx context.Context) {
	ticks := time.NewTicker(inspectEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if err := i.look(ctx, time.Now()); err != nil && ctx.Err() == nil {
			i.find("inspector", err.Error())
		}
	}
}

// expectLosses says that gangs of a namespace will lose pods, and how long it
// may take until they are whole again: the Job controller alone waits for 10
// seconds before it replaces a pod.
func (i *inspector) expectLosses(namespace string, recovery time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.recovery[namespace] = recovery
}

func (i *inspector) recoveryOf(namespace string) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return max(startUp, i.recovery[namespace])
}

// excuse tells the inspector that nothing is decided for some time.
func (i *inspector) excuse(until time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if until.After(i.pardon) {
		i.pardon = until
	}
}

func (i *inspector) look(ctx context.Context, now time.Time) error {
	var (
		pods      corev1.PodList
		nodes     corev1.NodeList
		workloads v1alpha1.QueuedWorkloadList
	)
	// What the lists hold is only read, so it need not be copied.
	for _, list := range []client.ObjectList{&pods, &nodes, &workloads} {
		if err := i.history.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
	}
	i.lookAtNodes(nodes.Items, pods.Items)
	i.mu.Lock()
	pardoned := now.Before(i.pardon)
	i.looks++
	i.mu.Unlock()
	i.lookAtWorkloads(workloads.Items, pods.Items, now, pardoned)
	return nil
}

func (i *inspector) lookAtNodes(nodes []corev1.Node, pods []corev1.Pod) {
	used := map[string]corev1.ResourceList{}
	for k := range pods {
		pod := &pods[k]
		if pod.Spec.NodeName == "" || terminal(pod) {
			continue
		}
		sum := used[pod.Spec.NodeName]
		if sum == nil {
			sum = corev1.ResourceList{}
			used[pod.Spec.NodeName] = sum
		}
		for name, quantity := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			total := sum[name]
			total.Add(quantity)
			sum[name] = total
		}
	}
	for k := range nodes {
		node := &nodes[k]
		for name, total := range used[node.Name] {
			if has := node.Status.Allocatable[name]; total.Cmp(has) > 0 {
				i.find(node.Name, fmt.Sprintf("bound pods ask for %s %s, the node has %s", total.String(), name, has.String()))
			}
		}
	}
}

func (i *inspector) lookAtWorkloads(workloads []v1alpha1.QueuedWorkload, pods []corev1.Pod, now time.Time, pardoned bool) {
	byOwner := map[types.UID][]*corev1.Pod{}
	for k := range pods {
		owner := pods[k].UID
		if ref := metav1.GetControllerOf(&pods[k]); ref != nil {
			owner = ref.UID
		}
		byOwner[owner] = append(byOwner[owner], &pods[k])
	}
	for k := range workloads {
		qw := &workloads[k]
		owner := metav1.GetControllerOf(qw)
		if owner == nil || qw.DeletionTimestamp != nil {
			continue
		}
		if on := states(qw); len(qw.Status.Conditions) > 0 && len(on) != 1 {
			i.find(qw.Namespace, fmt.Sprintf("workload %s is in the states %v at once, it must be in one", qw.Name, on))
		}
		i.hold(qw, "silent", len(qw.Status.Conditions) == 0 && !pardoned, now, answerTime, "has no condition at all")
		held, text := countPods(byOwner[owner.UID])
		want := int(*qw.Spec.PodSets[0].Count)
		partly := running(qw) && held > 0 && held < want
		i.hold(qw, "partly", partly, now, i.recoveryOf(qw.Namespace), fmt.Sprintf("runs in part: %s of %d pods", text, want))
	}
}

// countPods counts the pods that run, and those that need not any more.
func countPods(pods []*corev1.Pod) (held int, text string) {
	bound, succeeded := 0, 0
	for _, pod := range pods {
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			succeeded++
		case pod.Spec.NodeName != "" && !terminal(pod):
			bound++
		}
	}
	if bound == 0 {
		return 0, ""
	}
	return bound + succeeded, fmt.Sprintf("%d running and %d succeeded", bound, succeeded)
}

// states are those of Pending, Admitted and Finished that a workload is in.
func states(qw *v1alpha1.QueuedWorkload) []string {
	var on []string
	for _, kind := range []string{v1alpha1.ConditionPending, v1alpha1.ConditionAdmitted, v1alpha1.ConditionFinished} {
		if meta.IsStatusConditionTrue(qw.Status.Conditions, kind) {
			on = append(on, kind)
		}
	}
	return on
}

// running says whether all of a workload should run.
func running(qw *v1alpha1.QueuedWorkload) bool {
	return qw.Status.Allocation != nil &&
		!meta.IsStatusConditionTrue(qw.Status.Conditions, v1alpha1.ConditionEvicted) &&
		!meta.IsStatusConditionTrue(qw.Status.Conditions, v1alpha1.ConditionFinished)
}

// hold writes down what has been so for too long.
func (i *inspector) hold(qw *v1alpha1.QueuedWorkload, kind string, is bool, now time.Time, limit time.Duration, text string) {
	key := kind + " " + string(qw.UID)
	i.mu.Lock()
	began, known := i.since[key]
	switch {
	case !is:
		delete(i.since, key)
	case !known:
		i.since[key] = now
	}
	i.mu.Unlock()
	if is && known && now.Sub(began) > limit {
		i.find(qw.Namespace, fmt.Sprintf("workload %s, for more than %s: %s", qw.Name, limit, text))
	}
}

func (i *inspector) find(of, text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.known[of+text] && !i.retired[of] {
		i.known[of+text] = true
		i.findings = append(i.findings, finding{of: of, text: text, at: time.Now()})
	}
}

// retire hands over the findings about a namespace and its nodes, and looks at
// them no more.
func (i *inspector) retire(namespace string, nodes []string) []finding {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, name := range append([]string{namespace}, nodes...) {
		i.retired[name] = true
	}
	var out []finding
	for k := range i.findings {
		if f := &i.findings[k]; i.retired[f.of] && !f.claimed {
			f.claimed = true
			out = append(out, *f)
		}
	}
	return out
}

// unclaimed are the findings that no test has been told of.
func (i *inspector) unclaimed() []finding {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []finding
	if i.looks == 0 {
		out = append(out, finding{of: "inspector", text: "never looked", at: time.Now()})
	}
	for _, f := range i.findings {
		if !f.claimed {
			out = append(out, f)
		}
	}
	return out
}
