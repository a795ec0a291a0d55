// Package sandbox runs a real Kubernetes control plane with simulated nodes on
// this machine, without containers and without rights: etcd, API server,
// controller manager and scheduler are the real programs, kwok plays the
// nodes' kubelets, and Berth is installed from the same manifests as
// anywhere else, with the same rights.
//
// It is for trying Berth and policies on, by hand through cmd/berth-sandbox
// and from Go tests through Up. It is not for running anything: pods are
// played, no container starts.
//
// The road of Up: servers.Ensure builds the programs once per machine; boot
// starts them on free loopback ports; furnish makes the nodes, installs Berth
// and its queues; StartController runs the controller with the token of its
// service account. What is running is written to a state file at each step, so
// that Down, or the next Up, cleans up after a kill at any moment.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/berth-dev/berth/pkg/sandbox/servers"
)

// Sandbox is a sandbox that runs.
type Sandbox struct {
	// Dir is its folder, absolute.
	Dir string
	// Kubeconfig is the path of the admin's kubeconfig.
	Kubeconfig string
	// Bin is the folder of kubectl and the servers.
	Bin string

	config  *rest.Config
	options Options
}

// ErrNotRunning says that there is no running sandbox in the folder.
var ErrNotRunning = errors.New("no sandbox is running")

// builder is an `up` at work.
type builder struct {
	options Options
	log     io.Writer
	folder  *folder
	state   *state
	plane   *plane
}

// Up starts a sandbox and returns when a Job can be submitted. If one runs in
// the folder already, that one is returned, as it is. What an earlier, killed
// Up left there is removed first. If Up fails or its context ends, it leaves
// nothing.
func Up(ctx context.Context, options Options) (*Sandbox, error) {
	options = options.filled()
	if err := options.check(); err != nil {
		return nil, err
	}
	if options.Berth == WithController {
		path, err := findController(options.ControllerPath)
		if err != nil {
			return nil, err // before minutes are spent on a build
		}
		options.ControllerPath = path
	}
	bin, err := servers.Ensure(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	folder, err := lockFolder(ctx, options.Dir, options.Log)
	if err != nil {
		return nil, err
	}
	defer folder.unlock()
	if err := folder.checkOurs(); err != nil {
		return nil, err
	}
	old, err := readState(folder.path)
	if err != nil {
		return nil, err
	}
	if old != nil && old.runs() {
		fmt.Fprintf(options.Log, "A sandbox runs in %s already; left as it is%s.\n", folder.path, old.controllerNote())
		return newSandbox(folder.path, old, options)
	}
	if old != nil {
		fmt.Fprintf(options.Log, "Removing what an earlier sandbox left in %s.\n", folder.path)
	}
	// Also without a state: processes may run whose files somebody removed.
	if err := folder.clear(old); err != nil {
		return nil, err
	}
	b := &builder{options: options, log: options.Log, folder: folder}
	b.state = &state{Version: stateVersion, Phase: phaseStarting, Created: time.Now().UTC(), Servers: bin}
	sandbox, err := b.up(ctx)
	if err != nil {
		return nil, errors.Join(err, folder.clear(b.state), folder.remove())
	}
	return sandbox, nil
}

func (b *builder) up(ctx context.Context) (*Sandbox, error) {
	begin := time.Now()
	if err := b.boot(ctx); err != nil {
		return nil, err
	}
	fmt.Fprintf(b.log, "Control plane is up (%s).\n", since(begin))
	sandbox, err := newSandbox(b.folder.path, b.state, b.options)
	if err != nil {
		return nil, err
	}
	if err := sandbox.furnish(ctx, b.log, begin); err != nil {
		return nil, err
	}
	if b.options.Berth == WithController {
		if err := b.startController(ctx, sandbox, b.options.ControllerPath); err != nil {
			return nil, err
		}
		fmt.Fprintf(b.log, "Berth's controller is up (%s).\n", since(begin))
	}
	b.state.Phase = phaseRunning
	return sandbox, b.state.write(b.folder.path)
}

func since(begin time.Time) time.Duration { return time.Since(begin).Round(100 * time.Millisecond) }

func newSandbox(dir string, s *state, options Options) (*Sandbox, error) {
	sandbox := &Sandbox{Dir: dir, Bin: s.Servers, options: options}
	sandbox.Kubeconfig = (&folder{path: dir}).join(kubeconfigFile)
	config, err := restConfig(sandbox.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's kubeconfig: %w", err)
	}
	sandbox.config = config
	return sandbox, nil
}

// Open finds the sandbox that runs in a folder; ErrNotRunning if none does.
func Open(dir string) (*Sandbox, error) {
	options := Options{Dir: dir}.filled()
	s, path, err := stateOf(options.Dir)
	if err != nil {
		return nil, err
	}
	switch {
	case s == nil:
		return nil, fmt.Errorf("%w in %s; start one with: berth-sandbox up", ErrNotRunning, options.Dir)
	case s.Phase != phaseRunning:
		return nil, fmt.Errorf("%w in %s: one is being started, or its start was killed, and then berth-sandbox up or down cleans up", ErrNotRunning, options.Dir)
	}
	return newSandbox(path, s, options)
}

// stateOf reads the state in a folder that may not exist.
func stateOf(dir string) (*state, string, error) {
	path, err := resolve(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, dir, nil
	}
	if err != nil {
		return nil, "", err
	}
	s, err := readState(path)
	return s, path, err
}

// RESTConfig is the admin's, without client-side limits.
func (s *Sandbox) RESTConfig() *rest.Config { return rest.CopyConfig(s.config) }

// Down stops the sandbox and removes its files.
func (s *Sandbox) Down(ctx context.Context) error {
	_, err := Down(ctx, s.Dir, s.options.Log)
	return err
}

// Outcome says what a command found.
type Outcome string

// The outcomes of Down.
const (
	Removed     Outcome = "Removed"
	NothingToDo Outcome = "NothingToDo"
)

// Down stops what runs in a folder, and removes what a sandbox has left there,
// also after an Up that was killed.
func Down(ctx context.Context, dir string, log io.Writer) (Outcome, error) {
	options := Options{Dir: dir, Log: log}.filled()
	if _, err := os.Stat(options.Dir); errors.Is(err, os.ErrNotExist) {
		return NothingToDo, nil
	}
	folder, err := lockFolder(ctx, options.Dir, options.Log)
	if err != nil {
		return "", err
	}
	defer folder.unlock()
	old, err := readState(folder.path)
	if err != nil {
		return "", err
	}
	if old == nil {
		if folder.checkOurs() != nil {
			return NothingToDo, nil // somebody's folder, with nothing of ours
		}
	}
	if err := folder.clear(old); err != nil {
		return "", err
	}
	if err := folder.remove(); err != nil {
		return "", err
	}
	if old == nil {
		return NothingToDo, nil
	}
	return Removed, nil
}

// runs says whether a sandbox is up: all its servers are alive. The controller
// may be stopped: people do that to see what happens.
func (s *state) runs() bool {
	if s.Phase != phaseRunning {
		return false
	}
	for _, name := range Components() {
		if c := s.component(name); name != Controller && (c == nil || !c.Alive()) {
			return false
		}
	}
	return true
}

// controllerNote mentions a controller that was there and is not.
func (s *state) controllerNote() string {
	if c := s.component(Controller); c != nil && !c.Alive() {
		return " (its controller does not run: berth-sandbox controller start)"
	}
	return ""
}
