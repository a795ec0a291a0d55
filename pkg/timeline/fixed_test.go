package timeline_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// Whether there is room is what Room counts, whatever is known of the nodes from
// questions before, on the timeline or on the one that it was cloned from.
func TestHasRoomIsRoomForAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 8).Draw(t, "nodes")
		var capacity []batch.Vector
		for range n {
			capacity = append(capacity, vectors(t, "capacity", 6))
		}
		line := timeline.New(capacity, 0)
		set := sets(t, n)
		set.Pods = rapid.IntRange(1, 2).Draw(t, "few pods")
		if rapid.Bool().Draw(t, "all would do") {
			set.Nodes = set.Nodes[:0]
			for node := range n {
				set.Nodes = append(set.Nodes, int32(node))
			}
		}
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				spent(t, line, n)
			case 3:
				for node := range n {
					line.Charge(node, capacity[node], timeline.SpanOf(0, longs(t)))
				}
			case 1:
				line = line.Clone()
			case 2:
				line.Clear(rapid.IntRange(0, n-1).Draw(t, "clear"))
			}
			for range 3 {
				askForRoom(t, line, &set)
			}
		}
	})
}

func askForRoom(t *rapid.T, line *timeline.Timeline, set *timeline.Set) {
	long, at := longs(t), timeline.Time(rapid.IntRange(0, 12).Draw(t, "at"))
	pods := 0
	for _, node := range set.Nodes {
		room := line.RoomOn(set, int(node), timeline.SpanOf(at, long))
		if pods += room; room > 0 && !line.IsOpen(set, int(node), long, at+1) {
			t.Fatalf("node %d is not open at %d for %d, with room for %d", node, at, long, room)
		}
	}
	if got := line.HasRoom(set, long, at); got != (pods >= set.Pods) {
		t.Fatalf("there is room for %d pods at %d for %d: %v, and there is for %d", set.Pods, at, long, got, pods)
	}
}

// Room without some is the room after they have given back what they take.
func TestRoomWithoutSomeIsRoomOnceTheyAreGone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := timeline.New([]batch.Vector{vectors(t, "capacity", 6)}, 0)
		set := sets(t, 1)
		spent(t, line, 1)
		span := timeline.SpanOf(timeline.Time(rapid.IntRange(0, 20).Draw(t, "at")), longs(t))
		var gone []timeline.Taken
		for range rapid.IntRange(0, 5).Draw(t, "gone") {
			taken := timeline.Taken{Each: vectors(t, "takes", 3), Till: span.From + timeline.Time(rapid.IntRange(-2, 12).Draw(t, "till"))}
			if rapid.IntRange(0, 4).Draw(t, "for ever") == 0 {
				taken.Till = timeline.Never
			}
			line.Charge(0, taken.Each, timeline.Span{From: span.From, Till: taken.Till})
			gone = append(gone, taken)
		}
		some := gone[:rapid.IntRange(0, len(gone)).Draw(t, "some")]
		slices.SortFunc(some, func(a, b timeline.Taken) int { return cmp.Compare(b.Till, a.Till) })
		got := line.RoomWithout(&set, 0, span, some)
		for _, taken := range some {
			line.Return(0, taken.Each, timeline.Span{From: span.From, Till: taken.Till})
		}
		if want := line.RoomOn(&set, 0, span); got != want {
			t.Fatalf("room for %d, want %d", got, want)
		}
	})
}

// A place fits where, once it is taken, nothing that it asks for is overdrawn
// while it lasts, also where several of its seats are on one node; to try leaves
// all as it was.
func TestAPlaceFitsWhereNothingIsOverdrawnWithIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var capacity []batch.Vector
		for range 4 {
			capacity = append(capacity, vectors(t, "capacity", 6))
		}
		line := timeline.New(capacity, 0)
		for range rapid.IntRange(0, 3).Draw(t, "charges") {
			spent(t, line, 4)
		}
		place := timeline.Place{Span: timeline.SpanOf(timeline.Time(rapid.IntRange(0, 20).Draw(t, "at")), longs(t))}
		for i := range rapid.IntRange(1, 3).Draw(t, "seats") {
			place.Seats = append(place.Seats, timeline.Seat{
				Set: i, Node: rapid.IntRange(0, 3).Draw(t, "node"), Pods: rapid.IntRange(1, 2).Draw(t, "pods"), Each: vectors(t, "each", 2),
			})
		}
		with, want := line.Clone(), true
		with.Take(place)
		for _, s := range place.Seats {
			for r, free := range with.Free(s.Node, place.Span) {
				want = want && (s.Each[r] == 0 || free >= 0)
			}
		}
		if line.Fits(place) != want {
			t.Fatalf("%+v fits: %v", place, !want)
		}
		before := line.Clone()
		if held := line.TryHold(place); held != want {
			t.Fatalf("%+v is held: %v", place, held)
		} else if held {
			line.Release(place)
		}
		for node := range capacity {
			for at := range timeline.Time(horizon) {
				if was, is := before.FreeAt(node, at), line.FreeAt(node, at); !slices.Equal(was, is) {
					t.Fatalf("node %d has %v free at %d, and had %v", node, is, at, was)
				}
			}
		}
	})
}
