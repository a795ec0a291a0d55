package convert_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-dev/berth/pkg/convert"
)

// TestB56WorkloadNames: a name within the API's limits gives a workload name
// that fits in a label, and names that differ only at the end stay apart.
func TestB56WorkloadNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range []string{
		"a", strings.Repeat("x", 52), strings.Repeat("x", 57), strings.Repeat("x", 62) + "a", strings.Repeat("x", 62) + "b",
		strings.Repeat("x", 48) + "." + strings.Repeat("y", 14), strings.Repeat("z", 253),
	} {
		got := convert.WorkloadName("Job", name, types.UID("uid"))
		if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
			t.Errorf("%q gives %q: %v", name, got, problems)
		}
		if problems := validation.IsValidLabelValue(got); len(problems) > 0 {
			t.Errorf("%q gives %q: %v", name, got, problems)
		}
		if other, twice := seen[got]; twice {
			t.Errorf("%q and %q both give %q", name, other, got)
		}
		seen[got] = name
	}
}

// TestB12SameNameOtherWorkload: a Job that was deleted and made again is
// another workload.
func TestB12SameNameOtherWorkload(t *testing.T) {
	t.Parallel()
	if convert.WorkloadName("Job", "train", "1") == convert.WorkloadName("Job", "train", "2") {
		t.Error("two Jobs of one name have the same workload")
	}
}
