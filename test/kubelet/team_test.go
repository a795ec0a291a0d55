//go:build linux

package kubelet

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/test/kubelet/evidence"
	"github.com/berth-dev/berth/test/kubelet/node"
	"github.com/berth-dev/berth/test/look"
)

const (
	// teamLabel says who may use a node.
	teamLabel = "kubelet/team"
	everybody = "everybody"
	queueName = "queue"

	// patience is for what has no bound of its own.
	patience = 60 * time.Second

	// clock is how times are written.
	clock = "15:04:05.000"

	firstNode = 2
)

var (
	nodeNumbers atomic.Int32 // the last number that was given away
	teams       atomic.Int32
)

func init() { nodeNumbers.Store(firstNode - 1) }

// team is a namespace with a LocalQueue and a ClusterQueue, and a resource of
// its own, of which each of its nodes has 8: so that tests share nodes, and yet
// have them for themselves.
type team struct {
	*cluster
	t        *testing.T
	name     string
	resource corev1.ResourceName
	nodes    []*node.Node
	queues   []*v1alpha1.ClusterQueue
}

const unitsPerNode = 8

// newTeam makes a team on the nodes that all share.
func newTeam(t *testing.T) *team {
	t.Helper()
	if unable != "" {
		t.Skip(unable)
	}
	return newTeamOn(t, shared.nodes, everybody, "")
}

// newTeamWithNodes makes a team with nodes of its own, which it may break.
func newTeamWithNodes(t *testing.T, n int) *team {
	t.Helper()
	if unable != "" {
		t.Skip(unable)
	}
	label := fmt.Sprint("own-", teams.Add(1))
	nodes, err := shared.startNodes(t.Context(), n, map[string]string{teamLabel: label})
	if err != nil {
		t.Fatal(err)
	}
	return newTeamOn(t, nodes, label, "")
}

func newTeamOn(t *testing.T, nodes []*node.Node, label string, resource corev1.ResourceName) *team {
	t.Helper()
	team := &team{cluster: shared, t: t, name: fmt.Sprintf("%s-%d", look.Slug(t.Name()), teams.Add(1)), nodes: nodes, resource: resource}
	if team.resource == "" {
		team.resource = corev1.ResourceName("gpu.test/" + team.name)
	}
	t.Cleanup(team.leave)
	for _, n := range nodes {
		if err := n.SetCapacity(t.Context(), team.resource, fmt.Sprint(unitsPerNode)); err != nil {
			t.Fatal(err)
		}
	}
	team.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team.name}})
	team.create(&v1alpha1.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: team.name},
		Spec:       v1alpha1.ResourceFlavorSpec{NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{teamLabel: label}}},
	})
	team.makeQueue(team.name, queueName, v1alpha1.ClusterQueueSpec{})
	team.letPodsAcknowledge()
	return team
}

// makeQueue makes a ClusterQueue on the team's nodes, with a LocalQueue.
func (t *team) makeQueue(name, door string, spec v1alpha1.ClusterQueueSpec) {
	t.t.Helper()
	spec.Flavors = []v1alpha1.QueueFlavor{{Name: t.name}}
	queue := &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	t.create(queue)
	t.queues = append(t.queues, queue)
	t.create(&v1alpha1.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: door},
		Spec:       v1alpha1.LocalQueueSpec{ClusterQueueNames: []string{name}},
	})
}

// letPodsAcknowledge gives the namespace's pods the right to annotate
// themselves.
func (t *team) letPodsAcknowledge() {
	t.t.Helper()
	t.create(&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "acknowledge"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"patch"}}},
	})
	t.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "acknowledge"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "acknowledge"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: t.name, Name: "default"}},
	})
}

func (t *team) create(object client.Object) {
	t.t.Helper()
	if err := t.client.Create(t.t.Context(), object); err != nil {
		t.t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// edit changes an object, as it is now.
func (t *team) edit(key client.ObjectKey, object client.Object, change func()) {
	t.t.Helper()
	for {
		if err := t.client.Get(t.t.Context(), key, object); err != nil {
			t.t.Fatalf("read %T %s: %v", object, key, err)
		}
		change()
		err := t.client.Update(t.t.Context(), object)
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			t.t.Fatalf("edit %T %s: %v", object, key, err)
		}
	}
}

func (t *team) remove(object client.Object) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // the test's own has ended
	defer cancel()
	if err := t.client.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		t.t.Errorf("remove %T %s: %v", object, object.GetName(), err)
	}
}

// leave tells what is there if the test has failed, and takes away what runs.
func (t *team) leave() {
	if t.t.Failed() {
		t.tell()
	}
	t.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.name}})
	for _, queue := range t.queues {
		t.remove(queue)
	}
	t.remove(&v1alpha1.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: t.name}})
}

// tell logs what a person would look at.
func (t *team) tell() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var workloads v1alpha1.QueuedWorkloadList
	if err := t.client.List(ctx, &workloads, client.InNamespace(t.name)); err != nil {
		t.t.Logf("list workloads: %v", err)
	}
	for i := range workloads.Items {
		t.t.Logf("%s", describe(&workloads.Items[i]))
	}
	var pods corev1.PodList
	if err := t.client.List(ctx, &pods, client.InNamespace(t.name)); err != nil {
		t.t.Logf("list pods: %v", err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		t.t.Logf("pod %s on %q: %s, deleted %v, %+v", p.Name, p.Spec.NodeName, p.Status.Phase, p.DeletionTimestamp, p.Status.ContainerStatuses)
	}
	files, err := os.ReadDir(evidenceDir)
	if err != nil {
		t.t.Logf("read the evidence: %v", err)
	}
	for _, file := range files {
		if life, err := evidence.Read(evidenceDir, file.Name()); strings.HasPrefix(file.Name(), t.name) {
			t.t.Logf("evidence of %s (%v): %v; last sign of life %s", file.Name(), err, life.Told(), life.End().Format(clock))
		}
	}
}

// describe is a workload in some lines.
func describe(qw *v1alpha1.QueuedWorkload) string { return look.Workload(qw) }

// eventually waits for something to be so; the text is what it looks like now.
func eventually(t *testing.T, within time.Duration, what string, see func() (saw string, ok bool)) {
	t.Helper()
	look.Eventually(t, within, what, see)
}
