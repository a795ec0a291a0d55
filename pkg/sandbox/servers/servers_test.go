package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// module is the real test/kube.
var module = filepath.Join("..", "..", "..", modulePath)

func TestVersionsAreThoseOfTheModule(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for path, version := range map[string]string{
		"k8s.io/kubernetes": KubernetesVersion, "go.etcd.io/etcd/server/v3": EtcdVersion, "sigs.k8s.io/kwok": KwokVersion,
	} { //order:any independent checks
		if want := path + " " + version + "\n"; !strings.Contains(string(raw), want) {
			t.Errorf("go.mod does not require %s", want)
		}
	}
}

func TestTheVersionIsStampedInBothPlaces(t *testing.T) {
	t.Parallel()
	got := kubernetesFlags()
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.37.2", "-X k8s.io/client-go/pkg/version.gitVersion=v1.37.2",
		"-X k8s.io/component-base/version.gitMajor=1", "-X k8s.io/client-go/pkg/version.gitMinor=37",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in %s", want, got)
		}
	}
}

func TestTheKeyChangesWithWhatIsBuilt(t *testing.T) {
	t.Parallel()
	keyOf := func(mod, sum, version string) string {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "go.mod"), mod)
		write(t, filepath.Join(dir, "go.sum"), sum)
		name, err := controlPlane().key(dir, version)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	base := keyOf("m", "s", "go1.26.8")
	if again := keyOf("m", "s", "go1.26.8"); again != base {
		t.Errorf("the same files gave %s and %s", base, again)
	}
	for _, other := range []string{keyOf("m2", "s", "go1.26.8"), keyOf("m", "s2", "go1.26.8"), keyOf("m", "s", "go1.27.0"), keyOf("ms", "", "go1.26.8")} {
		if other == base {
			t.Errorf("different files gave one key, %s", base)
		}
	}
	if !strings.HasPrefix(base, controlPlane().prefix) {
		t.Errorf("key %s does not begin with %s", base, controlPlane().prefix)
	}
}

func TestNamesOfPackagesAreToldFromMessages(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"k8s.io/api/core/v1":                 true,
		"internal/cpu":                       true,
		"vendor/golang.org/x/net/idna":       true,
		"":                                   false,
		"# k8s.io/kubernetes/cmd/kubectl":    false,
		"go: downloading k8s.io/api v0.37.2": false,
		"pkg/a.go:3:1: undefined: x":         false,
		"/usr/local/go/pkg/tool/link: running gcc failed: exit status 1": false,
		"no required module provides package x; to add it:":              false,
	} { //order:any independent checks
		if got := isPackage(line); got != want {
			t.Errorf("isPackage(%q) = %v", line, got)
		}
	}
}

