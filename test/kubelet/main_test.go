//go:build linux

package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox"
	"github.com/berth-dev/berth/pkg/sandbox/servers"
	"github.com/berth-dev/berth/test/kubelet/cell"
	"github.com/berth-dev/berth/test/kubelet/cgroup"
	"github.com/berth-dev/berth/test/kubelet/kit"
	"github.com/berth-dev/berth/test/kubelet/node"
	"github.com/berth-dev/berth/test/kubelet/pace"
)

const (
	// atOnce is how many tests run beside each other; they mostly wait.
	atOnce = "4"
	// cgroupName is the control group of all that the nodes run.
	cgroupName = "/berth-kubelet"
	// evidenceDir is where pods write what happens to them.
	evidenceDir = "/run/evidence"
	// nodeTimeout is when a node that gives no sign of life is not ready.
	nodeTimeout = 15 * time.Second
	// lossTimeout is the nodeFailure.timeout of the cluster: from then on.
	lossTimeout = 30 * time.Second
	// kubectlCache is where kubectl keeps what it has learnt.
	kubectlCache = "/run/kubectl"
	// serviceAddress is that of the service kubernetes.
	serviceAddress = "10.96.0.1"
	// toolsVariable tells the inside what was built outside, where there is a
	// network.
	toolsVariable = "BERTH_KUBELET_TOOLS"
	// requiredVariable says whether the tests may be skipped.
	requiredVariable = "BERTH_KUBELET"
	required         = "required"
)

// tools is what was built.
type tools struct {
	Kit        kit.Kit `json:"kit"`
	Controller string  `json:"controller"`
}

// unable is why this machine can't run these tests; empty: it can.
var unable string

// shared is the cluster of all tests; its nodes are those that no test breaks.
var shared *cluster

type cluster struct {
	sandbox *sandbox.Sandbox
	tools   tools
	client  client.Client // the admin's
	history *history
	pace    *pace.Meter
	nodes   []*node.Node
}

func TestMain(m *testing.M) {
	run := outside
	if cell.Begin() {
		run = inside
	}
	flag.Parse()
	parallel, list := false, false
	flag.Visit(func(f *flag.Flag) {
		parallel = parallel || f.Name == "test.parallel"
		list = list || f.Name == "test.list"
	})
	if !parallel {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			panic(err) // there is such a flag
		}
	}
	if list {
		os.Exit(m.Run())
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		code = 1
	}
	os.Exit(code)
}

// outside builds what is needed and runs the tests in a cell.
func outside(m *testing.M) (code int, err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	if unable = whyUnable(); unable != "" {
		return skip(m)
	}
	cache, err := servers.CacheDir()
	if err != nil {
		return 1, err
	}
	// What is built stays there: the next run overwrites it.
	dir := filepath.Join(cache, "kubelet-cell")
	unlock, err := cell.Lock(ctx, dir, os.Stderr)
	if err != nil {
		return 1, err
	}
	defer unlock()
	built, err := build(ctx, dir)
	if errors.Is(err, kit.ErrUnavailable) {
		unable = err.Error()
		return skip(m)
	}
	if err != nil {
		return 1, err
	}
	handed, err := json.Marshal(built)
	if err != nil {
		return 1, err
	}
	return cell.Run(ctx, cell.Options{
		Dir:       dir,
		Cgroup:    cgroupName,
		Private:   node.Folders,
		Sysctls:   node.Sysctls,
		Addresses: []string{serviceAddress},
		Env:       []string{toolsVariable + "=" + string(handed)},
	})
}

// whyUnable says what is missing.
func whyUnable() string {
	if os.Geteuid() != 0 {
		return "nodes need root, and this is user " + fmt.Sprint(os.Geteuid())
	}
	if names := kit.Missing(); len(names) > 0 {
		return fmt.Sprintf("no %s: the container runtime comes from Debian's packages, the kubelet from Go modules", strings.Join(names, ", "))
	}
	missing, err := cgroup.Missing()
	if err != nil {
		return err.Error()
	}
	if len(missing) > 0 {
		return fmt.Sprintf("no control groups of version 1 for %s (version 2 is not supported here)", strings.Join(missing, ", "))
	}
	if err := cell.Possible(); err != nil {
		return err.Error()
	}
	return ""
}

// skip runs tests that skip themselves, with the reason; or fails, where
// somebody relies on them.
func skip(m *testing.M) (int, error) {
	if os.Getenv(requiredVariable) == required {
		return 1, fmt.Errorf("%s=%s, and this machine can't run nodes: %s", requiredVariable, required, unable)
	}
	fmt.Printf("SKIP: the tests with a real kubelet can't run here: %s\n", unable)
	return m.Run(), nil
}

// build builds outside what is run inside.
func build(ctx context.Context, dir string) (*tools, error) {
	if _, err := servers.Ensure(ctx, os.Stderr); err != nil {
		return nil, err
	}
	parts, err := kit.Ensure(ctx, dir, os.Stderr)
	if err != nil {
		return nil, err
	}
	built := &tools{Kit: *parts, Controller: filepath.Join(dir, "berth-controller")}
	// Of this checkout, so that it is never an older one that is tested.
	command := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", built.Controller, "github.com/berth-dev/berth/cmd/berth-controller")
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the controller: %w\n%s", err, out)
	}
	return built, nil
}

