package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
	"github.com/berth-dev/berth/test/look"
)

const (
	// teamLabel is on the nodes of a team.
	teamLabel = "e2e/team"
	// queueName is the LocalQueue of each team.
	queueName = "queue"
	gpu       = "nvidia.com/gpu"

	// soon is for what takes a moment, patience for what takes longer. Both are
	// for a machine that is busy with other things: no test waits so long where
	// all is well, and none measures by them (that is what mustTake is for).
	soon     = 30 * time.Second
	patience = 2 * time.Minute
)

var teams atomic.Int32

// team is a namespace with a LocalQueue, its ClusterQueue, and nodes on which
// nobody else's work runs. The ClusterQueue, the ResourceFlavor and the
// namespace have the team's name.
type team struct {
	*cluster
	t     *testing.T
	name  string
	nodes []string // in order of name
}

// setup is how a team is not like others.
type setup struct {
	groups []sandbox.NodeGroup
	queue  func(*v1alpha1.ClusterQueueSpec)
	labels map[string]string
	name   string
}

type option func(*setup)

// nodes gives the team n nodes with so many GPUs each.
func nodes(n, gpus int) option {
	return nodesWith(n, map[string]string{gpu: fmt.Sprint(gpus)})
}

// nodesWith gives the team n nodes with these resources each.
func nodesWith(n int, resources map[string]string) option {
	return func(s *setup) { s.groups = append(s.groups, nodeGroup(n, resources)) }
}

func nodeGroup(n int, resources map[string]string) sandbox.NodeGroup {
	group := sandbox.NodeGroup{Count: n, Resources: map[string]simulate.Amount{}}
	for name, amount := range resources {
		group.Resources[name] = simulate.Amount(amount)
	}
	return group
}

// clusterQueue edits the spec of the team's ClusterQueue.
func clusterQueue(edit func(*v1alpha1.ClusterQueueSpec)) option {
	return func(s *setup) { s.queue = edit }
}

// labelledNamespace puts a label on the team's namespace.
func labelledNamespace(key, value string) option {
	return func(s *setup) { s.labels[key] = value }
}

// called gives the team, and with it the namespace and the ClusterQueue, a name.
func called(name string) option { return func(s *setup) { s.name = name } }

// newTeam makes a team; it goes with the test.
func newTeam(t *testing.T, options ...option) *team {
	t.Helper()
	s := &setup{labels: map[string]string{}}
	for _, o := range options {
		o(s)
	}
	if s.name == "" {
		s.name = fmt.Sprintf("%s-%d", look.Slug(t.Name()), teams.Add(1))
	}
	team := &team{cluster: shared, t: t, name: s.name}
	t.Cleanup(team.leave)
	for _, group := range s.groups {
		team.addNodes(group)
	}
	team.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team.name, Labels: s.labels}})
	team.create(&v1alpha1.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: team.name},
		Spec:       v1alpha1.ResourceFlavorSpec{NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{teamLabel: team.name}}},
	})
	team.makeQueue(team.name, s.queue)
	team.makeDoor(queueName, team.name)
	team.awaitServiceAccount()
	return team
}

// addNodes gives the team more nodes, and returns their names.
func (t *team) addNodes(group sandbox.NodeGroup) []string {
	t.t.Helper()
	group.Prefix = fmt.Sprintf("n%03d", teams.Add(1)) // in order of name, like of age
	group.Labels = map[string]string{teamLabel: t.name}
	if err := t.sandbox.AddNodes(t.t.Context(), group); err != nil {
		t.t.Fatal(err)
	}
	first := len(t.nodes)
	for k := range group.Count {
		t.nodes = append(t.nodes, group.NodeName(k))
	}
	return t.nodes[first:]
}

// makeQueue makes a ClusterQueue on the team's nodes.
func (t *team) makeQueue(name string, edit func(*v1alpha1.ClusterQueueSpec)) *v1alpha1.ClusterQueue {
	t.t.Helper()
	queue := &v1alpha1.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.ClusterQueueSpec{Flavors: []v1alpha1.QueueFlavor{{Name: t.name}}},
	}
	if edit != nil {
		edit(&queue.Spec)
	}
	t.create(queue)
	t.t.Cleanup(func() { t.remove(queue) })
	return queue
}

