// Package servers builds the programs of a Kubernetes control plane from Go
// modules, once per machine, into a cache.
//
// There is nothing to download but source: the modules are pinned, with their
// sums, by test/kube/go.mod and go.sum. A build takes minutes, so it is kept
// in a folder named after everything that it depends on.
package servers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The versions that are built. A test compares them with test/kube/go.mod.
const (
	KubernetesVersion = "v1.37.2"
	EtcdVersion       = "v3.7.3"
	KwokVersion       = "v0.8.0"
)

// step is one run of `go build`.
type step struct {
	title    string
	packages []string
	ldflags  string
	programs []string
}

// steps are in the order of their length, so that a machine on which nothing
// can be built says so soon.
func steps() []step {
	return []step{
		{
			title:    "etcd " + EtcdVersion,
			packages: []string{"./etcd"},
			ldflags:  "-s -w",
			programs: []string{"etcd"},
		},
		{
			title: "Kubernetes " + KubernetesVersion + " (API server, controller manager, scheduler, kubectl)",
			packages: []string{
				"k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kube-controller-manager",
				"k8s.io/kubernetes/cmd/kube-scheduler", "k8s.io/kubernetes/cmd/kubectl",
			},
			ldflags:  kubernetesFlags(),
			programs: []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"},
		},
		{
			title:    "kwok " + KwokVersion + " (simulates the nodes)",
			packages: []string{"sigs.k8s.io/kwok/cmd/kwok"},
			ldflags:  "-s -w -X sigs.k8s.io/kwok/pkg/consts.Version=" + KwokVersion,
			programs: []string{"kwok"},
		},
	}
}

// kubernetesFlags stamp the version, in the two packages that hold one: else
// the API server reports v0.0.0-master+$Format:%H$ and kubectl warns of it.
func kubernetesFlags() string {
	parts := strings.SplitN(strings.TrimPrefix(KubernetesVersion, "v"), ".", 3)
	stamp := func(path string) string {
		return fmt.Sprintf(" -X %s.gitVersion=%s -X %s.gitMajor=%s -X %s.gitMinor=%s", path, KubernetesVersion, path, parts[0], path, parts[1])
	}
	return "-s -w" + stamp("k8s.io/component-base/version") + stamp("k8s.io/client-go/pkg/version")
}

// Programs are the names of all programs that are built.
func Programs() []string {
	var names []string
	for _, s := range steps() {
		names = append(names, s.programs...)
	}
	return names
}

// complete says whether a folder holds all programs.
func complete(dir string) bool {
	for _, name := range Programs() {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// keyPrefix begins the name of each folder whose programs this version of
// Berth can use.
func keyPrefix() string {
	return fmt.Sprintf("kubernetes-%s_etcd-%s_kwok-%s_", KubernetesVersion, EtcdVersion, KwokVersion)
}

// key names the folder for a build: versions for people, and a sum of all that
// goes into the programs.
func key(module, goVersion string) (string, error) {
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		raw, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", fmt.Errorf("read the pins of the servers: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(raw))
		sum.Write(raw)
	}
	for _, s := range steps() {
		fmt.Fprintf(sum, "%q %q\n", s.packages, s.ldflags)
	}
	fmt.Fprintf(sum, "%s/%s\n", runtime.GOOS, runtime.GOARCH)
	return keyPrefix() + goVersion + "_" + hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// goVersion asks the Go that would build, in the module, whose go line may
// call for a newer one.
func goVersion(ctx context.Context, module string) (string, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("the servers are built from Go modules, and there is no go command in PATH: install Go 1.26 or later (https://go.dev/dl)")
	}
	command := exec.CommandContext(ctx, path, "env", "GOVERSION")
	command.Dir = module
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", path, err)
	}
	return strings.TrimSpace(string(out)), nil
}
