package options

import (
	"runtime/debug"
	"testing"
)

// gcPercent is how much garbage is made before it is collected, as it is set.
func gcPercent() int {
	is := debug.SetGCPercent(100)
	debug.SetGCPercent(is)
	return is
}

// What the user has set stands, and what was set before comes back.
func TestGarbageIsCollectedRarelyUnlessTheUserSaysOtherwise(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	t.Setenv("GOGC", "50")
	if undo := CollectRarely(); gcPercent() != 100 {
		t.Errorf("GOGC is set, and %d %% is taken instead", gcPercent())
	} else {
		undo()
	}
	t.Setenv("GOGC", "")
	undo := CollectRarely()
	if is := gcPercent(); is != rarely {
		t.Errorf("%d %%, want %d %%", is, rarely)
	}
	if undo(); gcPercent() != 100 {
		t.Errorf("%d %% after undo, want 100 %%", gcPercent())
	}
}