// makeDoor makes a LocalQueue in the team's namespace.
func (t *team) makeDoor(name, queue string) {
	t.t.Helper()
	t.create(&v1alpha1.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name},
		Spec:       v1alpha1.LocalQueueSpec{ClusterQueueNames: []string{queue}},
	})
}

// awaitServiceAccount waits for the account without which a bare pod is refused.
func (t *team) awaitServiceAccount() {
	t.t.Helper()
	t.eventually(patience, "the namespace has its service account", func() (string, bool) {
		err := t.client.Get(t.t.Context(), client.ObjectKey{Namespace: t.name, Name: "default"}, &corev1.ServiceAccount{})
		return fmt.Sprint(err), err == nil
	})
}

func (t *team) create(object client.Object) {
	t.t.Helper()
	if err := t.client.Create(t.t.Context(), object); err != nil {
		t.t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// edit changes an object, as it is now.
func (t *team) edit(object client.Object, change func()) {
	t.t.Helper()
	if err := t.tryEdit(t.client, object, change); err != nil {
		t.t.Fatalf("edit %T %s: %v", object, object.GetName(), err)
	}
}

// tryEdit is edit by anybody, who may be refused.
func (t *team) tryEdit(who client.Client, object client.Object, change func()) error {
	for {
		if err := t.client.Get(t.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change()
		err := who.Update(t.t.Context(), object)
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// as is the cluster as a person sees it who may edit the team's namespace.
func (t *team) as(user string) client.Client {
	t.t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, GenerateName: user + "-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	t.create(binding)
	config := t.sandbox.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	person, err := client.New(config, client.Options{Scheme: t.scheme})
	if err != nil {
		t.t.Fatal(err)
	}
	t.eventually(patience, user+" has rights", func() (string, bool) {
		err := person.List(t.t.Context(), &v1alpha1.QueuedWorkloadList{}, client.InNamespace(t.name))
		return fmt.Sprint(err), err == nil
	})
	return person
}

// eventually waits for something to be so; the text is what it looks like now.
func (t *team) eventually(within time.Duration, what string, see func() (saw string, ok bool)) {
	t.t.Helper()
	eventually(t.t, within, what, see)
}

func eventually(t *testing.T, within time.Duration, what string, see func() (saw string, ok bool)) {
	t.Helper()
	look.Eventually(t, within, what, see)
}

// leave checks what the inspector has found, tells what is there if the test
// has failed, and takes everything away.
func (t *team) leave() {
	for _, finding := range t.inspector.retire(t.name, t.nodes) {
		t.t.Errorf("invariant broken: %s", finding)
	}
	if t.t.Failed() {
		t.tell()
	}
	t.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.name}})
	t.remove(&v1alpha1.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: t.name}})
	for _, node := range t.nodes {
		t.remove(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
	}
}

func (t *team) remove(object client.Object) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own has ended
	defer cancel()
	if err := t.client.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		t.t.Errorf("remove %T %s: %v", object, object.GetName(), err)
	}
}

// tell logs what a person would look at.
func (t *team) tell() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var workloads v1alpha1.QueuedWorkloadList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&workloads, &pods} {
		if err := t.client.List(ctx, list, client.InNamespace(t.name)); err != nil {
			t.t.Logf("list %T: %v", list, err)
		}
	}
	for i := range workloads.Items {
		t.t.Logf("%s", describe(&workloads.Items[i]))
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Status.Phase == corev1.PodSucceeded {
			continue
		}
		t.t.Logf("pod %s on %q: %s, gates %v, deleted %v", p.Name, p.Spec.NodeName, p.Status.Phase, p.Spec.SchedulingGates, p.DeletionTimestamp)
	}
}

// describe is a workload in some lines.
func describe(qw *v1alpha1.QueuedWorkload) string { return look.Workload(qw) }
