package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/sandbox/process"
)

func lock(t *testing.T, dir string) *folder {
	t.Helper()
	f, err := lockFolder(t.Context(), dir, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.unlock)
	return f
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyAnEmptyFolderOrASandboxIsTaken(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		files []string
		ours  bool
	}{
		{"empty", nil, true},
		{"a sandbox", []string{"state.json", "pki/ca.crt"}, true},
		{"a sandbox with somebody's file", []string{"state.json", "notes.txt"}, true},
		{"an up that was killed while it wrote its first state", []string{"state.json.tmp"}, true},
		{"somebody's folder", []string{"notes.txt"}, false},
		{"somebody's folder with names like ours", []string{"logs/mine.log"}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, file := range c.files {
				write(t, filepath.Join(dir, file))
			}
			err := lock(t, dir).checkOurs()
			if c.ours != (err == nil) || err != nil && !IsUsage(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestClearRemovesOursAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sandbox")
	for _, name := range append([]string{"notes.txt"}, contents...) {
		write(t, filepath.Join(dir, name))
	}
	f := lock(t, dir)
	if err := f.clear(nil); err != nil {
		t.Fatal(err)
	}
	if err := f.remove(); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if diff := cmp.Diff([]string{"notes.txt"}, left); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := os.Remove(filepath.Join(dir, "notes.txt")); err != nil {
		t.Fatal(err)
	}
	if err := f.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the empty folder is left (%v)", err)
	}
}

func TestClearEndsProcessesThatNoStateKnows(t *testing.T) {
	t.Parallel()
	f := lock(t, filepath.Join(t.TempDir(), "sandbox"))
	p, err := process.Start(process.Program{Path: "/bin/sleep", Args: []string{"100"}, Mark: f.path, Log: f.join("log")})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.clear(nil); err != nil {
		t.Fatal(err)
	}
	if p.Alive() {
		t.Error("it lives on")
	}
}

func TestASecondCommandWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sandbox")
	first := lock(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
	defer cancel()
	var log bytes.Buffer
	if _, err := lockFolder(ctx, dir, &log); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(log.String(), "Waiting") {
		t.Fatalf("got %v, told %q", err, log.String())
	}
	// The first is a `down`: the second must not keep the folder that is gone.
	second := make(chan *folder)
	go func() {
		f, err := lockFolder(context.Background(), dir, &bytes.Buffer{})
		if err != nil {
			t.Error(err)
		}
		second <- f
	}()
	if err := first.remove(); err != nil {
		t.Fatal(err)
	}
	first.unlock()
	f := <-second
	defer f.unlock()
	if !same(f.lock, dir) {
		t.Error("the second holds a folder that is not there")
	}
}

func TestStateOutlivesTheProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if s, err := readState(dir); s != nil || err != nil {
		t.Errorf("without a file: %v, %v", s, err)
	}
	want := &state{Version: stateVersion, Phase: phaseRunning, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Servers: "/cache"}
	want.set(componentState{Name: Etcd, Identity: process.Identity{PID: 1, Started: "x"}, Port: 1})
	want.set(componentState{Name: Kwok, Identity: process.Identity{PID: 2, Started: "y"}, Port: 2})
	want.set(componentState{Name: Etcd, Identity: process.Identity{PID: 3, Started: "z"}, Port: 3})
	if err := want.write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := readState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(got.Components) != 2 || got.component(Etcd).PID != 3 || got.component(Scheduler) != nil {
		t.Errorf("components %+v", got.Components)
	}
}

func TestAStateThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"another version": `{"version": 99}`, "no JSON": `{`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, stateFile), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := readState(dir); err == nil || !strings.Contains(err.Error(), dir) {
				t.Errorf("got %v", err)
			}
		})
	}
}
