package timeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// spent draws a timeline on which something is charged.
func spent(t *rapid.T, line *timeline.Timeline, nodes int) {
	for range rapid.IntRange(0, 8).Draw(t, "charges") {
		line.Charge(rapid.IntRange(0, nodes-1).Draw(t, "node"), vectors(t, "charge", 4),
			timeline.SpanOf(timeline.Time(rapid.IntRange(0, 20).Draw(t, "from")), longs(t)))
	}
}

// What was asked before is answered as if it were asked for the first time.
func TestLookAgainAnswersAsAt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "nodes")
		var capacity []batch.Vector
		for range n {
			capacity = append(capacity, vectors(t, "capacity", 6))
		}
		was := timeline.New(capacity, 0)
		spent(t, was, n)
		need := timeline.Need{Sets: []timeline.Set{sets(t, n)}, Long: longs(t)}
		if rapid.IntRange(0, 3).Draw(t, "two sets") == 0 {
			need.Sets = append(need.Sets, sets(t, n))
		}
		look := was.Look(need, timeline.Time(rapid.IntRange(0, 20).Draw(t, "at")))
		for range rapid.IntRange(1, 3).Draw(t, "again") {
			now := timeline.Time(rapid.IntRange(0, 3).Draw(t, "now"))
			is := was.Since(was.Begin() + now)
			for node := range n {
				switch rapid.IntRange(0, 5).Draw(t, "change") {
				case 0:
					is.Charge(node, vectors(t, "more", 4), timeline.SpanOf(timeline.Time(rapid.IntRange(0, 20).Draw(t, "from")), longs(t)))
				case 1:
					is.Clear(node)
				}
			}
			look = is.LookAgain(look, timeline.Differ(was, is))
			place, ok := is.At(need, look.Start)
			if ok != look.Found || !place.Equal(look.Place) {
				t.Fatalf("asked again: %t %+v\nasked anew:  %t %+v", look.Found, look.Place, ok, place)
			}
			was = is
		}
	})
}

// Where a timeline has gained is where, and when, it has more than before.
func TestGainsAreWhatTheTwinSees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "nodes")
		var capacity []batch.Vector
		for range n {
			capacity = append(capacity, vectors(t, "capacity", 6))
		}
		was, is := timeline.New(capacity, 0), timeline.New(capacity, 5)
		spent(t, was, n)
		spent(t, is, n)
		got := make([][]bool, n)
		want := make([][]bool, n)
		for node := range n {
			got[node], want[node] = make([]bool, horizon), make([]bool, horizon)
			for at := 5; at < horizon; at++ {
				second := timeline.SpanOf(timeline.Time(at), 1)
				a, b := was.Free(node, second), is.Free(node, second)
				want[node][at] = b[0] > a[0] || b[1] > a[1]
			}
		}
		for _, g := range timeline.Gains(was, is) {
			for at := range horizon {
				got[g.Node][at] = got[g.Node][at] || inside(at, g.Span)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("gains (-twin +timeline):\n%s", diff)
		}
	})
}

// Whoever is sure to have room on the node of a gain begins by it whenever his
// run uses it: what a search of the node would find lies in that span.
func TestARunThatBeginsByAGainUsesIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := timeline.New([]batch.Vector{vectors(t, "capacity", 6)}, 0)
		spent(t, line, 1)
		set, long := sets(t, 1), longs(t)
		till := timeline.Time(rapid.IntRange(0, 30).Draw(t, "till"))
		from := timeline.Time(rapid.IntRange(0, 20).Draw(t, "from"))
		gain := timeline.Gain{Span: timeline.SpanOf(from, longs(t))}
		uses := gain.Uses(long, timeline.Span{Till: till})
		for at := range till {
			want := at < gain.Till && timeline.SpanOf(at, long).Till > gain.From
			if got := uses.From <= at && at < uses.Till; got != want {
				t.Fatalf("a run of %d from %d on uses %v: want %t, got %t", long, at, gain.Span, want, got)
			}
		}
		begins := line.BeginsBy(&set, long, []timeline.Gain{gain}, till)
		if begins.From < begins.Till && (begins.From < uses.From || begins.Till > uses.Till) {
			t.Fatalf("begins in %v, which is not in %v", begins, uses)
		}
	})
}
