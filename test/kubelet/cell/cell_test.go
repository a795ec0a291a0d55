//go:build linux

package cell

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissingFoldersAreNamedFromAbove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := []string{filepath.Join(dir, "a"), filepath.Join(dir, "a", "b")}
	if diff := cmp.Diff(want, missing(filepath.Join(dir, "a", "b"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := missing(dir); len(got) > 0 {
		t.Errorf("%s is there, and missing: %q", dir, got)
	}
}

// What a killed run has left is taken away; what somebody has begun to use is not.
func TestWhatIsWrittenDownIsPutBack(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	made := []string{filepath.Join(outside, "lib"), filepath.Join(outside, "lib", "cni"), filepath.Join(outside, "log"), filepath.Join(outside, "never-made")}
	for _, folder := range made[:3] {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	used := filepath.Join(outside, "log", "somebody's")
	if err := os.WriteFile(used, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(changes{Cgroup: "/berth-test-that-nobody-made", Folders: made})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, changesFile), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := putBack(dir); err != nil {
			t.Fatal(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(outside, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{used}, left); diff != "" {
		t.Errorf("left (-want +got)\n%s", diff)
	}
	if _, err := os.Stat(made[0]); !os.IsNotExist(err) {
		t.Errorf("%s is there (%v)", made[0], err)
	}
	if _, err := os.Stat(filepath.Join(dir, changesFile)); !os.IsNotExist(err) {
		t.Errorf("it is still written down (%v)", err)
	}
}
