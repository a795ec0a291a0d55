package options

import (
	"os"
	"runtime/debug"
)

// rarely is how much garbage a planning process makes, in percent of what it
// keeps, before it is collected. A plan makes much and keeps little of it, and
// most of what is kept is the same in the next: with Go's usual 100 a third of
// the time of a plan goes into looking through it again.
const rarely = 400

// CollectRarely is for processes that plan again and again. What the user has
// set by GOGC holds, and so does a bound set by GOMEMLIMIT: near it, garbage is
// collected as often as it takes. undo sets things back.
func CollectRarely() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	was := debug.SetGCPercent(rarely)
	return func() { debug.SetGCPercent(was) }
}
