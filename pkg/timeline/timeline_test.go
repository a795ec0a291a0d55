package timeline_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// horizon is a second after which nothing changes in the twin.
const horizon = 60

// twin is a timeline that is dumb: what is free at each second, for each node
// and resource. The last second stands for all that follow.
type twin struct{ free [][]batch.Vector }

func newTwin(capacity []batch.Vector) *twin {
	t := &twin{}
	for _, c := range capacity {
		var line []batch.Vector
		for range horizon + 1 {
			line = append(line, append(batch.Vector(nil), c...))
		}
		t.free = append(t.free, line)
	}
	return t
}

func (t *twin) take(node int, need batch.Vector, n int, span timeline.Span) {
	for at := range horizon + 1 {
		if inside(at, span) {
			for r := range need {
				t.free[node][at][r] -= need[r] * batch.Amount(n)
			}
		}
	}
}

func inside(at int, span timeline.Span) bool {
	return timeline.Time(at) >= span.From && (timeline.Time(at) < span.Till || span.Till == timeline.Never)
}

// pods is how many pods of a set fit on a node over a span.
func (t *twin) pods(node int, s timeline.Set, span timeline.Span) int {
	n := s.Pods
	if s.PerNode > 0 {
		n = min(n, s.PerNode)
	}
	for at := range horizon + 1 {
		if inside(at, span) {
			for n > 0 && t.free[node][at].Pods(s.Each) < n {
				n--
			}
			for r := range s.Spare {
				if s.Spare[r] > 0 && t.free[node][at][r] < s.Spare[r] {
					n = 0
				}
			}
		}
	}
	return n
}

func (t *twin) earliest(s timeline.Set, long timeline.Long, from timeline.Time) (timeline.Time, bool) {
	for at := from; at <= horizon; at++ {
		room := 0
		for _, node := range s.Nodes {
			room += t.pods(int(node), s, timeline.SpanOf(at, long))
		}
		if room >= s.Pods {
			return at, true
		}
	}
	return 0, false
}

func vectors(t *rapid.T, label string, most int64) batch.Vector {
	return batch.Vector{
		batch.Amount(rapid.Int64Range(0, most).Draw(t, label+" a")),
		batch.Amount(rapid.Int64Range(0, most).Draw(t, label+" b")),
	}
}

// longs end before the horizon, whenever they begin before half of it.
func longs(t *rapid.T) timeline.Long {
	if rapid.IntRange(0, 5).Draw(t, "unlimited") == 0 {
		return timeline.Forever
	}
	return timeline.Long(rapid.IntRange(1, 12).Draw(t, "long"))
}

func sets(t *rapid.T, nodes int) timeline.Set {
	s := timeline.Set{
		Pods: rapid.IntRange(1, 6).Draw(t, "pods"), PerNode: rapid.IntRange(0, 3).Draw(t, "per node"),
		Each: vectors(t, "need", 4),
	}
	if rapid.IntRange(0, 3).Draw(t, "spares") == 0 {
		s.Spare = vectors(t, "spare", 8)
	}
	for i := range nodes {
		if rapid.IntRange(0, 4).Draw(t, "masked") > 0 {
			s.Nodes = append(s.Nodes, int32(i))
		}
	}
	return s
}

func TestTimelineAnswersAsItsDumbTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "nodes")
		var capacity []batch.Vector
		for range n {
			capacity = append(capacity, vectors(t, "capacity", 8))
		}
		line, dumb := timeline.New(capacity, 0), newTwin(capacity)
		var held []timeline.Place
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				node := rapid.IntRange(0, n-1).Draw(t, "node")
				need := vectors(t, "charge", 5)
				span := timeline.SpanOf(timeline.Time(rapid.IntRange(0, 20).Draw(t, "from")), longs(t))
				line.Charge(node, need, span)
				dumb.take(node, need, 1, span)
			case 1:
				if len(held) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(held)-1).Draw(t, "release")
				line.Release(held[i])
				for _, s := range held[i].Seats {
					dumb.take(s.Node, s.Each, -s.Pods, held[i].Span)
				}
				held = append(held[:i], held[i+1:]...)
			case 2:
				// What is done to a clone does not show.
				clone := line.Clone()
				clone.Charge(0, batch.Vector{3, 3}, timeline.SpanOf(5, 10))
			default:
				held = tryHold(t, line, dumb, held)
			}
		}
		compare(t, line, dumb, n)
	})
}

