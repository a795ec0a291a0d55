package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// startTime is the start time of a live process: the kernel's clock ticks
// since boot, with the boot's ID, because both begin anew at a reboot.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	ticks, err := parseStat(stat)
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + ticks, nil
}

// parseStat takes the start time out of a line of /proc/PID/stat. The second
// field, the program's name in parentheses, may itself hold spaces and
// parentheses, so fields are counted from the last one.
func parseStat(stat []byte) (string, error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return "", fmt.Errorf("no name in stat line %q", stat)
	}
	fields := bytes.Fields(stat[end+1:]) // from field 3, the state
	if len(fields) < 20 {
		return "", fmt.Errorf("%d fields in stat line %q, want at least 22", len(fields)+2, stat)
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return "", fmt.Errorf("ended (state %c)", state)
	}
	return string(fields[19]), nil
}

// Marked finds the live processes that were started with this mark.
func Marked(mark string) ([]Identity, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	want := []byte(MarkVariable + "=" + mark)
	var found []Identity
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil || !hasEntry(environ, want) {
			continue // another user's process, or one that has just ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if started, err := startTime(pid); err == nil {
			found = append(found, Identity{PID: pid, Started: started})
		}
	}
	return found, nil
}

func hasEntry(environ, want []byte) bool {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(entry, want) {
			return true
		}
	}
	return false
}

// Memory is the resident memory of a process in bytes, 0 if unknown.
func Memory(pid int) int64 {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
