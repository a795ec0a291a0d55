//go:build linux

package cell

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageTry is a first process that only tries.
const stageTry = "try"

// Begin is called first in a program that may be in a cell. It says whether it
// is. In a cell's first process it does not return: that one makes the place,
// runs the program in it, and ends with it.
func Begin() (inside bool) {
	switch os.Getenv(stageVariable) {
	case stageTry:
		if err := mountOwn(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case stageFirst:
		code, err := first()
		if err != nil {
			fmt.Fprintln(os.Stderr, "cell:", err)
			code = 1
		}
		os.Exit(code)
	case stageInside:
		return true
	}
	return false
}

func first() (code int, err error) {
	var o Options
	if err := json.Unmarshal([]byte(os.Getenv(planVariable)), &o); err != nil {
		return 1, err
	}
	if err := mountOwn(); err != nil {
		return 1, err
	}
	for _, folder := range append([]string{"/run"}, o.Private...) {
		if err := mount(folder, unix.Mount("tmpfs", folder, "tmpfs", 0, "mode=755")); err != nil {
			return 1, err
		}
	}
	for _, name := range o.Sysctls {
		if err := copySysctl(name); err != nil {
			return 1, err
		}
	}
	if err := network(o.Addresses); err != nil {
		return 1, fmt.Errorf("set up the loopback device: %w", err)
	}
	return runInside()
}

// mountOwn parts our mounts from those outside, and mounts the /proc of our
// processes.
func mountOwn() error {
	if err := mount("/", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")); err != nil {
		return err
	}
	return mount("/proc", unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""))
}

func mount(path string, err error) error {
	if err != nil {
		return fmt.Errorf("mount %s: %w", path, err)
	}
	return nil
}

// copySysctl puts a file of the same content in the place of a setting.
func copySysctl(name string) error {
	path := filepath.Join("/proc/sys", name)
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read a setting of the kernel: %w", err)
	}
	twin := filepath.Join("/run/sysctl", name)
	if err := os.MkdirAll(filepath.Dir(twin), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(twin, raw, 0o644); err != nil {
		return err
	}
	return mount(path, unix.Mount(twin, path, "", unix.MS_BIND, ""))
}

// network brings the loopback device up, with further addresses.
func network(addresses []string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, up); err != nil {
		return err
	}
	for i, text := range addresses {
		address, err := unix.NewIfreq(fmt.Sprintf("lo:%d", i))
		if err != nil {
			return err
		}
		if err := address.SetInet4Addr(net.ParseIP(text).To4()); err != nil {
			return fmt.Errorf("address %q: %w", text, err)
		}
		if err := unix.IoctlIfreq(socket, unix.SIOCSIFADDR, address); err != nil {
			return fmt.Errorf("address %q: %w", text, err)
		}
	}
	return nil
}

// runInside runs this program, now that the place is made. As the first
// process it also inherits those whose parents have died, and buries them.
func runInside() (code int, err error) {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, stageVariable+"=") && !strings.HasPrefix(entry, planVariable+"=") {
			env = append(env, entry)
		}
	}
	child, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env:   append(env, stageVariable+"="+stageInside),
		Files: []uintptr{0, 1, 2},
	})
	if err != nil {
		return 1, fmt.Errorf("run inside: %w", err)
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1, fmt.Errorf("wait for the inside: %w", err)
		case pid == child && status.Signaled():
			return 1, fmt.Errorf("the inside was ended by %s", status.Signal())
		case pid == child:
			return status.ExitStatus(), nil
		}
	}
}
