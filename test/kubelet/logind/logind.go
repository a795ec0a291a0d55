//go:build linux

// Package logind is what a kubelet asks of systemd-logind, for one node: that a
// shutdown waits until the node's pods have ended, and word when one begins. A
// real logind knows one machine and takes all of it down; here each node has
// one of its own, on a bus of its own, that is a socket which answers the few
// calls that a kubelet makes.
//
// The kubelet's side of it is its own, down to the library that it speaks D-Bus
// with: see pkg/kubelet/nodeshutdown of Kubernetes.
package logind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

// Logind is that of one node.
type Logind struct {
	socket string

	mu      sync.Mutex
	clients map[*client]bool
	locks   int           // of those who delay a shutdown
	changed chan struct{} // closed when there are more or fewer locks
}

// Names on the bus.
const (
	path         = dbus.ObjectPath("/org/freedesktop/login1")
	manager      = "org.freedesktop.login1.Manager"
	shuttingDown = "PrepareForShutdown"
	delayMax     = "InhibitDelayMaxUSec"
)

// longestDelay is for how long a shutdown may be delayed. A kubelet that wants
// longer would rewrite the machine's configuration.
const longestDelay = 5 * time.Minute

// Start listens on a socket, for as long as this program lives.
func Start(socket string) (*Logind, error) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen as a bus: %w", err)
	}
	l := &Logind{socket: socket, clients: map[*client]bool{}, changed: make(chan struct{})}
	go func() {
		for {
			connection, err := listener.AcceptUnix()
			if err != nil {
				return // with the program
			}
			go l.serve(connection)
		}
	}()
	return l, nil
}

// Env makes a program take this for the machine's bus.
func (l *Logind) Env() string { return "DBUS_SYSTEM_BUS_ADDRESS=unix:path=" + l.socket }

// AwaitLock waits until somebody would delay a shutdown.
func (l *Logind) AwaitLock(ctx context.Context) error {
	return l.await(ctx, "somebody wants to delay a shutdown", func(locks int) bool { return locks > 0 })
}

// Shutdown tells that the machine will go down, and returns when it may:
// everybody who wanted to delay that is done.
func (l *Logind) Shutdown(ctx context.Context) error {
	if err := l.tell(true); err != nil {
		return err
	}
	return l.await(ctx, "nobody delays the shutdown", func(locks int) bool { return locks == 0 })
}

func (l *Logind) await(ctx context.Context, what string, enough func(locks int) bool) error {
	for {
		l.mu.Lock()
		locks, changed := l.locks, l.changed
		l.mu.Unlock()
		if enough(locks) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		}
	}
}

// tell tells everybody on the bus whether a shutdown has begun.
func (l *Logind) tell(begun bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for c := range l.clients { //order:any each is told the same
		errs = append(errs, c.send(dbus.TypeSignal, map[dbus.HeaderField]any{
			dbus.FieldPath: path, dbus.FieldInterface: manager, dbus.FieldMember: shuttingDown,
		}, begun))
	}
	return errors.Join(errs...)
}

// inhibit is a lock: whoever has its end of a pipe delays a shutdown, until the
// last copy of that end is closed.
func (l *Logind) inhibit() (theirs *os.File, err error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	l.count(1)
	go func() {
		defer ours.Close()
		_, _ = ours.Read(make([]byte, 1)) // nobody writes: it returns when that end is closed
		l.count(-1)
	}()
	return theirs, nil
}

func (l *Logind) count(change int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.locks += change
	close(l.changed)
	l.changed = make(chan struct{})
}
