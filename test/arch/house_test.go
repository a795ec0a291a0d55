package arch_test

import (
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	functionLines = 70  // fits on a screen
	mainLines     = 80  // a main parses options and starts something
	testFileLines = 800 // more is two test files, or a table that wants to be scenario files
)

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		if len(p.GoFiles) == 0 {
			continue // tests only
		}
		opening := "Package " + p.Name + " "
		if p.Name == "main" {
			opening = "Command "
		}
		if !strings.HasPrefix(p.Doc, opening) {
			t.Errorf("%s: the package comment begins with %q, not %q", p.short(), opening, p.Doc)
		}
	}
}

// A name that says nothing collects what belongs elsewhere.
func TestPackagesHaveNamesWithMeaning(t *testing.T) {
	t.Parallel()
	empty := []string{"base", "common", "helper", "helpers", "lib", "manager", "misc", "shared", "types", "util", "utils"}
	for _, p := range allPackages(t) {
		if slices.Contains(empty, p.Name) || slices.ContainsFunc(strings.Split(p.short(), "/"), func(part string) bool { return slices.Contains(empty, part) }) {
			t.Errorf("%s: name it after what it is, or put its code next to its only user", p.short())
		}
	}
}

func TestFunctionsFitOnAScreen(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		for _, s := range sources(t, p) {
			for _, declaration := range s.file.Decls {
				function, ok := declaration.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if lines := s.set.Position(function.End()).Line - s.set.Position(function.Pos()).Line + 1; lines > functionLines {
					t.Errorf("%s: %s has %d lines, at most %d: the parent branches, the leaves compute", s.at(function.Pos()), function.Name.Name, lines, functionLines)
				}
			}
		}
	}
}

func TestMainsAreShort(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		for _, s := range sources(t, p) {
			if p.Name != "main" || filepath.Base(s.path) != "main.go" {
				continue
			}
			if lines := bytes.Count(s.text, []byte("\n")); lines > mainLines {
				t.Errorf("%s has %d lines, at most %d", s.path, lines, mainLines)
			}
		}
	}
}

func TestTestFilesAreReadable(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		for _, s := range parse(t, p, slices.Concat(p.TestGoFiles, p.XTestGo)) {
			if lines := bytes.Count(s.text, []byte("\n")); lines > testFileLines {
				t.Errorf("%s has %d lines, at most %d", s.path, lines, testFileLines)
			}
		}
	}
}

var nameless = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b(\([a-z][a-z0-9-]*\))?`)

// What is left to do is somebody's, or nobody does it.
func TestEveryTODOHasAName(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		for _, s := range parse(t, p, slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGo)) {
			for _, group := range s.file.Comments {
				for _, comment := range group.List {
					for _, found := range nameless.FindAllStringSubmatch(comment.Text, -1) {
						if found[2] == "" {
							t.Errorf("%s: write %s(name)", s.at(comment.Pos()), found[1])
						}
					}
				}
			}
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Relative links of the documents lead somewhere.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	t.Parallel()
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(found[1], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			from := filepath.Dir(path)
			if strings.HasPrefix(target, "/") {
				from = filepath.Join(root, "site") // links of the site begin at its root
			}
			if !exists(filepath.Join(from, target)) && !exists(filepath.Join(from, target+".md")) {
				t.Errorf("%s links to %s, which is not there", strings.TrimPrefix(path, root+"/"), found[1])
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
