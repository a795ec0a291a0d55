// Package e2e tests Berth as its users meet it: on a real control plane with
// simulated nodes, with the rights and the policies of a real installation, and
// by the Kubernetes API alone.
//
// All tests share one sandbox. Each has a team of its own: a namespace, a
// ClusterQueue and nodes that nobody else's work may use, so that tests run
// beside each other. Tests that stop or kill the controller are not parallel,
// and Go runs those before all others.
//
// The whole time an inspector looks at every node and every gang (see
// inspector_test.go); what it finds fails the test whose team it concerns.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox"
)

// atOnce is how many tests run beside each other: they mostly wait, so more
// than the machine has cores, but not so many that they wait for each other.
const atOnce = "4"

// shared is the cluster of all tests; TestMain makes it.
var shared *cluster

// cluster is a running control plane and what watches it.
type cluster struct {
	sandbox   *sandbox.Sandbox
	scheme    *runtime.Scheme
	client    client.Client // the admin's
	history   *history
	inspector *inspector
}

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			panic(err) // there is such a flag
		}
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

// run starts the cluster, runs the tests, and leaves nothing.
func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr), zap.Level(zap.NewRaw().Level())))
	log.IntoContext(ctx, ctrl.Log)
	dir, err := os.MkdirTemp("", "berth-e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := buildPrograms(ctx, dir); err != nil {
		return 1, err
	}
	box, err := sandbox.Up(ctx, sandbox.Options{
		Dir:            filepath.Join(dir, "sandbox"),
		NodeGroups:     []sandbox.NodeGroup{}, // each test adds its own
		Queues:         sandbox.NoQueues,
		ControllerPath: filepath.Join(dir, "berth-controller"),
		Log:            os.Stderr,
	})
	if err != nil {
		return 1, err
	}
	defer func() {
		end, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		if downErr := box.Down(end); err == nil {
			err = downErr
		}
	}()
	if shared, err = newCluster(ctx, box); err != nil {
		return 1, err
	}
	code = m.Run()
	if left := shared.inspector.unclaimed(); len(left) > 0 {
		for _, finding := range left {
			fmt.Fprintln(os.Stderr, "e2e: invariant broken:", finding)
		}
		code = 1
	}
	for _, line := range complaints(box.Dir) {
		fmt.Fprintln(os.Stderr, "e2e: the controller has logged:", line)
		code = 1
	}
	if code != 0 && os.Getenv("BERTH_E2E_KEEP") != "" {
		keepLogs(box.Dir)
	}
	return code, nil
}

// buildPrograms builds the controller and the plugin of this checkout, so that
// it is never older ones that are tested.
func buildPrograms(ctx context.Context, dir string) error {
	const commands = "github.com/berth-dev/berth/cmd/"
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", dir, commands+"berth-controller", commands+"kubectl-berth")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the controller and the plugin: %w\n%s", err, out)
	}
	return nil
}

func newCluster(ctx context.Context, box *sandbox.Sandbox) (*cluster, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config := box.RESTConfig()
	config.WarningHandler = rest.NoWarnings{} // some tests ask for what the API server warns of
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	history, err := watchAll(ctx, box.RESTConfig(), scheme)
	if err != nil {
		return nil, err
	}
	c := &cluster{sandbox: box, scheme: scheme, client: admin, history: history, inspector: newInspector(history)}
	go c.inspector.run(ctx)
	return c, nil
}

// complaints are lines of the controller's log that no test may cause: it has
// panicked, or lacks a right that its installation should give it.
func complaints(dir string) []string {
	raw, err := os.ReadFile(filepath.Join(dir, "logs", "controller.log"))
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, "panic") || strings.Contains(line, `berth-controller\" cannot `) {
			out = append(out, line)
		}
	}
	return out
}

// keepLogs copies the servers' logs to the folder that BERTH_E2E_KEEP names.
func keepLogs(dir string) {
	keep := os.Getenv("BERTH_E2E_KEEP")
	err := os.CopyFS(keep, os.DirFS(filepath.Join(dir, "logs")))
	fmt.Fprintf(os.Stderr, "e2e: the logs are in %s (%v)\n", keep, err)
}
