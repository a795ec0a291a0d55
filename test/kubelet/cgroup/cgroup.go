// Package cgroup makes and removes folders in the control groups of version 1,
// for processes that shall be found and counted under one name. It limits
// nothing itself: a kubelet does, below such a folder.
package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// needed are the controllers without which a kubelet starts no container.
var needed = []string{"cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"}

// hierarchy is a mounted tree of control groups.
type hierarchy struct {
	mount       string
	controllers []string
}

// Missing are the controllers that a kubelet needs and this machine has not
// mounted as version 1.
func Missing() ([]string, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	have := map[string]bool{}
	for _, h := range all {
		for _, c := range h.controllers {
			have[c] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(needed), func(c string) bool { return have[c] }), nil
}

// Make makes a folder in every hierarchy; the folders above it must be there.
// A cpuset is given what the one above it has: it is born without CPUs, and
// then no process may enter it.
func Make(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		dir := filepath.Join(h.mount, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make a control group: %w", err)
		}
		if !slices.Contains(h.controllers, "cpuset") {
			continue
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := copyFile(filepath.Join(filepath.Dir(dir), file), filepath.Join(dir, file)); err != nil {
				return fmt.Errorf("fill a control group: %w", err)
			}
		}
	}
	return nil
}

func copyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o644)
}

// removePatience is how long the processes of a control group may take to be
// gone after they were killed.
const removePatience = 20 * time.Second

// Remove removes a folder, with what is below it, from every hierarchy. Those
// who lived there must have been killed.
func Remove(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(removePatience)
	for _, h := range all {
		for {
			err := removeTree(filepath.Join(h.mount, name))
			if err == nil {
				break
			}
			if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
				return fmt.Errorf("remove a control group: %w", err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// removeTree removes folders from the leaves up. Their files can't be removed,
// and go with them.
func removeTree(dir string) error {
	var folders []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, folder := range slices.Backward(folders) {
		if err := syscall.Rmdir(folder); err != nil && !errors.Is(err, syscall.ENOENT) {
			return &fs.PathError{Op: "rmdir", Path: folder, Err: err}
		}
	}
	return nil
}

func hierarchies() ([]hierarchy, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return parse(file)
}

// parse finds the hierarchies among the mounts. A line ends in "- TYPE SOURCE
// OPTIONS"; the options of one of version 1 have its controllers, or name=NAME
// if it has none. One of version 2 beside them counts as one without
// controllers: runc makes folders there too.
func parse(mountinfo io.Reader) ([]hierarchy, error) {
	var all []hierarchy
	lines := bufio.NewScanner(mountinfo)
	for lines.Scan() {
		place, kind, _ := strings.Cut(lines.Text(), " - ")
		fields, options := strings.Fields(place), strings.Fields(kind)
		switch {
		case len(fields) < 5 || len(options) < 3:
		case options[0] == "cgroup":
			all = append(all, hierarchy{mount: fields[4], controllers: strings.Split(options[2], ",")})
		case options[0] == "cgroup2":
			all = append(all, hierarchy{mount: fields[4]})
		}
	}
	return all, lines.Err()
}
