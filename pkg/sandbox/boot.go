package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-dev/berth/pkg/sandbox/process"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

// bootTries is how often a control plane is started before giving up on ports
// that others take between our choice and a server's start.
const bootTries = 4

// startTimeout bounds the start of the servers; on a machine with 20 runnable
// processes for each core it took 11 s.
const startTimeout = 3 * time.Minute

// errPortTaken says that a server found its port taken.
var errPortTaken = errors.New("port taken")

// boot starts the control plane and returns when it is healthy.
func (b *builder) boot(ctx context.Context) error {
	for try := 1; ; try++ {
		err := b.bootOnce(ctx)
		if !errors.Is(err, errPortTaken) || try == bootTries {
			return err
		}
		if err := b.folder.clear(b.state); err != nil {
			return err
		}
		b.state.Components = nil
		fmt.Fprintf(b.log, "A port was taken meanwhile; starting over with others.\n")
	}
}

func (b *builder) bootOnce(ctx context.Context) error {
	if err := b.state.write(b.folder.path); err != nil {
		return err
	}
	ports, err := choosePorts()
	if err != nil {
		return err
	}
	b.plane = &plane{dir: b.folder.path, ports: ports, nodeTimeout: b.options.NodeTimeout}
	if err := b.plane.writeFiles(); err != nil {
		return fmt.Errorf("write the sandbox's files: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	// The API server waits for etcd by itself.
	storage, err := b.startAll(map[string][]string{Etcd: b.plane.etcdArgs(), APIServer: b.plane.apiServerArgs()})
	if err != nil {
		return err
	}
	if err := b.awaitHealth(ctx, storage); err != nil {
		return err
	}
	others, err := b.startAll(map[string][]string{
		ControllerManager: b.plane.controllerManagerArgs(),
		Scheduler:         b.plane.schedulerArgs(),
		Kwok:              b.plane.kwokArgs(),
	})
	if err != nil {
		return err
	}
	return b.awaitHealth(ctx, others)
}

// writeFiles writes all that the servers read.
func (p *plane) writeFiles() error {
	for _, name := range []string{pkiFolder, configFolder, logFolder, workFolder} {
		if err := os.MkdirAll(filepath.Join(p.dir, name), 0o700); err != nil {
			return err
		}
	}
	if err := writeCertificates(filepath.Join(p.dir, pkiFolder)); err != nil {
		return err
	}
	if err := p.writeClientKubeconfigs(); err != nil {
		return err
	}
	if err := os.WriteFile(p.config(schedulerConfigFile), []byte(p.schedulerConfig()), 0o600); err != nil {
		return err
	}
	stages, err := simulate.KwokConfig()
	if err != nil {
		return err
	}
	return os.WriteFile(p.config(kwokConfigFile), stages, 0o600)
}

// started is a component that was just started.
type started struct {
	componentState
	process *process.Process
}

// startAll starts components, in the order of Components.
func (b *builder) startAll(args map[string][]string) ([]started, error) {
	var all []started
	for _, name := range Components() {
		if args[name] == nil {
			continue
		}
		s, err := b.start(name, filepath.Join(b.state.Servers, name), args[name], b.plane.healthPort(name))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// start starts one component and writes it down.
func (b *builder) start(name, path string, args []string, port int) (started, error) {
	p, err := process.Start(process.Program{
		Path: path,
		Args: args,
		Mark: b.folder.path,
		Log:  b.logPath(name),
		Env:  b.environment(name),
	})
	if err != nil {
		return started{}, err
	}
	c := componentState{Name: name, Identity: p.Identity, Port: port}
	b.state.set(c)
	return started{componentState: c, process: p}, b.state.write(b.folder.path)
}

// environment is what a component's environment has besides ours.
func (b *builder) environment(name string) []string {
	if name == Controller {
		return nil // as in a cluster
	}
	return []string{
		// Fewer garbage collections: a sixth less time for a burst of pods, for
		// a few hundred MiB.
		"GOGC=400",
		// kwok would write into the home folder.
		"KWOK_WORKDIR=" + b.folder.join(workFolder),
	}
}

func (p *plane) healthPort(name string) int {
	return map[string]int{
		Etcd:              p.ports.etcd,
		APIServer:         p.ports.apiServer,
		ControllerManager: p.ports.controllerManager,
		Scheduler:         p.ports.scheduler,
		Kwok:              p.ports.kwok,
	}[name]
}

// awaitHealth returns when all are healthy, or with an error as soon as one
// has ended.
func (b *builder) awaitHealth(ctx context.Context, all []started) error {
	probe, err := newProber(b.folder.path)
	if err != nil {
		return err
	}
	defer probe.close()
	for _, s := range all {
		for {
			last := probe.health(ctx, s.componentState)
			if last == nil {
				break
			}
			select {
			case <-s.process.Exited:
				return b.exitError(s)
			case <-ctx.Done():
				return fmt.Errorf("%s is not healthy: %w (%w); its log: %s", s.Name, last, ctx.Err(), b.logPath(s.Name))
			case <-time.After(25 * time.Millisecond):
			}
		}
	}
	return nil
}

// exitError says why a component ended at its start.
func (b *builder) exitError(s started) error {
	raw, err := os.ReadFile(b.logPath(s.Name))
	if err != nil {
		return fmt.Errorf("%s ended at its start, and its log can't be read: %w", s.Name, err)
	}
	if bytes.Contains(raw, []byte("address already in use")) {
		return fmt.Errorf("%s: %w", s.Name, errPortTaken)
	}
	return fmt.Errorf("%s ended at its start; the end of its log:\n%s", s.Name, lastLines(string(raw), 15))
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (b *builder) logPath(name string) string { return b.folder.join(logFolder, name+".log") }
