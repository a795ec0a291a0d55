package timeline_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// What is done in a trial is there until it is undone, and leaves no trace then, neither on
// the timeline nor on what it was cloned from; a clone made in a trial keeps what was done.
func TestWhatIsDoneInATrialIsUndone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 6).Draw(t, "nodes") // enough for openings
		var capacity []batch.Vector
		for range n {
			capacity = append(capacity, vectors(t, "capacity", 8))
		}
		line, dumb := timeline.New(capacity, 0), newTwin(capacity)
		write := func(of *timeline.Timeline, twin *twin) {
			node := rapid.IntRange(0, n-1).Draw(t, "node")
			if rapid.IntRange(0, 4).Draw(t, "clear") == 0 {
				of.Clear(node)
				twin.free[node] = newTwin(capacity).free[node]
				return
			}
			need, span := vectors(t, "charge", 3), timeline.SpanOf(timeline.Time(rapid.IntRange(0, 20).Draw(t, "from")), longs(t))
			of.Charge(node, need, span)
			twin.take(node, need, 1, span)
		}
		ask := func(of *timeline.Timeline, twin *twin) {
			s, long := sets(t, n), longs(t)
			at, ok := twin.earliest(s, long, 0)
			if place, found := of.Earliest(timeline.Need{Sets: []timeline.Set{s}, Long: long}, 0, timeline.Never); found != ok || found && place.From != at {
				t.Fatalf("earliest is %d %t, twin %d %t", place.From, found, at, ok)
			}
		}
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			for range rapid.IntRange(0, 4).Draw(t, "writes") {
				write(line, dumb)
			}
			base, was := line.Clone(), dumb.clone()
			ask(line, dumb)
			line.Try()
			var inside *timeline.Timeline
			var then *twin
			for range rapid.IntRange(0, 6).Draw(t, "writes on trial") {
				if write(line, dumb); rapid.IntRange(0, 3).Draw(t, "clones") == 0 {
					inside, then = line.Clone(), dumb.clone()
				}
				ask(line, dumb)
			}
			compare(t, line, dumb, n)
			line.Undo()
			dumb = was
			compare(t, line, dumb, n)
			compare(t, base, dumb, n)
			ask(line, dumb)
			if inside != nil {
				compare(t, inside, then, n)
				ask(inside, then)
			}
		}
	})
}

func (t *twin) clone() *twin {
	c := &twin{}
	for _, line := range t.free {
		var of []batch.Vector
		for _, free := range line {
			of = append(of, slices.Clone(free))
		}
		c.free = append(c.free, of)
	}
	return c
}
