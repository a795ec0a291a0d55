package explain

import (
	"fmt"

	"github.com/berth-dev/berth/pkg/batch"
)

// Eviction says why, and by whom, an allocation is taken back, how long its
// pods have, and what becomes of it then.
func Eviction(e batch.Eviction) string {
	text := e.Words()
	if e.Stopped.IsZero() {
		text += "; its pods run on until " + Instant(e.Until) + " at the latest, or until all have acknowledged"
	} else {
		text += "; its pods were told to end at " + Instant(e.Stopped) + " and have their terminationGracePeriodSeconds for it"
	}
	if e.Final != "" {
		return fmt.Sprintf("%s; it ends as %s when they are gone", text, e.Final)
	}
	return text + "; it waits again, at its old place, when they are gone"
}

// Relimit says until when a run goes on whose walltime was edited; refused: that the
// edit has changed nothing, and why.
func Relimit(d batch.RelimitDecision) string {
	until := "for as long as it takes"
	if !d.Deadline.IsZero() {
		until = "until " + Instant(d.Deadline) + " at the latest"
	}
	if d.Refused != "" {
		return "its walltime was edited, and it runs " + until + " all the same: " + d.Refused
	}
	return "its walltime was edited: it runs " + until
}
