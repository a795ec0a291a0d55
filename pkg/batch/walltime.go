package batch

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The forms that are accepted, as error texts show them.
const (
	durationForms = `write a duration such as "90s", "30m", "2h", "7d" or "1d12h"`
	walltimeForms = `write a duration ("90s", "30m", "2h", "1d12h"), Slurm's form ("90" minutes, ` +
		`"MM:SS", "H:MM:SS", "D-H", "D-H:MM", "D-H:MM:SS"), or "UNLIMITED"`
	walltimeZero = `0 could mean "no time" or "no limit": write how long it may run, or "UNLIMITED"`
)

// walltimeMax keeps sums of a start and a walltime far from the end of the
// calendar: 100 years.
const walltimeMax = 100 * 365 * 24 * time.Hour

var errNoForm = errors.New("not one of the accepted forms")

// units of a duration from large to small.
func units() []struct {
	letter byte
	long   time.Duration
} {
	return []struct {
		letter byte
		long   time.Duration
	}{{'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}
}

// ParseWalltime reads a walltime as people write it: Berth's form (1d12h),
// Slurm's (90 is minutes, 2-12:00:00), or the word UNLIMITED. Nothing else is
// ever read as unlimited, and nothing as 0: an error says what to write.
func ParseWalltime(text string) (Walltime, error) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "unlimited", "infinite":
		return Unlimited, nil
	}
	long, err := parsePlain(text)
	if err != nil && !errors.Is(err, errTooLong) {
		long, err = parseSlurm(text)
	}
	switch {
	case errors.Is(err, errTooLong):
		return 0, fmt.Errorf("walltime %q: %w", text, err)
	case err != nil:
		return 0, fmt.Errorf("walltime %q: %s", text, walltimeForms)
	case long == 0:
		return 0, fmt.Errorf("walltime %q: %s", text, walltimeZero)
	}
	return Walltime(long), nil
}

// ParseDuration reads a duration in Berth's form alone, as fields of objects
// have it; 0 is a duration.
func ParseDuration(text string) (time.Duration, error) {
	long, err := parsePlain(text)
	if errors.Is(err, errTooLong) {
		return 0, fmt.Errorf("duration %q: %w", text, err)
	}
	if err != nil {
		return 0, fmt.Errorf("duration %q: %s", text, durationForms)
	}
	return long, nil
}

// FormatWalltime returns the plain form of a walltime: "1d12h", "90s" is
// "1m30s", "UNLIMITED"; empty if none was declared. Parts of a second, which
// no form can say, are left out.
func FormatWalltime(w Walltime) string {
	switch {
	case w == Unlimited:
		return "UNLIMITED"
	case w == 0:
		return ""
	}
	return FormatDuration(time.Duration(w))
}

// FormatDuration returns the plain form of a duration, to the second.
func FormatDuration(long time.Duration) string {
	if long < time.Second {
		return "0s"
	}
	var b strings.Builder
	for _, u := range units() {
		if n := long / u.long; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10))
			b.WriteByte(u.letter)
			long %= u.long
		}
	}
	return b.String()
}

var errTooLong = fmt.Errorf("longer than %d days", walltimeMax/(24*time.Hour))

// parsePlain reads 1d12h30m5s: each unit at most once, from large to small.
func parsePlain(text string) (time.Duration, error) {
	if text == "" {
		return 0, errNoForm
	}
	var sum time.Duration
	rest := text
	for _, u := range units() {
		digits := leadingDigits(rest)
		if digits == 0 || digits == len(rest) || rest[digits] != u.letter {
			continue
		}
		part, err := times(rest[:digits], u.long)
		if err != nil {
			return 0, err
		}
		sum += part
		rest = rest[digits+1:]
	}
	if rest != "" {
		return 0, errNoForm
	}
	return bounded(sum)
}

// parseSlurm reads M, M:S, H:M:S, D-H, D-H:M and D-H:M:S. The first number may
// be as large as one likes; those after it are below the size of their unit,
// since "30:60" is a slip and not an hour and a half.
func parseSlurm(text string) (time.Duration, error) {
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	if len(parts) > 3 {
		return 0, errNoForm
	}
	sum, err := times(days, 24*time.Hour)
	if err != nil {
		return 0, err
	}
	for i, long := range slurmUnits(len(parts), hasDays) {
		part, err := times(parts[i], long)
		if err != nil {
			return 0, err
		}
		if limit := slurmLimit(long); (i > 0 || hasDays) && part >= limit {
			return 0, errNoForm
		}
		sum += part
	}
	return bounded(sum)
}

// slurmUnits are the units of a clock of n parts: with days it begins at the
// hour, without them one or two parts begin at the minute.
func slurmUnits(n int, hasDays bool) []time.Duration {
	all := []time.Duration{time.Hour, time.Minute, time.Second}
	if hasDays || n == 3 {
		return all[:n]
	}
	return all[1 : 1+n]
}

func slurmLimit(long time.Duration) time.Duration {
	if long == time.Hour {
		return 24 * time.Hour
	}
	return 60 * long
}

// times reads digits and multiplies, within the bound.
func times(digits string, long time.Duration) (time.Duration, error) {
	if digits == "" || leadingDigits(digits) != len(digits) {
		return 0, errNoForm
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/int64(long) {
		return 0, errTooLong
	}
	return bounded(time.Duration(n) * long)
}

func bounded(long time.Duration) (time.Duration, error) {
	if long > walltimeMax {
		return 0, errTooLong
	}
	return long, nil
}

func leadingDigits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// Sooner is the earlier of two times, where zero is none.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
