//go:build linux

// Package node runs real Kubernetes nodes on this machine, several side by
// side, each with a container runtime of its own. It must be used in a cell
// (test/kubelet/cell): a node changes the machine that it runs on, and nothing
// here puts that back.
//
// A node is named after its address, 127.0.0.N: the kubelet takes a name that
// is an address for where it can be reached, also on the loopback network,
// where our API server is.
package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berth-dev/berth/pkg/sandbox/process"
	"github.com/berth-dev/berth/test/kubelet/cgroup"
	"github.com/berth-dev/berth/test/kubelet/kit"
	"github.com/berth-dev/berth/test/kubelet/logind"
)

// Sysctls are the settings of the kernel that a kubelet changes.
var Sysctls = []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"}

// Folders are those outside a node's own in which kubelet and runtime write,
// besides /run, and can't be told not to.
var Folders = []string{"/var/lib/cni", "/var/lib/kubelet", "/var/log/containers"}

// Options say what a node is like.
type Options struct {
	Number     int    // the node is 127.0.0.Number
	Dir        string // where it has its files; short, as sockets are among them
	Cgroup     string // the control group that its own is made in
	Kubeconfig string // an admin's
	Authority  string // certificate of whom the kubelet believes its callers
	Kit        kit.Kit
	Labels     map[string]string
}

// Node is a node that runs.
type Node struct {
	Name    string
	options Options
	api     kubernetes.Interface
	logind  *logind.Logind
	runtime *process.Process
	kubelet *process.Process
}

// startPatience is how long a node may take to be ready, on a busy machine.
const startPatience = 2 * time.Minute

// Start starts a node and returns when it is ready.
func Start(ctx context.Context, o Options) (*Node, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	n := &Node{Name: fmt.Sprintf("127.0.0.%d", o.Number), options: o}
	for _, step := range []func(context.Context) error{n.prepare, n.startRuntime, n.loadImages, n.StartKubelet, n.AwaitReady} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("start node %s: %w", n.Name, err)
		}
	}
	return n, nil
}

func (n *Node) path(parts ...string) string {
	return filepath.Join(append([]string{n.options.Dir}, parts...)...)
}

