package scenario

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// The twin is Kubernetes' own reading.
func agrees(t interface {
	Helper()
	Errorf(string, ...any)
}, text string,
) {
	t.Helper()
	if digits := strings.TrimLeft(text, "+-."); digits == "" || digits[0] < '0' || digits[0] > '9' {
		return // "Ki" and "e0" are 0 for Kubernetes, and slips for us
	}
	for _, name := range []batch.ResourceName{batch.ResourceCPU, "memory"} {
		got, err := amount(name, v1alpha1.Quantity(text))
		quantity, twinErr := resource.ParseQuantity(text)
		if twinErr != nil || quantity.Sign() < 0 || text[0] == '-' {
			if err == nil {
				t.Errorf("%q is %d, and no quantity for Kubernetes (%v)", text, got, twinErr)
			}
			continue
		}
		want := quantity.Value()
		if name == batch.ResourceCPU {
			want = quantity.MilliValue()
		}
		if err != nil {
			if !strings.Contains(err.Error(), "out of range") {
				t.Errorf("%q: %v; Kubernetes reads %d", text, err, want)
			}
			continue
		}
		if int64(got) != want {
			t.Errorf("%s %q is %d; Kubernetes reads %d", name, text, got, want)
		}
	}
}

func TestQuantitiesAreReadAsKubernetesDoes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0", "8", "96", "1Ti", "64Gi", "500m", "0.5", ".5", "1.", "1e3", "1E3", "1E", "2e-3", "100u", "7n", "1k", "3M", "+4", "-1", "", "x", "1x", "1ki",
		"1.5Gi", "1e", "1e1.5", "--1", "1 ", "0x10", "1_000", "1e40", "999999999999999999999",
	} {
		agrees(t, text)
	}
}

func TestAnyQuantityIsReadAsKubernetesDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		agrees(t, rapid.StringMatching(`[+-]?[0-9]{0,7}(\.[0-9]{0,4})?(n|u|m|k|M|G|T|Ki|Mi|Gi|e[+-]?[0-9]|E[0-9]|E|)`).Draw(t, "quantity"))
	})
}

func FuzzQuantity(f *testing.F) {
	for _, text := range []string{"8", "1Ti", "500m", "1e3", "1E", "-1", ".", "1.5Gi", "12E+2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// Kubernetes caps large numbers, where we say that they are out of range,
		// and takes seconds for an exponent of a billion.
		if len(text) > 20 || len(text[strings.LastIndexAny(text, "eE")+1:]) > 4 && strings.ContainsAny(text, "eE") {
			return
		}
		agrees(t, text)
	})
}

func TestAnAmountOutOfRangeNamesWhatWouldDo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       batch.ResourceName
		text, want string
	}{
		{"memory", "1Ei", ""},
		{"memory", "2Ei", `"2Ei" is out of range: memory is counted up to 1152921504606846976; write that, or less`},
		{"memory", "9223372036854775807Gi", `"9223372036854775807Gi" is out of range: memory is counted up to 1152921504606846976; write that, or less`},
		{"cpu", "1152921504606846", ""},
		{"cpu", "1152921504606847", `"1152921504606847" is out of range: cpu is counted up to 1152921504606846; write that, or less`},
		{"memory", "1e31", `"1e31" is out of range: memory is counted up to 1152921504606846976; write that, or less`},
	} {
		got := ""
		if _, err := amount(test.name, v1alpha1.Quantity(test.text)); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s %s: %q, want %q", test.name, test.text, got, test.want)
		}
	}
}