func TestProgressIsOneLine(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		p    *progress
		want string
	}{
		{"nothing yet", &progress{unit: unitPackages, total: 10}, "1m5s  looking up what is compiled already, or linking"},
		{"some", &progress{unit: unitPackages, total: 10, n: 5, last: "fmt"}, "1m5s  50%, 5 of at most 10 packages compiled, now fmt"},
		{"more than thought", &progress{unit: unitPackages, total: 2, n: 5, last: "fmt"}, "1m5s  100%, 5 of at most 2 packages compiled, now fmt"},
		{"an unknown number", &progress{unit: unitModules, n: 5, last: "k8s.io/api v0.37.2"}, "1m5s  5 modules downloaded, now k8s.io/api v0.37.2"},
		{"a long name keeps its end", &progress{unit: unitModules, n: 1, last: strings.Repeat("x", 60) + "end"}, "1m5s  1 modules downloaded, now …" + strings.Repeat("x", 46) + "end"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.p.line(65*time.Second)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// fakeGo puts a script named go first in PATH. It writes a line to a file at
// each build. Tests with it can't be parallel.
func fakeGo(t *testing.T, script string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	write(t, filepath.Join(dir, "go"), "#!/bin/sh\ncase $1 in env) echo go1.99; exit;; list) exit;; esac\necho build >> "+calls+"\n"+script)
	if err := os.Chmod(filepath.Join(dir, "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(CacheVariable, filepath.Join(t.TempDir(), "cache"))
	return calls
}

// makesAll is a go that "builds": for -o DIR/ it makes files named after the
// packages there.
const makesAll = `
while [ "$1" != -o ]; do shift; done
out=$2; shift 2
for p in "$@"; do touch "$out/$(basename $p)"; chmod +x "$out/$(basename $p)"; done
`

func TestSeveralThatWantTheServersBuildThemOnce(t *testing.T) {
	calls := fakeGo(t, makesAll)
	var wait sync.WaitGroup
	dirs := make([]string, 4)
	for i := range dirs {
		wait.Go(func() {
			dir, err := Ensure(context.Background(), &bytes.Buffer{})
			if err != nil {
				t.Error(err)
			}
			dirs[i] = dir
		})
	}
	wait.Wait()
	for _, dir := range dirs {
		if dir != dirs[0] || !controlPlane().complete(dir) {
			t.Errorf("got %q, complete: %v; the first got %q", dir, controlPlane().complete(dir), dirs[0])
		}
	}
	raw, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(string(raw), "build"), len(controlPlane().steps); got != want {
		t.Errorf("%d builds, want %d", got, want)
	}
}

// Who wants a sandbox does not wait for a kubelet, nor the other way round.
func TestAKubeletIsBuiltOnlyWhenItIsAskedFor(t *testing.T) {
	calls := fakeGo(t, makesAll)
	plane, err := Ensure(t.Context(), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(plane, kubeletProgram)); !os.IsNotExist(err) {
		t.Errorf("the control plane came with a kubelet (%v)", err)
	}
	if err := os.Remove(calls); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is in the cache
		path, err := EnsureKubelet(t.Context(), &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 || filepath.Dir(path) == plane {
			t.Errorf("no program of its own in %s (%v)", path, err)
		}
	}
	raw, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("build\n", string(raw)); diff != "" {
		t.Errorf("builds (-want +got)\n%s", diff)
	}
}

func TestAFailedBuildShowsTheEndOfItsOutputAndLeavesNothing(t *testing.T) {
	fakeGo(t, "echo internal/cpu >&2; for i in $(seq 1 40); do echo \"a.go:$i:1: wrong\" >&2; done; exit 1\n")
	var log bytes.Buffer
	dir, err := Ensure(t.Context(), &log)
	if err == nil {
		t.Fatalf("it built %s", dir)
	}
	for want, there := range map[string]bool{"build etcd": true, "a.go:40:1: wrong": true, "a.go:1:1:": false, "internal/cpu": false} { //order:any independent checks
		if strings.Contains(err.Error(), want) != there {
			t.Errorf("%q in the error: want %v in\n%v", want, there, err)
		}
	}
	cache, cacheErr := CacheDir()
	if cacheErr != nil {
		t.Fatal(cacheErr)
	}
	left, globErr := filepath.Glob(filepath.Join(cache, "*"+partial))
	if globErr != nil || len(left) > 0 {
		t.Errorf("left in the cache: %v %v", left, globErr)
	}
}

func TestWhatAKilledBuildLeftIsBuiltAnew(t *testing.T) {
	fakeGo(t, makesAll)
	name, err := controlPlane().key(module, "go1.99")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(cache, name+partial, "stale")
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, stale, "")
	dir, err := Ensure(t.Context(), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "stale")); !os.IsNotExist(err) {
		t.Errorf("the killed build's file is in the result (%v)", err)
	}
}

func TestWithoutGoTheCacheIsUsedOrGoIsAskedFor(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	cache := t.TempDir()
	t.Setenv(CacheVariable, cache)
	_, err := Ensure(t.Context(), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("got %v", err)
	}
	for i, name := range []string{controlPlane().prefix + "go1_a", controlPlane().prefix + "go1_b", "kubernetes-v1.0.0_x", controlPlane().prefix + "go1_c" + partial} {
		dir := filepath.Join(cache, name)
		for _, program := range controlPlane().programs() {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, program), "")
			if err := os.Chmod(filepath.Join(dir, program), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		at := time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Ensure(t.Context(), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(cache, controlPlane().prefix+"go1_b"); got != want {
		t.Errorf("got %s, want the youngest complete one of our versions, %s", got, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(fmt.Errorf("write %s: %w", path, err))
	}
}
