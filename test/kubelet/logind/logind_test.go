//go:build linux

package logind

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// A program that delays the shutdown as a kubelet does learns of it, and the
// machine goes down when it is done.
func TestShutdownWaitsForWhoDelaysIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	logind, err := Start(filepath.Join(t.TempDir(), "bus"))
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(logind.Env(), "=")
	bus, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	manager := bus.Object("org.freedesktop.login1", "/org/freedesktop/login1")

	delay, err := manager.GetProperty("org.freedesktop.login1.Manager.InhibitDelayMaxUSec")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := delay.Value().(uint64), uint64(longestDelay/time.Microsecond); got != want {
		t.Errorf("a shutdown may be delayed for %d µs, want %d", got, want)
	}
	var lock dbus.UnixFD
	if err := manager.Call("org.freedesktop.login1.Manager.Inhibit", 0, "shutdown", "test", "to be done", "delay").Store(&lock); err != nil {
		t.Fatal(err)
	}
	if err := logind.AwaitLock(ctx); err != nil {
		t.Fatal(err)
	}
	if err := bus.AddMatchSignal(dbus.WithMatchInterface("org.freedesktop.login1.Manager"), dbus.WithMatchMember("PrepareForShutdown")); err != nil {
		t.Fatal(err)
	}
	signals := make(chan *dbus.Signal, 1)
	bus.Signal(signals)

	down := make(chan error, 1)
	go func() { down <- logind.Shutdown(ctx) }()
	if signal := <-signals; signal.Name != "org.freedesktop.login1.Manager.PrepareForShutdown" || signal.Body[0] != true {
		t.Errorf("got %s %v", signal.Name, signal.Body)
	}
	select {
	case err := <-down:
		t.Fatalf("the machine is down (%v) while somebody delays it", err)
	default:
	}
	if err := syscall.Close(int(lock)); err != nil {
		t.Fatal(err)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

// What it does not know it refuses, instead of keeping its caller waiting.
func TestUnknownCallIsRefused(t *testing.T) {
	t.Parallel()
	logind, err := Start(filepath.Join(t.TempDir(), "bus"))
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(logind.Env(), "=")
	bus, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	err = bus.Object("org.freedesktop.login1", "/org/freedesktop/login1").Call("org.freedesktop.login1.Manager.PowerOff", 0, false).Err
	if err == nil || !strings.Contains(err.Error(), "PowerOff") {
		t.Errorf("got %v, want an error that names PowerOff", err)
	}
}
