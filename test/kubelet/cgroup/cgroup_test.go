package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHierarchiesAreFoundAmongTheMounts(t *testing.T) {
	t.Parallel()
	const mounts = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 26 0:27 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
31 30 0:28 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw
32 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:11 master:2 - cgroup cgroup rw,cpu,cpuacct
33 30 0:30 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
`
	got, err := parse(strings.NewReader(mounts))
	if err != nil {
		t.Fatal(err)
	}
	want := []hierarchy{
		{"/sys/fs/cgroup/unified", nil},
		{"/sys/fs/cgroup/cpu,cpuacct", []string{"rw", "cpu", "cpuacct"}},
		{"/sys/fs/cgroup/systemd", []string{"rw", "xattr", "name=systemd"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(hierarchy{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestATreeGoesFromItsLeavesUp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "top")
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "c"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := removeTree(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("it is there: %v", err)
		}
	}
}
