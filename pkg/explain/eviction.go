package explain

import (
	"fmt"

	"github.com/berth-dev/berth/pkg/batch"
)

// Eviction says why, and by whom, an allocation is taken back, how long its
// pods have, and what becomes of it then.
func Eviction(e batch.Eviction) string {
	text := e.Words()
	switch {
	case e.Stopped.IsZero():
		text += "; its pods run on until " + Instant(e.Until) + " at the latest, or until all have acknowledged"
	case e.Stopped.Before(e.Until):
		text += "; its pods were told to end at " + Instant(e.Stopped) + " and have until " + Instant(e.Until)
	default:
		text += "; its pods were told to end at " + Instant(e.Stopped)
	}
	if e.Final != "" {
		return fmt.Sprintf("%s; it ends as %s when they are gone", text, e.Final)
	}
	return text + "; it waits again, at its old place, when they are gone"
}
