package timeline_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// Before its first room a node has none, and where there is one resource it has
// some then; it is asked again once the line is written, however it is written.
func TestFirstRoomIsThatOfTheLineAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 2).Draw(t, "resources")
		line := timeline.New([]batch.Vector{batch.Vector{4, 8}[:width]}, 0)
		var held []timeline.Place
		for range rapid.IntRange(1, 12).Draw(t, "writes") {
			written := line.Written()
			from := timeline.Time(rapid.IntRange(0, 12).Draw(t, "from"))
			place := timeline.Place{
				Span:  timeline.Span{From: from, Till: from + timeline.Time(rapid.IntRange(1, 6).Draw(t, "long"))},
				Seats: []timeline.Seat{{Pods: 1, Each: drawEach(t, width)}},
			}
			writes := true
			switch some := len(held) > 0; {
			case some && rapid.Bool().Draw(t, "back"):
				line.Release(held[0])
				held = held[1:]
			case line.TryHold(place):
				held = append(held, place)
			default:
				writes = false
			}
			each := drawEach(t, width)
			checkFirstRoom(t, line, each)
			if writes && line.Written() == written {
				t.Fatal("the line was written, and does not count it")
			}
		}
	})
}

func drawEach(t *rapid.T, width int) batch.Vector {
	each := batch.Vector{batch.Amount(rapid.IntRange(1, 4).Draw(t, "a")), batch.Amount(rapid.IntRange(0, 8).Draw(t, "b"))}
	return each[:width]
}

func checkFirstRoom(t *rapid.T, line *timeline.Timeline, each batch.Vector) {
	first := line.FirstRoom(each)
	for at := range timeline.Time(20) {
		room := line.FreeAt(0, at).PodsUpTo(each, 1) > 0
		if room && at < first {
			t.Fatalf("room for %v at %d, and the first is said to be at %d", each, at, first)
		}
		if !room && at == first && len(each) == 1 {
			t.Fatalf("no room for %v at %d, which is said to be the first", each, at)
		}
	}
}
