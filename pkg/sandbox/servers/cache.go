package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// CacheVariable is the environment variable that names the cache.
const CacheVariable = "BERTH_CACHE"

// modulePath is where the pins are, below a checkout of Berth.
var modulePath = filepath.Join("test", "kube")

// CacheDir is the folder of all builds: $BERTH_CACHE, or berth in the user's
// cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv(CacheVariable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w; set %s to a folder for the built servers", err, CacheVariable)
	}
	return filepath.Join(dir, "berth"), nil
}

// Ensure returns the folder that holds all programs of a control plane,
// building them first if the cache lacks them. Progress goes to log.
func Ensure(ctx context.Context, log io.Writer) (string, error) {
	return controlPlane().ensure(ctx, log)
}

// EnsureKubelet returns the path of a kubelet of the control plane's version,
// building it first if the cache lacks it. Progress goes to log.
func EnsureKubelet(ctx context.Context, log io.Writer) (string, error) {
	dir, err := node().ensure(ctx, log)
	return filepath.Join(dir, kubeletProgram), err
}

func (s set) ensure(ctx context.Context, log io.Writer) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	module := findModule()
	if module == "" {
		// A program that was copied somewhere uses what a checkout has built.
		if dir := s.newest(cache); dir != "" {
			return dir, nil
		}
		return "", fmt.Errorf("not built yet: %s; and %s, which pins the sources, is neither beside this program nor above the working directory: run this once from a checkout of Berth; built servers are kept in %s",
			s.name, modulePath, cache)
	}
	version, err := goVersion(ctx, module)
	if err != nil {
		if dir := s.newest(cache); dir != "" {
			return dir, nil
		}
		return "", err
	}
	name, err := s.key(module, version)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	if s.complete(dir) {
		return dir, nil
	}
	return dir, build{set: s, module: module, dir: dir, log: log}.once(ctx)
}

// newest is the youngest complete build of our versions, empty if there is none.
func (s set) newest(cache string) string {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return ""
	}
	var found string
	var foundAt time.Time
	for _, entry := range entries {
		dir := filepath.Join(cache, entry.Name())
		if !strings.HasPrefix(entry.Name(), s.prefix) || strings.HasSuffix(entry.Name(), partial) || !s.complete(dir) {
			continue
		}
		if info, err := entry.Info(); err == nil && info.ModTime().After(foundAt) {
			found, foundAt = dir, info.ModTime()
		}
	}
	return found
}

// findModule finds test/kube in the checkout that this program was built in
// (it lies in bin/), or in the one that the working directory is in.
func findModule() string {
	var starts []string
	if executable, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(executable); err == nil {
			starts = append(starts, filepath.Dir(filepath.Dir(resolved)))
		}
	}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, parents(wd)...)
	}
	i := slices.IndexFunc(starts, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, modulePath, "go.mod"))
		return err == nil
	})
	if i < 0 {
		return ""
	}
	return filepath.Join(starts[i], modulePath)
}

func parents(dir string) []string {
	all := []string{dir}
	for filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		all = append(all, dir)
	}
	return all
}

// partial ends the name of a folder that is being filled.
const partial = ".partial"

// once builds under a lock, so that of several that want the same servers one
// builds and the others wait for it.
func (b build) once(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(b.dir), 0o755); err != nil {
		return fmt.Errorf("make the cache folder: %w", err)
	}
	lock, err := os.OpenFile(b.dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("open the cache's lock: %w", err)
	}
	defer lock.Close()
	if err := awaitLock(ctx, lock, b.log); err != nil {
		return err
	}
	if b.set.complete(b.dir) {
		return nil
	}
	temp := b.dir + partial
	// One may be left by a build that was killed.
	if err := os.RemoveAll(temp); err != nil {
		return fmt.Errorf("clear the cache folder: %w", err)
	}
	if err := os.MkdirAll(temp, 0o755); err != nil {
		return fmt.Errorf("make the cache folder: %w", err)
	}
	b.temp, b.lock = temp, lock
	if err := b.run(ctx); err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	if err := os.RemoveAll(b.dir); err != nil {
		return fmt.Errorf("clear the cache folder: %w", err)
	}
	if err := os.Rename(temp, b.dir); err != nil {
		return fmt.Errorf("put the built servers in place: %w", err)
	}
	return nil
}

func awaitLock(ctx context.Context, lock *os.File, log io.Writer) error {
	told := false
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("lock %s: %w", lock.Name(), err)
		}
		if !told {
			fmt.Fprintln(log, "Another command is building the same servers; waiting for it …")
			told = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for another build of the servers: %w", ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