// prepare writes all that runtime and kubelet read.
func (n *Node) prepare(context.Context) (err error) {
	for _, folder := range []string{"cni", "logs", "pods", "manifests"} {
		if err := os.MkdirAll(n.path(folder), 0o755); err != nil {
			return err
		}
	}
	if err := cgroup.Make(n.cgroup()); err != nil {
		return err
	}
	if n.logind, err = logind.Start(n.path("bus")); err != nil {
		return err
	}
	for name, text := range map[string]string{"containerd.toml": n.runtimeConfig(), "cni/10-ptp.conflist": n.networkConfig(), "kubelet.yaml": n.kubeletConfig()} { //order:any files of different names
		if err := os.WriteFile(n.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return n.writeKubeconfig()
}

func (n *Node) cgroup() string { return fmt.Sprintf("%s/node-%d", n.options.Cgroup, n.options.Number) }

// writeKubeconfig makes the kubelet act as its node, with a node's rights and
// no more, by an admin's certificate: the sandbox's authority signs no more.
func (n *Node) writeKubeconfig() error {
	config, err := clientcmd.LoadFromFile(n.options.Kubeconfig)
	if err != nil {
		return err
	}
	user := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
	user.Impersonate, user.ImpersonateGroups = "system:node:"+n.Name, []string{"system:nodes"}
	if err := clientcmd.WriteToFile(*config, n.path("kubeconfig")); err != nil {
		return err
	}
	admin, err := clientcmd.BuildConfigFromFlags("", n.options.Kubeconfig)
	if err != nil {
		return err
	}
	admin.QPS = -1
	n.api, err = kubernetes.NewForConfig(admin)
	return err
}

func (n *Node) start(name, path string, args ...string) (*process.Process, error) {
	programs := strings.Join([]string{filepath.Dir(n.options.Kit.Containerd), filepath.Dir(n.options.Kit.Runc), os.Getenv("PATH")}, ":")
	return process.Start(process.Program{Path: path, Args: args, Env: []string{"PATH=" + programs, n.logind.Env()}, Log: n.path("logs", name+".log")})
}

func (n *Node) socket() string { return n.path("containerd.sock") }

func (n *Node) startRuntime(ctx context.Context) (err error) {
	if n.runtime, err = n.start("containerd", n.options.Kit.Containerd, "--config", n.path("containerd.toml")); err != nil {
		return err
	}
	return n.await(ctx, n.runtime, "containerd", func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", n.socket())
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

func (n *Node) loadImages(ctx context.Context) error {
	ctr := exec.CommandContext(ctx, n.options.Kit.Ctr, "--address", n.socket(), "--namespace", "k8s.io", "images", "import", n.options.Kit.Images)
	if out, err := ctr.CombinedOutput(); err != nil {
		return fmt.Errorf("load the images: %w: %s", err, out)
	}
	return nil
}

// StartKubelet starts the kubelet, which must not run.
func (n *Node) StartKubelet(context.Context) (err error) {
	var labels []string
	for key, value := range n.options.Labels { //order:any labels have none
		labels = append(labels, key+"="+value)
	}
	n.kubelet, err = n.start("kubelet", n.options.Kit.Kubelet,
		"--config="+n.path("kubelet.yaml"),
		"--kubeconfig="+n.path("kubeconfig"),
		"--hostname-override="+n.Name,
		"--root-dir="+n.path("kubelet"),
		"--cert-dir="+n.path("pki"),
		"--node-labels="+strings.Join(labels, ","),
		"--v=2")
	return err
}

// KillKubelet kills the kubelet. Its pods run on.
func (n *Node) KillKubelet() error {
	return process.Stop([]process.Identity{n.kubelet.Identity}, 0)
}

// Shutdown tells the kubelet that its machine goes down, as systemd does, and
// returns when it may: the kubelet has ended the pods, for which it has
// ShutdownGrace. KillKubelet is the end of it then, and StartKubelet boots it.
func (n *Node) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := n.logind.AwaitLock(ctx); err != nil {
		return fmt.Errorf("shut node %s down: %w", n.Name, err)
	}
	if err := n.logind.Shutdown(ctx); err != nil {
		return fmt.Errorf("shut node %s down: %w", n.Name, err)
	}
	return nil
}

// FreezeKubelet stops the kubelet as a machine does that hangs; ThawKubelet
// lets it go on.
func (n *Node) FreezeKubelet() error { return n.kubelet.Signal(syscall.SIGSTOP) }

// ThawKubelet ends what FreezeKubelet began.
func (n *Node) ThawKubelet() error { return n.kubelet.Signal(syscall.SIGCONT) }

// AwaitReady waits until the API server has it that the node is ready.
func (n *Node) AwaitReady(ctx context.Context) error {
	return n.await(ctx, n.kubelet, "kubelet", func(ctx context.Context) error {
		node, err := n.api.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
			if c.Type == corev1.NodeReady {
				err = fmt.Errorf("not ready: %s", c.Message)
			}
		}
		return err
	})
}

// await asks until the answer is nil, or the program that is waited for ends.
func (n *Node) await(ctx context.Context, p *process.Process, name string, ask func(context.Context) error) error {
	for {
		last := ask(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-p.Exited:
			return fmt.Errorf("%s has ended; the end of its log:\n%s", name, n.lastLines(name))
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (last: %w); the end of its log:\n%s", name, ctx.Err(), last, n.lastLines(name))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (n *Node) lastLines(name string) string {
	raw, err := os.ReadFile(n.Log(name))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// Log is the log file of kubelet or containerd.
func (n *Node) Log(name string) string { return n.path("logs", name+".log") }

// SetCapacity gives the node a resource that it does not have. A kubelet leaves
// what it does not know as it is, until it is started again.
func (n *Node) SetCapacity(ctx context.Context, resource corev1.ResourceName, amount string) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value"`
	}
	escaped := strings.ReplaceAll(string(resource), "/", "~1")
	patch, err := json.Marshal([]operation{
		{"add", "/status/capacity/" + escaped, amount},
		{"add", "/status/allocatable/" + escaped, amount},
	})
	if err != nil {
		return err
	}
	_, err = n.api.CoreV1().Nodes().Patch(ctx, n.Name, types.JSONPatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("give node %s %s of %s: %w", n.Name, amount, resource, err)
	}
	return nil
}
