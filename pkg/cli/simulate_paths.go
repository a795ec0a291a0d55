package cli

import (
	"fmt"
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
