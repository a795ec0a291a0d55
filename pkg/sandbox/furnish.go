package sandbox

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-dev/berth/pkg/sandbox/servers"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

// furnish fills a control plane that has just started: nodes, Berth, queues.
// Nodes and Berth are made side by side, as each waits for the other's
// machinery only.
func (s *Sandbox) furnish(ctx context.Context, log io.Writer, begin time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tasks := []func() error{
		func() error {
			for _, g := range s.options.NodeGroups {
				if err := s.AddNodes(ctx, g); err != nil {
					return err
				}
			}
			fmt.Fprintf(log, "Nodes are ready: %d (%s).\n", countNodes(s.options.NodeGroups), since(begin))
			return nil
		},
		func() error { return s.awaitServiceAccount(ctx) },
	}
	if s.options.Berth != WithoutBerth {
		tasks = append(tasks, func() error {
			if err := s.install(ctx); err != nil {
				return err
			}
			fmt.Fprintf(log, "Berth is installed (%s).\n", since(begin))
			return nil
		})
	}
	return inParallel(len(tasks), len(tasks), func(i int) error {
		err := tasks[i]()
		if err != nil {
			cancel() // the others need not go on
		}
		return err
	})
}

func countNodes(groups []NodeGroup) int {
	n := 0
	for _, g := range groups {
		n += g.Count
	}
	return n
}

// nodeWriters is how many nodes are created at a time; more are not faster on
// a machine that also runs the API server.
const nodeWriters = 8

// AddNodes adds simulated nodes and returns when all are ready and pods can be
// scheduled to them.
func (s *Sandbox) AddNodes(ctx context.Context, g NodeGroup) error {
	client, err := s.typed()
	if err != nil {
		return err
	}
	existing, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	nodes, err := simulate.Nodes(g, placeOf(existing.Items))
	if err != nil {
		return err
	}
	err = inParallel(len(nodes), nodeWriters, func(i int) error {
		nodes[i].Status.NodeInfo.KubeletVersion = servers.KubernetesVersion + "-simulated"
		_, err := client.CoreV1().Nodes().Create(ctx, nodes[i], metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create node %s: %w", nodes[i].Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.awaitNodes(ctx, client, g)
}

// placeOf counts the racks and blocks that nodes have.
func placeOf(nodes []corev1.Node) simulate.Place {
	racks, blocks := map[string]bool{}, map[string]bool{}
	for i := range nodes {
		if rack := nodes[i].Labels[simulate.RackLabel]; rack != "" {
			racks[rack] = true
		}
		if block := nodes[i].Labels[simulate.BlockLabel]; block != "" {
			blocks[block] = true
		}
	}
	return simulate.Place{Racks: len(racks), Blocks: len(blocks)}
}

// awaitNodes waits until the group's nodes are ready and have lost the taint
// that every new node gets until the node controller has seen it ready.
func (s *Sandbox) awaitNodes(ctx context.Context, client kubernetes.Interface, g NodeGroup) error {
	wanted := make(map[string]bool, g.Count)
	for i := range g.Count {
		wanted[g.NodeName(i)] = true
	}
	// Not so often that the asking slows down what is waited for.
	every := pollInterval + time.Duration(g.Count)*time.Millisecond/2
	return pollEvery(ctx, every, "nodes to be ready", func(ctx context.Context) error {
		// From the API server's memory: this is asked several times a second.
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		usable := 0
		for i := range list.Items {
			if wanted[list.Items[i].Name] && nodeUsable(&list.Items[i]) {
				usable++
			}
		}
		if usable < g.Count {
			return fmt.Errorf("%d of %d nodes %s-… are ready", usable, g.Count, g.Prefix)
		}
		return nil
	})
}

func nodeUsable(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	return nodeReady(node)
}

// awaitServiceAccount waits for the account without which no pod is let in.
func (s *Sandbox) awaitServiceAccount(ctx context.Context) error {
	client, err := s.typed()
	if err != nil {
		return err
	}
	return poll(ctx, "the service account default/default", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// pollInterval is short: what is waited for takes fractions of a second.
const pollInterval = 100 * time.Millisecond

// poll asks until the answer is nil. An answer that no waiting changes ends it.
func poll(ctx context.Context, what string, ask func(context.Context) error) error {
	return pollEvery(ctx, pollInterval, what, ask)
}

func pollEvery(ctx context.Context, interval time.Duration, what string, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err) {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (last: %w)", what, ctx.Err(), err)
		case <-time.After(interval):
		}
	}
}

// inParallel calls do for 0 … n-1, so many at a time, and returns the first
// error after all that had begun have ended.
func inParallel(n, workers int, do func(int) error) error {
	var (
		wait  sync.WaitGroup
		mu    sync.Mutex
		next  int
		first error
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || next == n {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(workers, n) {
		wait.Go(func() {
			for i, more := take(); more; i, more = take() {
				if err := do(i); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	return first
}