// inside starts the cluster and runs the tests. It takes nothing down: all of
// it goes with the cell.
func inside(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr), zap.Level(zap.NewRaw().Level())))
	begin := time.Now()
	if shared, err = newCluster(ctx); err != nil {
		return 1, err
	}
	fmt.Fprintf(os.Stderr, "Nodes with a real kubelet are ready (%s).\n", time.Since(begin).Round(100*time.Millisecond))
	code = m.Run()
	if code != 0 {
		shared.keepLogs(os.Getenv("BERTH_E2E_KEEP"))
	}
	return code, nil
}

func newCluster(ctx context.Context) (*cluster, error) {
	c := &cluster{pace: pace.Start()}
	if err := json.Unmarshal([]byte(os.Getenv(toolsVariable)), &c.tools); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(evidenceDir, 0o755); err != nil {
		return nil, err
	}
	var err error
	c.sandbox, err = sandbox.Up(ctx, sandbox.Options{
		Exec:           sandbox.WithExec,
		Dir:            "/run/sandbox",
		NodeGroups:     []sandbox.NodeGroup{}, // real ones only
		NodeTimeout:    nodeTimeout,
		Queues:         sandbox.NoQueues,
		ControllerPath: c.tools.Controller,
		// There is only one, and nobody starts it again: on a machine that has too
		// much to do it would lose its lease, and end.
		ControllerArgs: []string{"--leader-elect=false"},
		Log:            os.Stderr,
	})
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	config := c.sandbox.RESTConfig()
	config.WarningHandler = rest.NoWarnings{}
	if c.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	policy := &v1alpha1.SchedulingPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SchedulingPolicyName},
		Spec: v1alpha1.SchedulingPolicySpec{
			NodeFailure: &v1alpha1.NodeFailurePolicy{Timeout: v1alpha1.Duration(lossTimeout.String())},
		},
	}
	if err := c.client.Create(ctx, policy); err != nil {
		return nil, err
	}
	if c.history, err = watchPods(ctx, config, scheme); err != nil {
		return nil, err
	}
	if err := relay(ctx, net.JoinHostPort(serviceAddress, "443"), config.Host); err != nil {
		return nil, err
	}
	c.nodes, err = c.startNodes(ctx, 2, map[string]string{teamLabel: everybody})
	return c, err
}

// startNodes starts nodes side by side.
func (c *cluster) startNodes(ctx context.Context, n int, labels map[string]string) ([]*node.Node, error) {
	nodes, errs := make([]*node.Node, n), make([]error, n)
	done := make(chan int)
	for i := range n {
		number := int(nodeNumbers.Add(1))
		go func() {
			nodes[i], errs[i] = node.Start(ctx, node.Options{
				Number:     number,
				Dir:        fmt.Sprintf("/run/node-%d", number),
				Cgroup:     cgroupName,
				Kubeconfig: c.sandbox.Kubeconfig,
				Authority:  filepath.Join(c.sandbox.Dir, "pki", "ca.crt"),
				Kit:        c.tools.Kit,
				Labels:     labels,
			})
			done <- i
		}()
	}
	for range n {
		<-done
	}
	return nodes, errors.Join(errs...)
}

// relay does for pods what kube-proxy does in a cluster: the service kubernetes
// leads to the API server, which only listens on the loopback device.
func relay(ctx context.Context, from, host string) error {
	target, err := url.Parse(host)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", from)
	if err != nil {
		return fmt.Errorf("listen for the pods: %w", err)
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	go func() {
		for {
			pod, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go join(pod, target.Host)
		}
	}()
	return nil
}

// join copies in both directions until both have ended.
func join(pod net.Conn, host string) {
	defer pod.Close()
	api, err := net.Dial("tcp", host)
	if err != nil {
		return
	}
	defer api.Close()
	go func() {
		_, _ = io.Copy(api, pod)
		_ = api.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(pod, api)
}

// keepLogs copies all logs and the evidence to a folder outside, if one is named.
func (c *cluster) keepLogs(keep string) {
	if keep == "" {
		fmt.Fprintln(os.Stderr, "kubelet: BERTH_E2E_KEEP=FOLDER keeps the logs and the pods' evidence of a run that fails")
		return
	}
	keep = filepath.Join(keep, time.Now().Format("20060102-150405"))
	err := errors.Join(
		os.CopyFS(filepath.Join(keep, "sandbox"), os.DirFS(filepath.Join(c.sandbox.Dir, "logs"))),
		os.CopyFS(filepath.Join(keep, "evidence"), os.DirFS(evidenceDir)))
	for number := firstNode; number <= int(nodeNumbers.Load()); number++ {
		name := fmt.Sprintf("node-%d", number)
		err = errors.Join(err, os.CopyFS(filepath.Join(keep, name), os.DirFS(filepath.Join("/run", name, "logs"))))
	}
	fmt.Fprintf(os.Stderr, "kubelet: the logs are in %s (%v)\n", keep, err)
}
