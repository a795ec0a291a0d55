package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start runs a shell script under a mark that no other test has.
func start(t *testing.T, script string) (*Process, string) {
	t.Helper()
	dir := t.TempDir()
	p, err := Start(Program{Path: "/bin/sh", Args: []string{"-c", script, "=" + dir + "/"}, Env: []string{"GREETING=hello"}, Mark: dir, Log: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Stop([]Identity{p.Identity}, 0); err != nil {
			t.Error(err)
		}
	})
	return p, dir
}

func TestAProcessIsFoundByItsMarkUntilItEnds(t *testing.T) {
	t.Parallel()
	p, mark := start(t, "sleep 100")
	found := func() bool {
		ids, err := Marked(mark)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(ids, p.Identity)
	}
	for !found() { // it has the mark from its exec on
		time.Sleep(time.Millisecond)
	}
	if !p.Alive() {
		t.Error("it is not alive")
	}
	if err := Stop([]Identity{p.Identity}, 0); err != nil {
		t.Fatal(err)
	}
	<-p.Exited
	if p.Alive() || found() {
		t.Errorf("stopped, and alive: %v, found: %v", p.Alive(), found())
	}
	if ids, err := Marked(mark); err != nil || len(ids) > 0 {
		t.Errorf("its child lives: %v %v", ids, err)
	}
}

// A PID that was given to another process since names nobody of ours.
func TestAStrangerIsNotTouched(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "sleep 100")
	stranger := Identity{PID: p.PID, Started: "some other time"}
	if stranger.Alive() {
		t.Error("the stranger is taken for ours")
	}
	if err := Stop([]Identity{stranger, {PID: 0}, {PID: -1}}, 0); err != nil {
		t.Error(err)
	}
	if !p.Alive() {
		t.Error("the stranger was killed")
	}
}

func TestStopWaitsForAGoodEnd(t *testing.T) {
	t.Parallel()
	p, dir := start(t, `trap 'echo bye; exit 0' TERM; echo "$GREETING"; while :; do sleep 0.05; done`)
	log := func() string {
		raw, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for !strings.Contains(log(), "hello") { // it has its trap now
		time.Sleep(time.Millisecond)
	}
	if err := Stop([]Identity{p.Identity}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := log(); !strings.HasSuffix(got, "bye\n") { // the shell may mention its child's end before
		t.Errorf("its output is %q", got)
	}
}

func TestAProcessHasASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "sleep 100")
	group, err := syscall.Getpgid(p.PID)
	if err != nil || group != p.PID {
		t.Errorf("process group %d (%v), want %d", group, err, p.PID)
	}
	if Memory(p.PID) <= 0 {
		t.Error("its memory is unknown")
	}
}

func TestAMissingProgramIsAnError(t *testing.T) {
	t.Parallel()
	_, err := Start(Program{Path: "/nonexistent/program", Log: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "/nonexistent/program") {
		t.Errorf("got %v", err)
	}
}
