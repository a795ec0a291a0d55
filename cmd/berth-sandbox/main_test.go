package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMistakesOnTheCommandLineExitWith2(t *testing.T) {
	t.Parallel()
	profile := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(profile, []byte("nodeGroups: [{prefix: a, count: 0}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct{ args, want string }{
		{"fly", `no command "fly"`},
		{"--nonsense", "--nonsense"},
		{"up now", `"now"`},
		{"up --nodes many", "many"},
		{"up --nodes -1", "--nodes: -1"},
		{"up --gpus -1", "--gpus: -1"},
		{"up --nodes 4 --racks 5", "--racks: 5"},
		{"up --racks 2 --blocks 3", "--blocks: 3"},
		{"up --nodes 4 --profile " + profile, "--nodes and --profile"},
		{"up --profile /nonexistent", "/nonexistent"},
		{"up --profile " + profile, "nodeGroups[0].count: 0"},
		{"logs", "kube-apiserver"},
		{"logs nonsense", "kube-apiserver"},
		{"controller", "start, stop, kill"},
		{"controller pause", "start, stop, kill"},
		{"status now", `"now"`},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			var out, progress bytes.Buffer
			args := append(strings.Fields(c.args), "--dir", filepath.Join(t.TempDir(), "none"))
			if code := run(t.Context(), args, &out, &progress); code != 2 || !strings.Contains(progress.String(), c.want) {
				t.Errorf("exit code %d, want 2 and %q in: %s%s", code, c.want, progress.String(), out.String())
			}
		})
	}
}

func TestWithoutASandbox(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{"down": 0, "status": 1, "env": 1, "logs etcd": 1, "controller kill": 1, "--help": 0, "up --help": 0, "--version": 0} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			var out, progress bytes.Buffer
			dir := filepath.Join(t.TempDir(), "none")
			if code := run(t.Context(), append(strings.Fields(args), "--dir", dir), &out, &progress); code != want {
				t.Errorf("exit code %d, want %d: %s", code, want, progress.String())
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("it made the folder (%v)", err)
			}
		})
	}
}

func TestDownLeavesSomebodysFolderAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if code := run(t.Context(), []string{"down", "--dir", dir}, &out, &progress); code != 0 {
		t.Errorf("exit code %d: %s", code, progress.String())
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestAPathIsOneWordOfAShell(t *testing.T) {
	t.Parallel()
	if got, want := quoted("/it's here/$HOME"), `'/it'\''s here/$HOME'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
