package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/berth-dev/berth/config"
	"github.com/berth-dev/berth/pkg/sandbox/process"
)

const (
	controllerProgram = "berth-controller"
	// tokenSeconds is a year: a sandbox renews nothing.
	tokenSeconds = 365 * 24 * 3600
	// stopPatience is how long the controller may take to end in good order.
	stopPatience = 15 * time.Second
)

// findController finds the controller's program.
func findController(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	var places []string
	if executable, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(executable); err == nil {
			places = append(places, filepath.Dir(resolved))
		}
	}
	if dir, err := os.Getwd(); err == nil {
		for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
			places = append(places, filepath.Join(dir, "bin"))
		}
	}
	for _, place := range places {
		path := filepath.Join(place, controllerProgram)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", usageErrorf("%s is neither beside this program nor in bin/ above the working directory: build it with `make build`, or start without it (--no-controller)", controllerProgram)
}

// startController starts the controller with no more than the rights of its
// service account, so that a rule that is missing in config/rbac shows here.
func (b *builder) startController(ctx context.Context, s *Sandbox, path string) error {
	token, err := controllerToken(ctx, s)
	if err != nil {
		return err
	}
	kubeconfig := b.plane.kubeconfig(Controller)
	if err := b.plane.writeKubeconfig(kubeconfig, clientcmdapi.AuthInfo{Token: token}, config.Namespace); err != nil {
		return fmt.Errorf("write the controller's kubeconfig: %w", err)
	}
	for try := 1; ; try++ {
		err := b.tryController(ctx, path, kubeconfig)
		if !errors.Is(err, errPortTaken) || try == bootTries {
			return err
		}
	}
}

func (b *builder) tryController(ctx context.Context, path, kubeconfig string) error {
	ports, err := freePorts(2, listenTCP)
	if err != nil {
		return err
	}
	args := append([]string{
		"--kubeconfig=" + kubeconfig,
		"--namespace=" + config.Namespace,
		"--metrics-bind-address=" + address(ports[0]),
		"--health-probe-bind-address=" + address(ports[1]),
		// A controller that was killed keeps the lease until it runs out: 15 s
		// by default, too long to watch a restart.
		"--leader-elect-lease-duration=5s",
		"--leader-elect-renew-deadline=4s",
		"--leader-elect-retry-period=500ms",
	}, b.options.ControllerArgs...)
	c, err := b.start(Controller, path, args, ports[1])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return b.awaitHealth(ctx, []started{c})
}

// controllerToken asks for a token of the controller's service account.
func controllerToken(ctx context.Context, s *Sandbox) (string, error) {
	api, err := s.typed()
	if err != nil {
		return "", err
	}
	seconds := int64(tokenSeconds)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := api.CoreV1().ServiceAccounts(config.Namespace).CreateToken(ctx, config.ControllerServiceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of service account %s/%s: %w", config.Namespace, config.ControllerServiceAccount, err)
	}
	return answer.Status.Token, nil
}

// StartController starts the controller; it does nothing if it runs.
func (s *Sandbox) StartController(ctx context.Context) error {
	return s.change(ctx, func(b *builder) error {
		if c := b.state.component(Controller); c != nil && c.Alive() {
			return nil
		}
		path, err := findController(b.options.ControllerPath)
		if err != nil {
			return err
		}
		return b.startController(ctx, s, path)
	})
}

// StopController ends the controller in good order.
func (s *Sandbox) StopController(ctx context.Context) error {
	return s.endController(ctx, stopPatience)
}

// KillController ends the controller with SIGKILL, as a crash does.
func (s *Sandbox) KillController(ctx context.Context) error { return s.endController(ctx, 0) }

func (s *Sandbox) endController(ctx context.Context, patience time.Duration) error {
	return s.change(ctx, func(b *builder) error {
		c := b.state.component(Controller)
		if c == nil {
			return nil
		}
		return process.Stop([]process.Identity{c.Identity}, patience)
	})
}

// change changes a running sandbox, under its lock.
func (s *Sandbox) change(ctx context.Context, do func(*builder) error) error {
	options := s.options.filled()
	if _, err := os.Stat(s.Dir); err != nil {
		return fmt.Errorf("%w in %s", ErrNotRunning, s.Dir)
	}
	folder, err := lockFolder(ctx, s.Dir, options.Log)
	if err != nil {
		return err
	}
	defer folder.unlock()
	state, err := readState(folder.path)
	if err != nil {
		return err
	}
	if state == nil || state.Phase != phaseRunning {
		return fmt.Errorf("%w in %s", ErrNotRunning, s.Dir)
	}
	api := state.component(APIServer)
	if api == nil {
		return fmt.Errorf("%w in %s", ErrNotRunning, s.Dir)
	}
	plane := &plane{dir: folder.path, ports: ports{apiServer: api.Port}}
	return do(&builder{options: options, log: options.Log, folder: folder, state: state, plane: plane})
}

// UsingController is the sandbox with another program as its controller, and
// with more flags of it.
func (s *Sandbox) UsingController(path string, args ...string) *Sandbox {
	other := *s
	other.options.ControllerPath, other.options.ControllerArgs = path, args
	return &other
}
