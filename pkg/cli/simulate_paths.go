package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-dev/berth/pkg/scenario"
)

// namedFile is a file, and the flag that names it.
type namedFile struct{ by, path string }

// outputs are the files that are written.
func (o *simulateOptions) outputs() []namedFile {
	var out []namedFile
	for _, one := range []namedFile{{"--report", o.report}, {"--journal", o.journal}} {
		if one.path != "" {
			out = append(out, one)
		}
	}
	return out
}

// apart refuses an output that is also read, or written by another: one would be lost
// in silence.
func (o *simulateOptions) apart(turns []turn) error {
	taken := []namedFile{{"-f", o.files[0]}}
	if o.compare != "" {
		taken = append(taken, namedFile{"--compare", o.compare})
	}
	for _, t := range turns {
		if t.file.Trace != nil {
			taken = append(taken, namedFile{"the trace of " + t.path + ",", tracePath(t.file)})
		}
	}
	for _, out := range o.outputs() {
		for _, other := range taken {
			if sameFile(out.path, other.path) {
				return fmt.Errorf("%s %s would overwrite %s %s: name another file", out.by, out.path, other.by, other.path)
			}
		}
		taken = append(taken, out)
	}
	return nil
}

// writable refuses an output that can't be written: a run may take hours, and what is
// written of it comes at its end.
func (o *simulateOptions) writable() error {
	for _, out := range o.outputs() {
		if err := out.writable(); err != nil {
			return err
		}
	}
	return nil
}

// writable opens the file, and leaves it as it was. What is no file, such as a terminal
// or a pipe, is left alone: whoever reads it would take the end of the look for the end.
func (f namedFile) writable() error {
	info, err := os.Stat(f.path)
	switch folder := filepath.Dir(f.path); {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s %s is a folder: name a file in it", f.by, f.path)
	case err == nil && !info.Mode().IsRegular():
		return nil
	case errors.Is(err, fs.ErrNotExist) && !isFolder(folder):
		return fmt.Errorf("%s %s cannot be written: there is no folder %s: make it, or name a file in another", f.by, f.path, folder)
	}
	_, before := os.Lstat(f.path) // a link that leads nowhere yet is there
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("%s %s cannot be written: %w: name a file where you may write", f.by, f.path, errors.Unwrap(err))
	}
	if errors.Is(before, fs.ErrNotExist) {
		return os.Remove(f.path)
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// tracePath is where a scenario's log lies: its path counts from the scenario's folder.
func tracePath(file *scenario.File) string {
	path := file.Trace.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file.Path), path)
	}
	return path
}

// sameFile says whether two paths lead to one file, which need not be there yet. What is
// no file, such as a terminal, may be read and written.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if other, otherErr := os.Stat(b); err == nil && otherErr == nil {
		return one.Mode().IsRegular() && os.SameFile(one, other)
	}
	return resolved(a) == resolved(b)
}

// resolved is a path from the root, through no link to a folder.
func resolved(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(folder, filepath.Base(path))
	}
	return path
}
