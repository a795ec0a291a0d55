package e2e

import (
	"os/exec"
	"path/filepath"
	"syscall"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secondController starts another controller beside the sandbox's, with the
// same rights, and returns how to end it.
func (t *team) secondController() (end func()) {
	t.t.Helper()
	command := exec.Command(filepath.Join(filepath.Dir(t.sandbox.Dir), "berth-controller"),
		"--kubeconfig="+filepath.Join(t.sandbox.Dir, "config", "controller.kubeconfig"),
		"--metrics-bind-address=0", "--health-probe-bind-address=0",
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive the test
	if err := command.Start(); err != nil {
		t.t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			command.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
			command.Wait()                          //nolint:errcheck // of a signal
		}
	}
	t.t.Cleanup(end)
	return end
}

// leader is who holds the lease.
func (t *team) leader() string {
	t.t.Helper()
	lease := &coordinationv1.Lease{}
	if err := t.client.Get(t.t.Context(), client.ObjectKey{Namespace: "berth-system", Name: "berth-controller"}, lease); err != nil {
		t.t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
