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

	// patience is for what has no bound of its own: even where fifty pods start at
	// once on a machine that has other things to do.
	patience = 5 * time.Minute

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
	return newTeamOn(t, shared.nodes, "", everybody)
}

// newTeamWithNodes makes a team with nodes of its own, which it may break.
func newTeamWithNodes(t *testing.T, n int) *team {
	t.Helper()
	if unable != "" {
		t.Skip(unable)
	}
	nodes, label := startOwn(t, n)
	return newTeamOn(t, nodes, "", label)
}

// newTeamWithOneNode makes a team on a node that all share and on one of its
// own, which it may break. The other node that all share is a spare one: it has
// nothing of the team's resource until useSpare.
func newTeamWithOneNode(t *testing.T) (team *team, own *node.Node) {
	t.Helper()
	if unable != "" {
		t.Skip(unable)
	}
	nodes, label := startOwn(t, 1)
	return newTeamOn(t, []*node.Node{shared.nodes[0], nodes[0]}, "", everybody, label), nodes[0]
}

// useSpare gives the team the other node that all share.
func (t *team) useSpare() {
	t.t.Helper()
	t.equip(shared.nodes[1])
}

// beside is the team with a resource of another name, of which each of its nodes
// has 8 too: so that several jobs can have all of its nodes.
func (t *team) beside(name string) *team {
	t.t.Helper()
	other := *t
	other.resource = corev1.ResourceName(fmt.Sprintf("%s-%s", t.resource, name))
	other.equip(t.nodes...)
	return &other
}

// startOwn starts nodes that a test has for itself, and says by which label.
func startOwn(t *testing.T, n int) ([]*node.Node, string) {
	t.Helper()
	label := fmt.Sprint("own-", teams.Add(1))
	nodes, err := shared.startNodes(t.Context(), n, map[string]string{teamLabel: label})
	if err != nil {
		t.Fatal(err)
	}
	return nodes, label
}

// newTeamOn makes a team on nodes that have one of some labels.
func newTeamOn(t *testing.T, nodes []*node.Node, resource corev1.ResourceName, labels ...string) *team {
	t.Helper()
	team := &team{cluster: shared, t: t, name: fmt.Sprintf("%s-%d", look.Slug(t.Name()), teams.Add(1)), nodes: nodes, resource: resource}
	if team.resource == "" {
		team.resource = corev1.ResourceName("gpu.test/" + team.name)
	}
	t.Cleanup(team.leave)
	team.equip(nodes...)
	team.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team.name}})
	team.create(&v1alpha1.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: team.name},
		Spec: v1alpha1.ResourceFlavorSpec{NodeSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: teamLabel, Operator: metav1.LabelSelectorOpIn, Values: labels},
		}}},
	})
	team.makeQueue(team.name, queueName, v1alpha1.ClusterQueueSpec{})
	team.letPodsAcknowledge()
	return team
}

// equip gives nodes the team's resource.
func (t *team) equip(nodes ...*node.Node) {
	t.t.Helper()
	for _, n := range nodes {
		t.must(n.SetCapacity(t.t.Context(), t.resource, fmt.Sprint(unitsPerNode)))
	}
}

// boot starts the kubelet of a node that is not ready.
func (t *team) boot(n *node.Node) {
	t.t.Helper()
	t.must(n.StartKubelet(t.t.Context()))
	t.must(n.AwaitReady(t.t.Context()))
	t.equip(n) // a kubelet that is new takes back what others have said of its node
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

// must says that a step of the test itself worked.
func (t *team) must(err error) {
	t.t.Helper()
	if err != nil {
		t.t.Fatal(err)
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

// leave says that no unit was ever given twice, tells what is there if the test
// has failed, and takes away what runs.
func (t *team) leave() {
	t.mustNeverHaveSharedUnits()
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
