package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TraceLog says what became of the lines of a trace.
type TraceLog struct {
	Lines  int            `json:"lines"`
	Jobs   int            `json:"jobs"`
	Unused map[string]int `json:"unused,omitempty"` // lines that are no job, by why
	// Late are jobs whose line stands after that of a later submission; they
	// were submitted then.
	Late int `json:"late,omitempty"`
}

// String tells it in a line.
func (t *TraceLog) String() string {
	text := fmt.Sprintf("trace: %d jobs of %d lines", t.Jobs, t.Lines)
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(t.Unused)) {
		parts = append(parts, fmt.Sprintf("%d %s", t.Unused[why], why))
	}
	if len(parts) > 0 {
		text += "; not usable: " + strings.Join(parts, ", ")
	}
	if t.Late > 0 {
		text += fmt.Sprintf("; %d out of order, submitted at the time of the line before", t.Late)
	}
	return text
}
