//go:build linux

package pace

import (
	"testing"
	"time"
)

// TestSlownessIsThatOfTheTimeInQuestion: what was before and after does not count,
// what reaches into it does, and the quickest of all is by itself.
func TestSlownessIsThatOfTheTimeInQuestion(t *testing.T) {
	t.Parallel()
	zero := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return zero.Add(time.Duration(seconds) * time.Second) }
	m := &Meter{}
	for i, seconds := range []int{1, 1, 4, 8, 2} { // the sample i begins at 10 i
		m.add(sample{at(10 * i), at(10*i + seconds)})
	}
	for name, c := range map[string]struct {
		from, till int
		want       float64
	}{
		"before all":       {-9, -1, 1},
		"quiet":            {0, 16, 1},
		"busy":             {20, 36, 6},
		"the end of one":   {23, 29, 4},
		"between two":      {26, 29, 1},
		"the begin of one": {27, 31, 8},
		"a moment in one":  {31, 31, 8},
		"the last":         {39, 60, 2},
	} {
		if got := m.Slowness(at(c.from), at(c.till)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := (&Meter{}).Slowness(at(0), at(9)); got != 1 {
		t.Errorf("nothing measured: %v, want 1", got)
	}
}

// TestMeterMeasures by itself, from when it is started.
func TestMeterMeasures(t *testing.T) {
	t.Parallel()
	m, begin := Start(), time.Now()
	for m.count() < 2 {
		time.Sleep(every)
	}
	if got := m.Slowness(begin, time.Now()); got < 1 {
		t.Errorf("slowness %v, want at least that of the quickest", got)
	}
}

func (m *Meter) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.samples)
}
