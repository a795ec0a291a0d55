// Package sandbox_test tries the sandbox for real: it starts control planes,
// kills and removes them. It builds the servers if the cache lacks them, which
// takes minutes the first time.
package sandbox_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berth-dev/berth/pkg/sandbox"
	"github.com/berth-dev/berth/pkg/sandbox/process"
)

// healthFlag is in the arguments that the sandbox gives a controller.
const healthFlag = "--health-probe-bind-address="

// TestMain also is the controller that a test's sandbox starts: this program
// again, with a controller's flags.
func TestMain(m *testing.M) {
	for _, arg := range os.Args[1:] {
		if address, ok := strings.CutPrefix(arg, healthFlag); ok {
			playController(address)
			return
		}
	}
	os.Exit(m.Run())
}

// playController answers for its health, if its kubeconfig is that of Berth's
// service account: one that may read Jobs and not write Nodes.
func playController(address string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := checkRights(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	fmt.Println("the played controller serves", address)
	fmt.Println(http.ListenAndServe(address, mux))
}

func checkRights(ctx context.Context) error {
	path := ""
	for _, arg := range os.Args[1:] {
		if p, ok := strings.CutPrefix(arg, "--kubeconfig="); ok {
			path = p
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.BatchV1().Jobs("").List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return err
	}
	err = client.CoreV1().Nodes().Delete(ctx, "nobody", metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("the controller may delete nodes, or: %w", err)
	}
	return nil
}

// within bounds a test: the start of a sandbox on a busy machine, and some.
func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// up starts a sandbox in a folder of the test's; it is gone after the test.
func up(t *testing.T, options sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	if options.Dir == "" {
		options.Dir = filepath.Join(t.TempDir(), "sandbox")
	}
	options.Log = logWriter{t}
	s, err := sandbox.Up(within(t, 30*time.Minute), options) // with a cold cache
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		if t.Failed() {
			t.Logf("the end of kwok's log:\n%s", tail(t, s, sandbox.Kwok))
		}
		if err := s.Down(ctx); err != nil {
			t.Error(err)
		}
		nothingLeft(t, options.Dir)
	})
	return s
}

func tail(t *testing.T, s *sandbox.Sandbox, component string) string {
	t.Helper()
	var out strings.Builder
	if err := s.Logs(context.Background(), component, sandbox.NoFollow, &out); err != nil {
		return err.Error()
	}
	lines := strings.Split(out.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

type logWriter struct{ t *testing.T }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// nothingLeft demands that neither a process nor a file of a sandbox is left.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	ids, err := process.Marked(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) > 0 {
		t.Errorf("processes left: %v", ids)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		entries, _ := os.ReadDir(dir)
		t.Errorf("folder %s is left, with %v", dir, entries)
	}
}

// program builds cmd/berth-sandbox once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "berth-sandbox-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "berth-sandbox")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "github.com/berth-dev/berth/cmd/berth-sandbox").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build berth-sandbox: %w\n%s", err, out)
	}
	return path, nil
})
