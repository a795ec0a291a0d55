package arch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/berth-dev/berth"
)

// pure are the packages above the purity line: the state of the queue and every
// decision about it. They have no Kubernetes, clock, goroutine, channel, lock,
// logger, context, global or dependence on the order of a map, so that the same
// code runs live, simulated and replayed.
var pure = []string{"batch", "core", "explain", "journal", "planner", "quota", "scenario", "sim", "state", "timeline", "topology", "whatif"}

// goPackage is one package as `go list` tells.
type goPackage struct {
	ImportPath  string
	Name        string
	Dir         string
	Doc         string
	GoFiles     []string
	TestGoFiles []string
	XTestGo     []string `json:"XTestGoFiles"`
	Imports     []string
	Deps        []string
	Standard    bool
}

// short is the import path below the module.
func (p goPackage) short() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// packages are those of the main module.
var packages = sync.OnceValues(func() ([]goPackage, error) {
	list := exec.Command("go", "list", "-e", "-json=ImportPath,Name,Dir,Doc,GoFiles,TestGoFiles,XTestGoFiles,Imports,Deps,Standard", "./...")
	list.Dir = root
	var complaints bytes.Buffer
	list.Stderr = &complaints
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", list, err, complaints.String())
	}
	var found []goPackage
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the output of go list: %w", err)
		}
		found = append(found, p)
	}
})

func allPackages(t *testing.T) []goPackage {
	t.Helper()
	found, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func purePackages(t *testing.T) []goPackage {
	t.Helper()
	var found []goPackage
	for _, name := range pure {
		i := slices.IndexFunc(allPackages(t), func(p goPackage) bool { return p.short() == "pkg/"+name })
		if i < 0 {
			t.Fatalf("there is no pkg/%s", name)
		}
		found = append(found, allPackages(t)[i])
	}
	return found
}

// source is a parsed file that people wrote.
type source struct {
	path string // from the root
	file *ast.File
	text []byte
	set  *token.FileSet
}

func (s source) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(pos).Line)
}

// sources are the Go files of a package, generated ones and tests left out.
func sources(t *testing.T, p goPackage) []source {
	t.Helper()
	return parse(t, p, p.GoFiles)
}

func parse(t *testing.T, p goPackage, names []string) []source {
	t.Helper()
	var found []source
	for _, name := range names {
		path := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !ast.IsGenerated(file) {
			found = append(found, source{path: p.short() + "/" + name, file: file, text: text, set: set})
		}
	}
	return found
}

// documents are the Markdown files of the project.
func documents(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
