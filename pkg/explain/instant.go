package explain

import "time"

// Instant is a time in a sentence: as the API writes it, with its date and zone.
// A message is read hours after it was written, beside other times of the same
// object, by somebody in another zone; and it can be copied into an annotation.
func Instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }
