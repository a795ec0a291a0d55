package batch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

func TestContradiction(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2026, 1, 5, hour, 0, 0, 0, time.UTC) }
	hours := func(n int) batch.Walltime { return batch.Walltime(time.Duration(n) * time.Hour) }
	for _, tt := range []struct {
		name  string
		is    batch.Workload
		field string
		words string
	}{
		{"nothing is said", batch.Workload{}, "", ""},
		{"the shortest limit is the walltime", batch.Workload{Walltime: hours(2), TimeMin: hours(2)}, "", ""},
		{"the shortest limit is above it", batch.Workload{Walltime: hours(1), TimeMin: hours(2)}, "TimeMin", "is 2h, above the walltime of 1h"},
		{"the shortest limit has no end", batch.Workload{Walltime: hours(1), TimeMin: batch.Unlimited}, "TimeMin", "above the walltime of 1h"},
		{"of endless work any limit will do", batch.Workload{Walltime: batch.Unlimited, TimeMin: hours(2)}, "", ""},
		{"the walltime is the queue's", batch.Workload{TimeMin: hours(2)}, "", ""},
		{"it just ends in time", batch.Workload{Begin: at(1), EndBefore: at(2), Walltime: hours(1)}, "", ""},
		{"its shortest limit just ends in time", batch.Workload{Begin: at(1), EndBefore: at(2), Walltime: hours(3), TimeMin: hours(1)}, "", ""},
		{"it can't end in time", batch.Workload{Begin: at(1), EndBefore: at(2), Walltime: hours(2)}, "EndBefore", "may not begin before 2026-01-05T01:00:00Z and asks for 2h at least"},
		{"it begins after its end", batch.Workload{Begin: at(3), EndBefore: at(2)}, "EndBefore", "may not begin before 2026-01-05T03:00:00Z: write"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			field, words := tt.is.Contradiction()
			if field != tt.field || !strings.Contains(words, tt.words) || (words == "") != (tt.words == "") {
				t.Errorf("%q %q, want %q %q", field, words, tt.field, tt.words)
			}
		})
	}
}
