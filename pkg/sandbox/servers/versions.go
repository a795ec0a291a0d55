// Package servers builds the programs of a Kubernetes control plane from Go
// modules, once per machine, into a cache; and, for who asks for it, a kubelet.
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

// set is programs that are built together, into one folder of the cache.
type set struct {
	// prefix begins the name of each folder whose programs this version of
	// Berth can use.
	prefix string
	// name is the set in a message; intro is said before it is built, with how
	// long that takes.
	name, intro string
	steps       []step
}

// controlPlane is what every sandbox runs. Its steps are in the order of their
// length, so that a machine on which nothing can be built says so soon.
func controlPlane() set {
	return set{
		prefix: fmt.Sprintf("kubernetes-%s_etcd-%s_kwok-%s_", KubernetesVersion, EtcdVersion, KwokVersion),
		name:   fmt.Sprintf("the servers (Kubernetes %s, etcd %s, kwok %s)", KubernetesVersion, EtcdVersion, KwokVersion),
		intro: `Building a Kubernetes control plane from source, once for this machine: etcd, the API server,
controller manager, scheduler, kubectl and kwok, about 2,800 Go packages. This takes about 8 minutes
on 2 cores, less on more, and half a minute if Go's build cache has them.`,
		steps: []step{
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
		},
	}
}

// kubeletProgram is the only program of the set node.
const kubeletProgram = "kubelet"

// node is a set of its own, so that nobody waits for a kubelet who only wants
// a sandbox, and an older control plane in the cache stays good.
func node() set {
	return set{
		prefix: fmt.Sprintf("kubelet-%s_", KubernetesVersion),
		name:   "the kubelet " + KubernetesVersion,
		intro: `Building a kubelet from source, once for this machine. This takes about 4 minutes on 2 cores where the
control plane was built before, less on more, and a minute if Go's build cache has it.`,
		steps: []step{{
			title:    "kubelet " + KubernetesVersion,
			packages: []string{"k8s.io/kubernetes/cmd/kubelet"},
			ldflags:  kubernetesFlags(),
			programs: []string{kubeletProgram},
		}},
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

// programs are the names of all programs of the set.
func (s set) programs() []string {
	var names []string
	for _, step := range s.steps {
		names = append(names, step.programs...)
	}
	return names
}

// complete says whether a folder holds all programs of the set.
func (s set) complete(dir string) bool {
	for _, name := range s.programs() {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// key names the folder for a build: versions for people, and a sum of all that
// goes into the programs.
func (s set) key(module, goVersion string) (string, error) {
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		raw, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", fmt.Errorf("read the pins of the servers: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(raw))
		sum.Write(raw)
	}
	for _, step := range s.steps {
		fmt.Fprintf(sum, "%q %q\n", step.packages, step.ldflags)
	}
	fmt.Fprintf(sum, "%s/%s\n", runtime.GOOS, runtime.GOARCH)
	return s.prefix + goVersion + "_" + hex.EncodeToString(sum.Sum(nil))[:12], nil
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
