package timeline_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// What is charged at once is as if it had been charged one after the other.
func TestOccupyIsChargingAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		capacity := []batch.Vector{{4, 8}}
		one, all := timeline.New(capacity, 3), timeline.New(capacity, 3)
		var taken []timeline.Taken
		for range rapid.IntRange(0, 6).Draw(t, "charges") {
			each := batch.Vector{batch.Amount(rapid.IntRange(0, 3).Draw(t, "a")), batch.Amount(rapid.IntRange(0, 3).Draw(t, "b"))}
			till := timeline.Time(rapid.IntRange(1, 9).Draw(t, "till"))
			if till == 9 {
				till = timeline.Never
			}
			taken = append(taken, timeline.Taken{Each: each, Till: till})
			one.Charge(0, each, timeline.Span{From: 3, Till: till})
		}
		all.Occupy(0, taken)
		if more, less := timeline.Gains(one, all), timeline.Gains(all, one); len(more)+len(less) > 0 || len(timeline.Differ(one, all).List()) > 0 {
			t.Fatalf("more is free in %v, less in %v", more, less)
		}
	})
}

// What runs changes, what is held stays: it is as if all that is held had been
// held on the new timeline from the start, or there is no room for it there.
func TestFollowIsHoldingAnew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		capacity := []batch.Vector{{4, 8}, {4, 4}}
		draw := func(t *rapid.T) (timeline.Span, int, batch.Vector) {
			from := timeline.Time(rapid.IntRange(0, 12).Draw(t, "from"))
			till := from + timeline.Time(rapid.IntRange(1, 6).Draw(t, "long"))
			if rapid.IntRange(0, 5).Draw(t, "ever") == 0 {
				till = timeline.Never
			}
			return timeline.Span{From: from, Till: till}, rapid.IntRange(0, 1).Draw(t, "node"),
				batch.Vector{batch.Amount(rapid.IntRange(0, 3).Draw(t, "a")), batch.Amount(rapid.IntRange(0, 3).Draw(t, "b"))}
		}
		runs := func(t *rapid.T) *timeline.Timeline {
			line := timeline.New(capacity, 0)
			for range rapid.IntRange(0, 4).Draw(t, "runs") {
				span, node, takes := draw(t)
				line.Charge(node, takes, span)
			}
			return line
		}
		was, now := runs(t), timeline.Time(rapid.IntRange(0, 6).Draw(t, "now"))
		full := was.Clone()
		var held []timeline.Place
		for range rapid.IntRange(0, 4).Draw(t, "holds") {
			span, node, takes := draw(t)
			span.From = max(span.From, now)
			place := timeline.Place{Span: span, Seats: []timeline.Seat{{Node: node, Pods: 1, Each: takes}}}
			if span.From < span.Till && full.TryHold(place) {
				held = append(held, place)
			}
		}
		is := runs(t).Since(now)
		want, fits := is.Clone(), true
		for _, place := range held {
			fits = fits && want.TryHold(place)
		}
		got := full.Since(now)
		if ok := got.Follow(was, is); ok != fits {
			t.Fatalf("there is room for what is held: %v, want %v", ok, fits)
		}
		if more, less := timeline.Gains(want, got), timeline.Gains(got, want); fits && len(more)+len(less) > 0 {
			t.Fatalf("more is free in %v, less in %v", more, less)
		}
	})
}
