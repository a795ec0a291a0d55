package sandbox

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	berth "github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox/process"
	"github.com/berth-dev/berth/pkg/sandbox/servers"
)

// Status is how a sandbox does.
type Status struct {
	Dir        string
	Age        time.Duration
	Versions   map[string]string
	Components []ComponentStatus
	Nodes      int
	NodesReady int
	Queues     []QueueStatus
	// Problem is why nodes and queues could not be read; nil if they were.
	Problem error
}

// ComponentStatus is how one program does.
type ComponentStatus struct {
	Name   string
	PID    int
	Port   int
	State  string // "healthy", or what is wrong
	Memory int64  // resident bytes
}

// QueueStatus is what one LocalQueue says of itself.
type QueueStatus struct {
	Name          string // namespace/name
	ClusterQueues []string
	Pending       int64
	Running       int64
}

const stateHealthy = "healthy"

// Healthy says whether all that should run does.
func (s *Status) Healthy() bool {
	for _, c := range s.Components {
		if c.State != stateHealthy {
			return false
		}
	}
	return s.Problem == nil && s.NodesReady == s.Nodes
}

// Status looks at the sandbox. Its error is ErrNotRunning, or that nothing
// could be looked at; what is broken is in the Status.
func (s *Sandbox) Status(ctx context.Context) (*Status, error) {
	state, err := readState(s.Dir)
	if err != nil {
		return nil, err
	}
	if state == nil {
		return nil, fmt.Errorf("%w in %s", ErrNotRunning, s.Dir)
	}
	probe, err := newProber(s.Dir)
	if err != nil {
		return nil, err
	}
	defer probe.close()
	status := &Status{
		Dir:      s.Dir,
		Age:      time.Since(state.Created),
		Versions: map[string]string{"Kubernetes": servers.KubernetesVersion, "etcd": servers.EtcdVersion, "kwok": servers.KwokVersion},
	}
	for _, name := range Components() {
		if c := state.component(name); c != nil {
			status.Components = append(status.Components, componentStatus(ctx, probe, c))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	status.Problem = s.readCluster(ctx, status)
	return status, nil
}

func componentStatus(ctx context.Context, probe *prober, c *componentState) ComponentStatus {
	status := ComponentStatus{Name: c.Name, PID: c.PID, Port: c.Port, State: stateHealthy}
	if !c.Alive() {
		status.State = "not running"
		return status
	}
	status.Memory = process.Memory(c.PID)
	if err := probe.health(ctx, *c); err != nil {
		status.State = "unhealthy: " + err.Error()
	}
	return status
}

// readCluster reads nodes and queues.
func (s *Sandbox) readCluster(ctx context.Context, status *Status) error {
	api, err := s.typed()
	if err != nil {
		return err
	}
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	status.Nodes = len(nodes.Items)
	for i := range nodes.Items {
		if nodeReady(&nodes.Items[i]) {
			status.NodesReady++
		}
	}
	reader, err := dynamic.NewForConfig(s.config)
	if err != nil {
		return err
	}
	queues, err := reader.Resource(berth.GroupVersion.WithResource("localqueues")).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil // plain Kubernetes
	}
	if err != nil {
		return fmt.Errorf("list LocalQueues: %w", err)
	}
	for _, q := range queues.Items {
		status.Queues = append(status.Queues, queueStatus(q.Object, q.GetNamespace()+"/"+q.GetName()))
	}
	return nil
}

// queueStatus reads what it finds; a field that is missing is zero.
func queueStatus(object map[string]any, name string) QueueStatus {
	status := QueueStatus{Name: name}
	status.ClusterQueues, _, _ = unstructured.NestedStringSlice(object, "spec", "clusterQueueNames")
	status.Pending, _, _ = unstructured.NestedInt64(object, "status", "pending")
	status.Running, _, _ = unstructured.NestedInt64(object, "status", "running")
	return status
}

func nodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
