package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-dev/berth/pkg/sandbox"
	"github.com/berth-dev/berth/pkg/sandbox/process"
)

// command runs berth-sandbox and returns its exit code and output.
func command(t *testing.T, args ...string) (int, string) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(within(t, 30*time.Minute), path, args...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, string(out)
	case errors.As(err, &exit):
		return exit.ExitCode(), string(out)
	default:
		t.Fatal(err)
		return 0, ""
	}
}

func TestAKilledUpIsCleanedByTheNextCommand(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "killed")
	args := []string{"up", "--dir", dir, "--no-controller", "--nodes", "2"}
	if code, out := command(t, append(args, "--bare")...); code != 0 {
		t.Fatalf("up: %d\n%s", code, out)
	}
	if code, out := command(t, "down", "--dir", dir); code != 0 {
		t.Fatalf("down: %d\n%s", code, out)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("moments of the kills: seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	// The early moments are short and many; most of a start is waiting.
	moments := []time.Duration{0, 5 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond}
	for range 7 {
		moments = append(moments, time.Duration(random.Int64N(int64(5*time.Second))))
	}
	for i, moment := range moments {
		killed := exec.Command(path, args...)
		var out bytes.Buffer
		killed.Stderr = &out
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(moment)
		_ = killed.Process.Kill()
		_ = killed.Wait()
		before, err := process.Marked(dir)
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 2 {
			if code, out := command(t, args...); code != 0 {
				t.Fatalf("up after a kill at %v: %d\n%s", moment, code, out)
			}
			finished := killed.ProcessState.Success() // before we could kill it; then its sandbox is kept
			for _, id := range before {
				if id.Alive() && !finished {
					t.Errorf("process %d of the up that was killed at %v lives on beside its successor", id.PID, moment)
				}
			}
			if code, out := command(t, "status", "--dir", dir); code != 0 {
				t.Errorf("status after up after a kill at %v: %d\n%s", moment, code, out)
			}
		}
		if code, out := command(t, "down", "--dir", dir); code != 0 {
			t.Fatalf("down after a kill at %v: %d\n%s", moment, code, out)
		}
		nothingLeft(t, dir)
	}
}

func TestAnInterruptedUpLeavesNothing(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "interrupted")
	interrupted := exec.Command(path, "up", "--dir", dir, "--no-controller")
	if err := interrupted.Start(); err != nil {
		t.Fatal(err)
	}
	for { // until servers run
		if ids, err := process.Marked(dir); err != nil || len(ids) > 0 {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	if err := interrupted.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = interrupted.Wait()
	if code := interrupted.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	nothingLeft(t, dir)
}

func TestTwoSandboxesRunSideBySide(t *testing.T) {
	t.Parallel()
	results := make(chan *sandbox.Sandbox, 2)
	for _, name := range []string{"one", "two"} {
		dir := filepath.Join(t.TempDir(), name)
		go func() {
			s, err := sandbox.Up(within(t, 30*time.Minute), sandbox.Options{
				Dir: dir, Berth: sandbox.WithoutController, NodeGroups: []sandbox.NodeGroup{{Prefix: name, Count: 2}},
			})
			if err != nil {
				t.Error(err)
			}
			results <- s
		}()
	}
	var both []*sandbox.Sandbox
	for range 2 {
		if s := <-results; s != nil {
			both = append(both, s)
		}
	}
	for _, s := range both {
		client := kubernetes.NewForConfigOrDie(s.RESTConfig())
		nodes, err := client.CoreV1().Nodes().List(within(t, 3*time.Minute), metav1.ListOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		for i := range nodes.Items {
			if want := filepath.Base(s.Dir) + "-"; !strings.HasPrefix(nodes.Items[i].Name, want) {
				t.Errorf("sandbox %s has node %s", s.Dir, nodes.Items[i].Name)
			}
		}
		if err := s.Down(context.Background()); err != nil {
			t.Error(err)
		}
		nothingLeft(t, s.Dir)
	}
}

func TestCommandsTellWhatTheyFind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "commands")
	expect := func(wantCode int, wantText string, args ...string) {
		t.Helper()
		code, out := command(t, append(args, "--dir", dir)...)
		if code != wantCode || !strings.Contains(out, wantText) {
			t.Errorf("%v: exit code %d, want %d with %q in:\n%s", args, code, wantCode, wantText, out)
		}
	}
	expect(0, "No sandbox in", "down")
	expect(1, "no sandbox is running", "status")
	expect(1, "no sandbox is running", "env")
	controller, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	expect(0, "The sandbox is ready", "up", "--controller", controller, "--nodes", "3")
	defer command(t, "down", "--dir", dir)
	expect(0, "already", "up", "--controller", controller)
	expect(0, "Nodes: 3 of 3", "status")
	expect(0, "default/default", "status")
	expect(0, "export KUBECONFIG='"+dir+"/kubeconfig'", "env")
	expect(0, "played controller", "logs", "controller")
	expect(2, "kube-scheduler", "logs", "nonsense")

	expect(0, "", "controller", "kill")
	expect(1, "not running", "status")
	expect(0, "controller start", "up", "--controller", controller)
	expect(0, "", "controller", "start", "--controller", controller)
	expect(0, "", "controller", "start", "--controller", controller)
	expect(0, "controller", "status")
	expect(0, "", "controller", "stop")
	expect(1, "not running", "status")
	expect(0, "is gone", "down")
	expect(0, "No sandbox in", "down")
	nothingLeft(t, dir)
}
