package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/berth-dev/berth/pkg/sandbox/process"
)

// Names of what a sandbox keeps in its folder.
const (
	kubeconfigFile = "kubeconfig"
	pkiFolder      = "pki"
	configFolder   = "config"
	logFolder      = "logs"
	etcdFolder     = "etcd"
	workFolder     = "work"
)

// contents are all names that a sandbox makes in its folder; `down` removes
// these and nothing else. The state is last: as long as it is there, the rest
// is known to be ours.
var contents = []string{etcdFolder, workFolder, logFolder, configFolder, pkiFolder, kubeconfigFile, stateFileTemp, stateFile}

// folder is a sandbox's folder, locked: two commands that change the same
// sandbox take turns.
type folder struct {
	path string // absolute, without symbolic links
	lock *os.File
}

// lockFolder makes the folder if need be and waits for its lock. The lock is
// on the folder itself, so that it leaves no file, and the system drops it
// when its holder dies.
func lockFolder(ctx context.Context, dir string, log io.Writer) (*folder, error) {
	told := false
	for {
		path, lock, err := openFolder(dir)
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			continue // a `down` was quicker than we
		}
		if err != nil {
			return nil, fmt.Errorf("open the sandbox's folder: %w", err)
		}
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && same(lock, path) {
			return &folder{path: path, lock: lock}, nil
		}
		lock.Close()
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if err != nil && !told {
			fmt.Fprintf(log, "Waiting for another berth-sandbox command on %s …\n", path)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock of %s: %w", path, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// openFolder makes the folder if need be, and returns its resolved path too.
func openFolder(dir string) (string, *os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	path, err := resolve(dir)
	if err != nil {
		return "", nil, err
	}
	opened, err := os.Open(path)
	return path, opened, err
}

// resolve makes a path absolute and free of symbolic links, so that a sandbox
// has one name from wherever it is looked at.
func resolve(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// same says whether the path still leads to the opened folder: `down` may have
// removed it while we waited for its lock.
func same(opened *os.File, path string) bool {
	have, err := opened.Stat()
	if err != nil {
		return false
	}
	want, err := os.Stat(path)
	return err == nil && os.SameFile(have, want)
}

func (f *folder) unlock() { f.lock.Close() }

// checkOurs refuses a folder that holds anything but a sandbox, because `down`
// would remove files of it.
func (f *folder) checkOurs() error {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return fmt.Errorf("look into the sandbox's folder: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if len(names) == 0 || slices.Contains(names, stateFile) || slices.Equal(names, []string{stateFileTemp}) {
		return nil
	}
	return usageErrorf("folder %s is not empty and holds no sandbox (first entry: %s); give --dir an empty or a new folder", f.path, names[0])
}

// clear ends all processes of the folder's sandbox, those included that its
// state does not know because `up` was killed before it could write them down,
// and removes its files. The folder itself goes too, unless it has others.
func (f *folder) clear(s *state) error {
	// A process that is being started while its starter dies appears late: look
	// until a look finds none.
	for {
		ids, err := process.Marked(f.path)
		if err != nil {
			return err
		}
		if s != nil {
			for _, c := range s.Components {
				if c.Alive() && !slices.Contains(ids, c.Identity) {
					ids = append(ids, c.Identity)
				}
			}
		}
		if len(ids) == 0 {
			break
		}
		// All data goes, so there is nothing to end in good order.
		if err := process.Stop(ids, 0); err != nil {
			return err
		}
	}
	for _, name := range contents {
		if err := os.RemoveAll(filepath.Join(f.path, name)); err != nil {
			return fmt.Errorf("remove the sandbox's files: %w", err)
		}
	}
	return nil
}

// remove removes the folder if it is empty.
func (f *folder) remove() error {
	err := os.Remove(f.path)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return nil
	}
	return fmt.Errorf("remove the sandbox's folder: %w", err)
}

// join is a path below the folder.
func (f *folder) join(names ...string) string {
	return filepath.Join(append([]string{f.path}, names...)...)
}
