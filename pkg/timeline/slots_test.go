package timeline_test

import (
	"testing"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// What a node had free before a timeline begins is over: it says nothing of
// whether the node has a slot.
func TestWhatWasFreeBeforeATimelineBeginsIsNoSlot(t *testing.T) {
	t.Parallel()
	line := timeline.New([]batch.Vector{{8}}, 0).Since(10)
	line.Charge(0, batch.Vector{8}, timeline.Span{From: 10, Till: 20})
	if !line.AllOrNone(0, 0) {
		t.Error("taken whole until it is free for ever, and said to be shared")
	}
	line.Charge(0, batch.Vector{4}, timeline.Span{From: 30, Till: 40})
	if line.AllOrNone(0, 0) {
		t.Error("half free for a time, and said to have a slot")
	}
}
