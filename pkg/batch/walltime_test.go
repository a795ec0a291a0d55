package batch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

func TestB17WalltimeAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	tests := []struct {
		text  string
		want  time.Duration
		plain string
	}{
		{"30", 30 * time.Minute, "30m"},
		{"90", 90 * time.Minute, "1h30m"},
		{"4:00", 4 * time.Minute, "4m"},
		{"30:00", 30 * time.Minute, "30m"},
		{"90:00", 90 * time.Minute, "1h30m"},
		{"1:00:00", time.Hour, "1h"},
		{"2:00:00", 2 * time.Hour, "2h"},
		{"100:00:00", 100 * time.Hour, "4d4h"},
		{"2-12", 60 * time.Hour, "2d12h"},
		{"3-0:00", 72 * time.Hour, "3d"},
		{"1-00:00:00", day, "1d"},
		{"2-12:30:15", 60*time.Hour + 30*time.Minute + 15*time.Second, "2d12h30m15s"},
		{"0:30", 30 * time.Second, "30s"},
		{"1h", time.Hour, "1h"},
		{"90s", 90 * time.Second, "1m30s"},
		{"30m", 30 * time.Minute, "30m"},
		{"7d", 7 * day, "7d"},
		{"1d12h", 36 * time.Hour, "1d12h"},
		{"1d2h3m4s", 26*time.Hour + 3*time.Minute + 4*time.Second, "1d2h3m4s"},
		{" 2h ", 2 * time.Hour, "2h"},
		{"UNLIMITED", -1, "UNLIMITED"},
		{"infinite", -1, "UNLIMITED"},
		{"Unlimited", -1, "UNLIMITED"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, err := batch.ParseWalltime(tt.text)
			want := batch.Walltime(tt.want)
			if tt.want < 0 {
				want = batch.Unlimited
			}
			if err != nil || got != want {
				t.Fatalf("ParseWalltime(%q) = %v, %v; want %v", tt.text, time.Duration(got), err, tt.want)
			}
			if plain := batch.FormatWalltime(got); plain != tt.plain {
				t.Errorf("shown as %q, want %q", plain, tt.plain)
			}
		})
	}
}

func TestB17WrongWalltimesSayWhatToWrite(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, word string }{
		{"", "write"},
		{"0", "UNLIMITED"},
		{"0:00", "UNLIMITED"},
		{"0s", "UNLIMITED"},
		{"0-0", "UNLIMITED"},
		{"30:60", "MM:SS"},
		{"1:60:00", "H:MM:SS"},
		{"1-24", "D-H"},
		{"-5", "write"},
		{"-1", "write"},
		{"1h1h", "1d12h"},
		{"1m1h", "1d12h"},
		{"1.5h", "write"},
		{"2h30", "write"},
		{"h", "write"},
		{"1w", "write"},
		{"1-", "write"},
		{"-", "write"},
		{":", "write"},
		{"1::2", "write"},
		{"1:2:3:4", "write"},
		{"1-2-3", "write"},
		{"2-12h", "write"},
		{"+5", "write"},
		{"٣", "write"},
		{"forever", "write"},
		{"none", "write"},
		{"99999999999999999999", "days"},
		{"9223372036854775807h", "days"},
		{"40000d", "days"},
		{"40000-0", "days"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, err := batch.ParseWalltime(tt.text)
			if err == nil {
				t.Fatalf("read as %v", time.Duration(got))
			}
			if !strings.Contains(err.Error(), tt.word) || (tt.text != "" && !strings.Contains(err.Error(), tt.text)) {
				t.Errorf("the error does not say %q: %v", tt.word, err)
			}
		})
	}
}

func TestDurationsOfFieldsHaveOneForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0s": 0, "2m": 2 * time.Minute, "1d12h": 36 * time.Hour} {
		if got, err := batch.ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "90", "2:00:00", "2-12", "UNLIMITED", "1500ms", "-1s", "1h1h"} {
		if got, err := batch.ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v", text, got)
		}
	}
}

func FuzzParseWalltime(f *testing.F) {
	for _, text := range []string{"30", "4:00", "1:00:00", "2-12", "3-0:00", "1-00:00:00", "0", "UNLIMITED", "", "30:60", "-5", "1h", "1d12h30m5s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		walltime, err := batch.ParseWalltime(text)
		if err != nil {
			if walltime != 0 {
				t.Fatalf("%q: an error and a value: %v", text, walltime)
			}
			return
		}
		if walltime == batch.Unlimited {
			if word := strings.ToLower(strings.TrimSpace(text)); word != "unlimited" && word != "infinite" {
				t.Fatalf("%q is read as unlimited", text)
			}
		} else if walltime <= 0 || time.Duration(walltime)%time.Second != 0 {
			t.Fatalf("%q is read as %v", text, time.Duration(walltime))
		}
		again, err := batch.ParseWalltime(batch.FormatWalltime(walltime))
		if err != nil || again != walltime {
			t.Fatalf("%q is shown as %q, which is read as %v, %v", text, batch.FormatWalltime(walltime), again, err)
		}
	})
}
