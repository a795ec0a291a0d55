package batch_test

import (
	"testing"

	"github.com/berth-dev/berth/pkg/batch"
)

// Two causes told in the same words would hide why a run was taken back.
func TestEveryCauseHasWordsOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]batch.Cause{}
	for _, cause := range []batch.Cause{
		batch.CausePreempted, batch.CauseReclaimed, batch.CauseStartTimeout, batch.CauseCancelled, batch.CauseDrained, batch.CauseWalltime,
	} {
		n := batch.Notice{Cause: cause, By: "somebody"}
		if other, twice := seen[n.Words()]; twice {
			t.Errorf("%s is %q, as is %s", cause, n.Words(), other)
		}
		seen[n.Words()] = cause
	}
}
