package arch_test

import (
	"slices"
	"strings"
	"testing"
)

// rings say who of ours may import whom. A package that is not listed here may
// import what it likes, but nobody of the rings may import it.
var rings = map[string][]string{
	"apis/berth/v1alpha1": {},

	"pkg/batch":    {},
	"pkg/timeline": {"pkg/batch"},
	"pkg/topology": {"pkg/batch"},
	"pkg/quota":    {"pkg/batch"},
	"pkg/state":    {"pkg/batch"},
	"pkg/explain":  {"pkg/batch"},
	"pkg/planner":  {"pkg/batch", "pkg/quota", "pkg/timeline", "pkg/topology", "pkg/explain"},
	"pkg/core":     {"pkg/batch", "pkg/explain", "pkg/planner", "pkg/quota", "pkg/state"},

	"pkg/journal":  {"pkg/batch", "pkg/core"},
	"pkg/scenario": {"apis/sim/v1alpha1", "pkg/batch"},
	"pkg/sim":      {"pkg/batch", "pkg/core", "pkg/explain", "pkg/quota", "pkg/scenario"},
	"pkg/whatif":   {"pkg/batch", "pkg/core"},

	// Below the purity line. convert is the only place that knows both sides.
	"pkg/convert":   {"apis/berth/v1alpha1", "pkg/batch", "pkg/explain"},
	"pkg/framework": {"apis/berth/v1alpha1", "pkg/batch", "pkg/convert"},
}

func TestImportRings(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range allPackages(t) {
		allowed, inRing := rings[p.short()]
		if !inRing {
			continue
		}
		seen[p.short()] = true
		for _, imported := range p.Imports {
			ours, isOurs := strings.CutPrefix(imported, module+"/")
			if isOurs && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s; it may import %v (test/arch/rings_test.go)", p.short(), ours, allowed)
			}
		}
	}
	for ring := range rings { //order:any errors only
		if !seen[ring] {
			t.Errorf("there is no package %s: take it out of the rings", ring)
		}
	}
}

// Controllers carry out decisions, they don't take them. Drivers drive the core.
func TestOnlyTheCoreDecides(t *testing.T) {
	t.Parallel()
	callers := map[string][]string{
		"pkg/planner": {"pkg/core"},
		"pkg/state":   {"pkg/core"},
		"pkg/core":    {"pkg/journal", "pkg/live", "pkg/sim", "pkg/whatif"}, // the drivers
	}
	for _, p := range allPackages(t) {
		for _, imported := range p.Imports {
			ours, isOurs := strings.CutPrefix(imported, module+"/")
			if may, restricted := callers[ours]; isOurs && restricted && !slices.Contains(may, p.short()) {
				t.Errorf("%s imports %s; only %v may, so that there is one scheduler", p.short(), ours, may)
			}
		}
	}
}

// apis is imported by other people's programs: it brings nothing along but the
// types of Kubernetes.
func TestAPITypesBringNothingAlong(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		if !strings.HasPrefix(p.short(), "apis/") {
			continue
		}
		for _, imported := range p.Imports {
			if !standard(imported) && !strings.HasPrefix(imported, "k8s.io/api/") && !strings.HasPrefix(imported, "k8s.io/apimachinery/") {
				t.Errorf("%s imports %s; it may import k8s.io/api and k8s.io/apimachinery", p.short(), imported)
			}
		}
	}
}

// Above the purity line there is nothing of Kubernetes, not even indirectly.
func TestPurePackagesDependOnNothingImpure(t *testing.T) {
	t.Parallel()
	for _, p := range purePackages(t) {
		for _, dependency := range p.Deps {
			short, isOurs := strings.CutPrefix(dependency, module+"/pkg/")
			switch {
			case standard(dependency), dependency == "github.com/google/btree", isOurs && slices.Contains(pure, short):
			case dependency == "go.yaml.in/yaml/v3", dependency == module+"/apis/sim/v1alpha1": // what a scenario file is made of
			default:
				t.Errorf("%s depends on %s, which is not pure", p.short(), dependency)
			}
		}
	}
}

// convert is pure as well, but for the types of Kubernetes: it has no client.
func TestConvertHasNoClient(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		if p.short() != "pkg/convert" {
			continue
		}
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, "k8s.io/client-go") || strings.HasPrefix(imported, "sigs.k8s.io/controller-runtime") || impureImports[imported] {
				t.Errorf("%s imports %s: it turns objects into nouns and back, and asks nobody", p.short(), imported)
			}
		}
	}
}

// standard says whether a package is of Go's library: its first element is no
// domain name.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
