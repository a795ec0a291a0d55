//go:build linux

// Package cell runs the calling program once more in a place of its own: with
// its own processes, network and mounts. A container runtime and a kubelet can
// do there what they do to a machine, and the machine sees nothing of it:
// network devices, addresses, sysctls, mounts and files under /run go with the
// cell's last process, and that dies with the program outside, however that
// ends.
//
// What a cell can't keep to itself it writes down before it does it, in its
// folder: a control group, and empty folders on which it mounts its own. Run
// takes them away when it ends, and at its beginning what a killed Run has
// left.
//
//	outside ── Run ──► first process: Begin makes the place ──► inside: Begin returns true
package cell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/berth-dev/berth/test/kubelet/cgroup"
)

// Options say what a cell is like.
type Options struct {
	// Dir is where the cell writes down what it changes outside. The caller has
	// its Lock.
	Dir string `json:"-"`
	// Cgroup is the control group for what runs inside.
	Cgroup string `json:"-"`
	// Private are folders that are empty inside, and whose content nobody
	// outside sees. /run is always one of them.
	Private []string `json:"private"`
	// Sysctls are settings of the kernel, as paths below /proc/sys, of which the
	// inside has a copy: what is written there has no effect.
	Sysctls []string `json:"sysctls"`
	// Addresses are further addresses of the loopback device.
	Addresses []string `json:"addresses"`
	// Env is added to the environment of the inside.
	Env []string `json:"-"`
}

// Environment variables of a cell: how far a process is, and the Options.
const (
	stageVariable = "BERTH_CELL_STAGE"
	stageFirst    = "first"
	stageInside   = "inside"
	planVariable  = "BERTH_CELL_PLAN"
)

// namespaces are what a cell has of its own.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET

// Possible says whether this process may make a cell.
func Possible() error {
	try := exec.Command("/proc/self/exe")
	try.Env = []string{stageVariable + "=" + stageTry}
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	if out, err := try.CombinedOutput(); err != nil {
		return fmt.Errorf("make namespaces and mount in them: %w %s", err, out)
	}
	return nil
}

// Run runs this program again, with the same arguments, inside, and returns
// its exit code.
func Run(ctx context.Context, o Options) (code int, err error) {
	if err := putBack(o.Dir); err != nil {
		return 1, fmt.Errorf("put back what an earlier cell has changed: %w", err)
	}
	defer func() { err = errors.Join(err, putBack(o.Dir)) }()
	if err := prepare(o); err != nil {
		return 1, err
	}
	return start(ctx, o)
}

func start(ctx context.Context, o Options) (int, error) {
	plan, err := json.Marshal(o)
	if err != nil {
		return 1, err
	}
	// The kernel ties the first process to the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	first := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	first.Env = append(append(os.Environ(), o.Env...), stageVariable+"="+stageFirst, planVariable+"="+string(plan))
	first.Stdout, first.Stderr = os.Stdout, os.Stderr
	first.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	err = first.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 1, ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, fmt.Errorf("run inside: %w", err)
	}
	return 0, nil
}

// Lock makes a folder for a cell, and waits until no other has it; log is told
// that it waits.
func Lock(ctx context.Context, dir string, log io.Writer) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the cell's folder: %w", err)
	}
	file, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the cell's folder: %w", err)
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), file.Close())
		}
		if !told {
			fmt.Fprintf(log, "Waiting for another run that has %s …\n", dir)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// changes are what a cell changes outside.
type changes struct {
	Cgroup  string   `json:"cgroup"`
	Folders []string `json:"folders"` // in the order in which they are made
}

const changesFile = "changes.json"

// prepare makes what can't be made inside, and writes it down before.
func prepare(o Options) error {
	c := changes{Cgroup: o.Cgroup}
	for _, folder := range o.Private {
		c.Folders = append(c.Folders, missing(folder)...)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.Dir, changesFile), raw, 0o600); err != nil {
		return fmt.Errorf("write down what the cell changes: %w", err)
	}
	for _, folder := range c.Folders {
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make a folder to mount on: %w", err)
		}
	}
	return cgroup.Make(o.Cgroup)
}

// missing are the folders on the way to a path that are not there, from above.
func missing(path string) []string {
	if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
		return nil
	}
	return append(missing(filepath.Dir(path)), path)
}

// putBack takes back what is written down. No process of the cell lives: the
// first has died with whoever wrote it.
func putBack(dir string) error {
	path := filepath.Join(dir, changesFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var c changes
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := cgroup.Remove(c.Cgroup); err != nil {
		return err
	}
	for _, folder := range slices.Backward(c.Folders) {
		err := os.Remove(folder)
		// Somebody else may have begun to use it.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
	return os.Remove(path)
}
