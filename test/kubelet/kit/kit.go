//go:build linux

// Package kit gets together what a node is made of: a kubelet, built like the
// servers of a sandbox; a container runtime and the plugins of its network, from
// Debian's packages, which are unpacked in the cache and not installed; and the
// images that its pods run, packed here.
package kit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/berth-dev/berth/pkg/sandbox/servers"
	"github.com/berth-dev/berth/test/kubelet/image"
)

// Names of the images.
const (
	PauseImage = "berth.local/pause:1" // holds a pod's network
	TrapImage  = "berth.local/trap:1"  // test/kubelet/trap and busybox
)

// Kit is where the programs of a node are.
type Kit struct {
	Kubelet    string `json:"kubelet"`
	Containerd string `json:"containerd"`
	Ctr        string `json:"ctr"`
	Runc       string `json:"runc"`
	Plugins    string `json:"plugins"` // folder of the network plugins
	Images     string `json:"images"`  // archive of all images
}

// ErrUnavailable says that this machine has no way to get a part of the kit.
var ErrUnavailable = errors.New("not available")

// packages are Debian's. None needs a library beyond the C library and
// libseccomp, which apt itself needs.
var packages = []string{"busybox-static", "containerd", "containernetworking-plugins", "runc"}

// Missing are the commands without which no kit can be got.
func Missing() []string {
	var names []string
	for _, name := range []string{"apt-get", "dpkg-deb", "go"} {
		if _, err := exec.LookPath(name); err != nil {
			names = append(names, name)
		}
	}
	return names
}

// Ensure gets the kit; dir is where the images are put. Progress goes to log.
func Ensure(ctx context.Context, dir string, log io.Writer) (*Kit, error) {
	root, err := unpacked(ctx, log)
	if err != nil {
		return nil, err
	}
	kubelet, err := servers.EnsureKubelet(ctx, log)
	if err != nil {
		return nil, err
	}
	k := &Kit{Kubelet: kubelet, Images: filepath.Join(dir, "images.tar")}
	var busybox string
	for name, path := range map[string]*string{"containerd": &k.Containerd, "ctr": &k.Ctr, "runc": &k.Runc, "ptp": &k.Plugins, "busybox": &busybox} { //order:any each is a file of its own
		if *path, err = find(root, name); err != nil {
			return nil, err
		}
	}
	k.Plugins = filepath.Dir(k.Plugins)
	if err := writeImages(ctx, k.Images, busybox); err != nil {
		return nil, fmt.Errorf("make the images: %w", err)
	}
	return k, nil
}

// unpacked is the folder in the cache that has the packages' files.
func unpacked(ctx context.Context, log io.Writer) (string, error) {
	cache, err := servers.CacheDir()
	if err != nil {
		return "", err
	}
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", fmt.Errorf("%w: packages of Debian: %w", ErrUnavailable, err)
	}
	key := sha256.Sum256(fmt.Appendf(release, "%q", packages))
	dir := filepath.Join(cache, "runtime_"+hex.EncodeToString(key[:])[:12])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fmt.Fprintf(log, "Getting a container runtime (%s) with apt-get, once for this machine; not installed, but unpacked in\n  %s\n", strings.Join(packages, ", "), dir)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(cache, "runtime-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	if err := download(ctx, temp); err != nil {
		return "", fmt.Errorf("%w: packages of Debian: %w", ErrUnavailable, err)
	}
	root := filepath.Join(temp, "root")
	if err := unpack(ctx, temp, root); err != nil {
		return "", fmt.Errorf("unpack the container runtime: %w", err)
	}
	// Another run may have been quicker.
	if err := os.Rename(root, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}

// download gets the packages with lists of its own, so that the machine's are
// neither needed nor changed. apt checks the signatures.
func download(ctx context.Context, dir string) error {
	for _, folder := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
	}
	own := []string{"-q", "-o", "Dir::State::Lists=" + filepath.Join(dir, "lists"), "-o", "Dir::Cache=" + filepath.Join(dir, "cache"), "-o", "APT::Sandbox::User=root"}
	if err := command(ctx, dir, "apt-get", append(own, "update")...); err != nil {
		return err
	}
	return command(ctx, dir, "apt-get", append(append(own, "download"), packages...)...)
}

func unpack(ctx context.Context, from, to string) error {
	archives, err := filepath.Glob(filepath.Join(from, "*.deb"))
	if err != nil {
		return err
	}
	if len(archives) != len(packages) {
		return fmt.Errorf("want %d packages, got %q", len(packages), archives)
	}
	for _, archive := range archives {
		if err := command(ctx, from, "dpkg-deb", "--extract", archive, to); err != nil {
			return err
		}
	}
	return nil
}

// command runs a program and puts what it says into its error.
func command(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s: %w: %s", name, err, strings.Join(lines[max(0, len(lines)-5):], "; "))
	}
	return nil
}

// find finds a program, wherever a distribution puts it.
func find(root, name string) (string, error) {
	var found string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != name || !entry.Type().IsRegular() {
			return err
		}
		if info, err := entry.Info(); err == nil && info.Mode()&0o111 != 0 {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	if err == nil && found == "" {
		err = fmt.Errorf("no program %s in the packages %q, unpacked in %s", name, packages, root)
	}
	return found, err
}

// applets are the commands that a pod's author expects in an image.
var applets = []string{"cat", "env", "kill", "ls", "mv", "ps", "rm", "sh", "sleep", "touch", "wget"}

func writeImages(ctx context.Context, path, busybox string) error {
	trap := filepath.Join(filepath.Dir(path), "trap")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", trap, "github.com/berth-dev/berth/test/kubelet/trap")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // it has no C library in its image
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build trap: %w\n%s", err, out)
	}
	var files []image.File
	for _, from := range []string{busybox, trap} {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		files = append(files, image.File{Path: "bin/" + filepath.Base(from), Mode: 0o755, Data: data})
	}
	for _, name := range applets {
		files = append(files, image.File{Path: "bin/" + name, Link: "busybox"})
	}
	var archive bytes.Buffer
	err := image.Write(&archive, files,
		image.Image{Name: PauseImage, Entrypoint: []string{"/bin/trap", "pause"}},
		image.Image{Name: TrapImage, Entrypoint: []string{"/bin/trap"}})
	if err != nil {
		return err
	}
	return os.WriteFile(path, archive.Bytes(), 0o600)
}
