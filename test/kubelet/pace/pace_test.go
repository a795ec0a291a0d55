//go:build linux

package pace

import (
	"runtime"
	"testing"
	"time"
)

// TestSlownessIsThatOfTheTimeInQuestion: what was before and after does not count,
// what reaches into it does, and nothing is quicker than by itself.
func TestSlownessIsThatOfTheTimeInQuestion(t *testing.T) {
	t.Parallel()
	zero := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return zero.Add(time.Duration(seconds) * time.Second) }
	m := &Meter{}
	for i, slowness := range []float64{1, 1, 4, 8, 0.5, 0.5} { // the sample i lasts from 10 i to 10 i + 5
		m.add(sample{begin: at(10 * i), end: at(10*i + 5), slowness: slowness})
	}
	for name, c := range map[string]struct {
		from, till int
		want       float64
	}{
		"before all":        {-9, -1, 1},
		"quiet":             {0, 16, 1},
		"busy":              {20, 36, 6},
		"the end of one":    {24, 29, 4},
		"between two":       {26, 29, 1},
		"the begin of one":  {27, 31, 8},
		"a moment in one":   {31, 31, 8},
		"quicker than idle": {40, 60, 1},
	} {
		if got := m.Slowness(at(c.from), at(c.till)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestMeasureCountsWhatTheThreadWaits: a sample is of at least a burst, and never
// of less time than its processor time.
func TestMeasureCountsWhatTheThreadWaits(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := measure()
	if s.end.Sub(s.begin) < burst/2 || s.slowness < 0.5 {
		t.Errorf("%v: slowness %v", s.end.Sub(s.begin), s.slowness)
	}
}
