//go:build unix && !linux

package process

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// startTime is the start time of a live process, as ps tells it.
func startTime(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if strings.HasPrefix(state, "Z") {
		return "", fmt.Errorf("process %d: ended", pid)
	}
	return strings.TrimSpace(started), nil
}

// Marked finds the live processes that were started with this mark. Without a
// /proc it looks for the mark in their command lines: all our programs are
// given files below the folder that the mark is.
func Marked(mark string) ([]Identity, error) {
	out, err := exec.Command("ps", "-Awwo", "pid=,command=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []Identity
	for line := range strings.SplitSeq(string(out), "\n") {
		pidText, command, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.Contains(command, "="+mark+"/") {
			continue
		}
		pid, err := strconv.Atoi(pidText)
		if err != nil {
			continue
		}
		if started, err := startTime(pid); err == nil {
			found = append(found, Identity{PID: pid, Started: started})
		}
	}
	return found, nil
}

// Memory is the resident memory of a process in bytes, 0 if unknown.
func Memory(pid int) int64 {
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0
	}
	kib, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