func tryHold(t *rapid.T, line *timeline.Timeline, dumb *twin, held []timeline.Place) []timeline.Place {
	s, long := sets(t, len(dumb.free)), longs(t)
	from := timeline.Time(rapid.IntRange(0, 20).Draw(t, "not before"))
	want, wantOK := dumb.earliest(s, long, from)
	place, ok := line.Earliest(timeline.Need{Sets: []timeline.Set{s}, Long: long}, from, timeline.Never)
	if ok != wantOK || (ok && place.From != want) {
		t.Fatalf("earliest is %d (%t), the twin says %d (%t)", place.From, ok, want, wantOK)
	}
	if !ok {
		return held
	}
	if _, early := line.Earliest(timeline.Need{Sets: []timeline.Set{s}, Long: long}, from, place.From); early {
		t.Fatalf("there is a place before the earliest, %d", place.From)
	}
	checkPlace(t, dumb, s, place)
	if !line.Fits(place) {
		t.Fatalf("the earliest place does not fit: %+v", place)
	}
	if place.From > horizon-15 {
		return held
	}
	line.Hold(place)
	for _, seat := range place.Seats {
		dumb.take(seat.Node, seat.Each, seat.Pods, place.Span)
	}
	return append(held, place)
}

func checkPlace(t *rapid.T, dumb *twin, s timeline.Set, place timeline.Place) {
	pods, last := 0, -1
	for _, seat := range place.Seats {
		if seat.Node <= last {
			t.Fatalf("seats are not in the order of nodes: %+v", place.Seats)
		}
		last = seat.Node
		pods += seat.Pods
		if room := dumb.pods(seat.Node, s, place.Span); seat.Pods < 1 || seat.Pods > room {
			t.Fatalf("%d pods on node %d, which has room for %d", seat.Pods, seat.Node, room)
		}
	}
	if pods != s.Pods {
		t.Fatalf("%d of %d pods placed", pods, s.Pods)
	}
}

func compare(t *rapid.T, line *timeline.Timeline, dumb *twin, nodes int) {
	for node := range nodes {
		for at := range horizon + 1 {
			got := line.Free(node, timeline.SpanOf(timeline.Time(at), 1))
			if diff := cmp.Diff(dumb.free[node][at], got); diff != "" {
				t.Fatalf("free on node %d at %d (-twin +timeline):\n%s", node, at, diff)
			}
		}
	}
}

func TestGangOfSeveralSetsFitsWhereItIsPut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "nodes")
		var capacity []batch.Vector
		for range n {
			capacity = append(capacity, vectors(t, "capacity", 8))
		}
		line := timeline.New(capacity, 0)
		for range rapid.IntRange(0, 6).Draw(t, "charges") {
			line.Charge(rapid.IntRange(0, n-1).Draw(t, "node"), vectors(t, "charge", 4),
				timeline.SpanOf(timeline.Time(rapid.IntRange(0, 20).Draw(t, "from")), longs(t)))
		}
		need := timeline.Need{Sets: []timeline.Set{sets(t, n), sets(t, n)}, Long: longs(t)}
		before := fmt.Sprint(frees(line, n))
		place, ok := line.Earliest(need, 0, timeline.Never)
		if after := fmt.Sprint(frees(line, n)); after != before {
			t.Fatalf("looking changed the timeline:\n%s\n%s", before, after)
		}
		if !ok {
			return
		}
		pods := []int{0, 0}
		for _, s := range place.Seats {
			pods[s.Set] += s.Pods
		}
		if diff := cmp.Diff([]int{need.Sets[0].Pods, need.Sets[1].Pods}, pods); diff != "" {
			t.Fatal(diff)
		}
		line.Hold(place) // panics if it is not free
		line.Release(place)
		if after := fmt.Sprint(frees(line, n)); after != before {
			t.Fatalf("hold and release leave a trace:\n%s\n%s", before, after)
		}
	})
}

func frees(line *timeline.Timeline, nodes int) (all []batch.Vector) {
	for node := range nodes {
		for at := range horizon {
			all = append(all, line.Free(node, timeline.SpanOf(timeline.Time(at), 1)))
		}
	}
	return all
}
