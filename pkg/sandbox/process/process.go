// Package process starts programs that outlive their starter, and recognises
// them later.
//
// A PID alone is no name for a process: it is given to a stranger as soon as
// its owner is gone. So an Identity holds the PID with the time at which the
// process was started, and nothing here signals a process whose start time
// differs. Programs are started with a mark in their environment, so that they
// are found even when their starter died before it could write their PID down.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// MarkVariable is the environment variable that carries a program's mark.
const MarkVariable = "BERTH_SANDBOX_MARK"

// Identity names one process, for all time.
type Identity struct {
	PID int `json:"pid"`
	// Started is the start time as the operating system tells it, unique
	// together with the PID, also across reboots. It is only ever compared.
	Started string `json:"started"`
}

// Program is what to start.
type Program struct {
	Path string
	Args []string
	Env  []string // added to the environment of the starter
	Mark string   // the value of MarkVariable
	Log  string   // file that gets the output, appended to
}

// Process is a started program of ours. Exited closes when it has ended.
type Process struct {
	Identity
	Exited <-chan struct{}
}

// Start starts a program in a session of its own, so that neither Ctrl-C in
// the starter's terminal nor the starter's end reaches it.
func Start(p Program) (*Process, error) {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", p.Path, err)
	}
	defer log.Close()
	// The program gets the file itself, not a pipe that dies with us.
	command := exec.Command(p.Path, p.Args...)
	command.Stdout, command.Stderr = log, log
	command.Env = append(append(os.Environ(), p.Env...), MarkVariable+"="+p.Mark)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Path, err)
	}
	// Until it is waited for, a dead child keeps its PID, so this can't read a
	// stranger's start time.
	started, err := startTime(command.Process.Pid)
	if err != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		return nil, fmt.Errorf("start time of %s: %w", p.Path, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = command.Wait() // how it ended is in its log
		close(exited)
	}()
	return &Process{Identity: Identity{PID: command.Process.Pid, Started: started}, Exited: exited}, nil
}

// Alive says whether the process still runs. A zombie does not.
func (i Identity) Alive() bool {
	if i.PID <= 0 {
		return false
	}
	started, err := startTime(i.PID)
	return err == nil && started == i.Started
}

// Signal sends a signal to the process and, as all are leaders of a group, to
// its children. It does nothing if the process is gone.
func (i Identity) Signal(signal syscall.Signal) error {
	if !i.Alive() {
		return nil
	}
	if err := syscall.Kill(-i.PID, signal); err == nil || err != syscall.ESRCH {
		return err
	}
	if err := syscall.Kill(i.PID, signal); err != nil && err != syscall.ESRCH {
		return err
	}
	return nil
}

// Stop asks the processes to end, kills those that have not after the
// patience, and returns when none is alive. No patience kills at once.
func Stop(ids []Identity, patience time.Duration) error {
	if patience > 0 {
		if err := signalAll(ids, syscall.SIGTERM); err != nil {
			return err
		}
		if gone(ids, patience) {
			return nil
		}
	}
	if err := signalAll(ids, syscall.SIGKILL); err != nil {
		return err
	}
	if !gone(ids, 10*time.Second) {
		return fmt.Errorf("processes %v are still there 10 s after SIGKILL", pids(ids))
	}
	return nil
}

func signalAll(ids []Identity, signal syscall.Signal) error {
	for _, id := range ids {
		if err := id.Signal(signal); err != nil {
			return fmt.Errorf("signal %v to process %d: %w", signal, id.PID, err)
		}
	}
	return nil
}

func gone(ids []Identity, within time.Duration) bool {
	deadline := time.Now().Add(within)
	for {
		alive := false
		for _, id := range ids {
			alive = alive || id.Alive()
		}
		if !alive {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func pids(ids []Identity) []int {
	all := make([]int, 0, len(ids))
	for _, id := range ids {
		if id.Alive() {
			all = append(all, id.PID)
		}
	}
	return all
}
