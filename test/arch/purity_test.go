package arch_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// impureImports are packages of Go's library that a pure package has no use for.
var impureImports = map[string]bool{
	"context": true, "crypto/rand": true, "log": true, "log/slog": true, "math/rand": true, "math/rand/v2": true, "net": true,
	"net/http": true, "os": true, "os/exec": true, "runtime": true, "sync": true, "sync/atomic": true, "syscall": true, "unsafe": true,
}

// clock are the functions of package time that read it, or wait.
var clock = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

func TestPurePackagesArePure(t *testing.T) {
	t.Parallel()
	for _, p := range purePackages(t) {
		for _, s := range sources(t, p) {
			checkImports(t, s)
			checkGlobals(t, s)
			ast.Inspect(s.file, func(node ast.Node) bool {
				if problem := impurity(node); problem != "" && !(measuring[p.Name] && strings.HasPrefix(problem, "float")) {
					t.Errorf("%s: %s", s.at(node.Pos()), problem)
				}
				return true
			})
		}
	}
}

// measuring are pure packages that sum up what has happened, and decide
// nothing: a mean may be a float there.
var measuring = map[string]bool{"scenario": true, "sim": true}

func checkImports(t *testing.T, s source) {
	t.Helper()
	for _, spec := range s.file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if impureImports[path] {
			t.Errorf("%s: import of %s in a pure package: take the value as a parameter, hand the deed to a driver", s.at(spec.Pos()), path)
		}
	}
}

// checkGlobals allows errors, which are compared and never change, and checks
// of the compiler (var _ I = T{}).
func checkGlobals(t *testing.T, s source) {
	t.Helper()
	for _, declaration := range s.file.Decls {
		vars, ok := declaration.(*ast.GenDecl)
		if !ok || vars.Tok != token.VAR {
			continue
		}
		for _, spec := range vars.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if name.Name != "_" && !strings.HasPrefix(strings.ToLower(name.Name), "err") {
					t.Errorf("%s: package variable %s in a pure package: whoever changes it changes every plan", s.at(name.Pos()), name.Name)
				}
			}
		}
	}
	for _, declaration := range s.file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "init" {
			t.Errorf("%s: func init in a pure package", s.at(function.Pos()))
		}
	}
}

// impurity says what is wrong with a node, if anything.
func impurity(node ast.Node) string {
	switch n := node.(type) {
	case *ast.GoStmt:
		return "a goroutine: the core runs in its driver's"
	case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
		return "a channel: return the value"
	case *ast.SelectorExpr:
		if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains(clock, n.Sel.Name) {
			return "time." + n.Sel.Name + ": take now as a parameter"
		}
	case *ast.Ident:
		if n.Name == "float64" || n.Name == "float32" {
			return n.Name + ": decisions are made of integers, the same on every machine; compare by cross-multiplying"
		}
	}
	return ""
}

// A loop over a map runs in another order every time. Sort first, or say on the
// line (or the one above) why it doesn't matter: //order:any, with the reason.
func TestPurePackagesDoNotDependOnTheOrderOfMaps(t *testing.T) {
	t.Parallel()
	for _, p := range purePackages(t) {
		for _, found := range mapLoops(t, p) {
			t.Errorf("%s: a loop over a map without //order:any and a reason", found)
		}
	}
}

func mapLoops(t *testing.T, p goPackage) []string {
	t.Helper()
	all := sources(t, p)
	if len(all) == 0 {
		return nil
	}
	set := token.NewFileSet() // one set of positions for all files of the package
	var files []*ast.File
	for i := range all {
		all[i].file, all[i].set = reparse(t, set, all[i]), set
		files = append(files, all[i].file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	checker := types.Config{Importer: importer.ForCompiler(set, "source", nil)}
	if _, err := checker.Check(p.ImportPath, set, files, info); err != nil {
		t.Fatalf("%s: %v", p.short(), err)
	}
	var found []string
	for _, s := range all {
		found = append(found, unexcused(info, s)...)
	}
	return found
}

func reparse(t *testing.T, set *token.FileSet, s source) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(set, s.path, s.text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// unexcused are the loops over maps of one file that no comment excuses.
func unexcused(info *types.Info, s source) []string {
	var found []string
	excused := excuses(s)
	ast.Inspect(s.file, func(node ast.Node) bool {
		loop, ok := node.(*ast.RangeStmt)
		if !ok || !overMap(info, loop.X) {
			return true
		}
		if line := s.set.Position(loop.Pos()).Line; !excused[line] && !excused[line-1] {
			found = append(found, s.at(loop.Pos()))
		}
		return true
	})
	return found
}

// The rules above find what they're meant to find.
func TestThePurityRulesBite(t *testing.T) {
	t.Parallel()
	const text = `package x

import "time"

func loops(m map[string]int) {
	for range m {
	}
	for range m { //order:any
	}
	for range m { //order:any a sum
	}
	//order:any a sum
	for range m {
	}
	for range maps.Keys(m) {
	}
	for range slices.Sorted(maps.Keys(m)) {
	}
}

func impure(c chan int) float64 {
	go loops(nil)
	c <- 1
	time.Sleep(1)
	return time.Duration(1).Seconds()
}
`
	set := token.NewFileSet()
	s := source{path: "x.go", text: []byte(text), set: set}
	s.file = reparse(t, set, s)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	checker := types.Config{Importer: importer.ForCompiler(set, "source", nil), Error: func(error) {}}
	_, _ = checker.Check("x", set, []*ast.File{s.file}, info) // maps and slices aren't imported
	if diff := cmp.Diff([]string{"x.go:6", "x.go:8", "x.go:15"}, unexcused(info, s)); diff != "" {
		t.Errorf("loops over maps (-want +got):\n%s", diff)
	}
	var found []string
	ast.Inspect(s.file, func(node ast.Node) bool {
		if problem := impurity(node); problem != "" {
			words, _, _ := strings.Cut(problem, ":")
			found = append(found, words)
		}
		return true
	})
	if diff := cmp.Diff([]string{"a channel", "float64", "a goroutine", "a channel", "time.Sleep"}, found); diff != "" {
		t.Errorf("impurities (-want +got):\n%s", diff)
	}
}

// overMap says whether an expression yields the entries of a map in the map's
// order: the map itself, or maps.Keys, maps.Values, maps.All of it.
func overMap(info *types.Info, x ast.Expr) bool {
	if call, ok := x.(*ast.CallExpr); ok {
		if function, ok := call.Fun.(*ast.SelectorExpr); ok {
			of, ok := function.X.(*ast.Ident)
			return ok && of.Name == "maps" && slices.Contains([]string{"All", "Keys", "Values"}, function.Sel.Name)
		}
		return false
	}
	_, isMap := info.TypeOf(x).Underlying().(*types.Map)
	return isMap
}

// excuses are the lines with an //order:any that gives a reason.
func excuses(s source) map[int]bool {
	lines := map[int]bool{}
	for _, group := range s.file.Comments {
		for _, comment := range group.List {
			if reason, found := strings.CutPrefix(comment.Text, "//order:any"); found && strings.TrimSpace(reason) != "" {
				lines[s.set.Position(comment.Pos()).Line] = true
			}
		}
	}
	return lines
}
