package timeline_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// offer is a node as the twin's choice sees it.
type offer struct {
	node, take, room int
	used             bool
	since            int
}

// roomAt is how many pods of a set, of which there may be any number, there is room
// for at each second of a span.
func (t *twin) roomAt(node int, s timeline.Set, span timeline.Span) int {
	s.Pods, s.PerNode = 100, 0
	return t.pods(node, s, span)
}

// offers are the nodes that take at least one pod.
func (t *twin) offers(s timeline.Set, capacity []batch.Vector, span timeline.Span) (all []offer) {
	for _, n := range s.Nodes {
		o := offer{node: int(n), take: t.pods(int(n), s, span), room: t.roomAt(int(n), s, span), since: int(span.From)}
		if o.take == 0 {
			continue
		}
		o.used = !slices.Equal(t.free[n][span.From], capacity[n])
		for o.since > 0 && t.roomAt(int(n), s, timeline.SpanOf(timeline.Time(o.since-1), 1)) >= o.room {
			o.since--
		}
		all = append(all, o)
	}
	return all
}

// place is where the rules put a set: on the node that takes all that is left and
// is in use, the fullest, free the latest; else on the one that takes most.
func (t *twin) place(s timeline.Set, capacity []batch.Vector, span timeline.Span) (pods map[int]int, ok bool) {
	all, left := t.offers(s, capacity, span), s.Pods
	pods = map[int]int{}
	for left > 0 {
		if len(all) == 0 {
			return nil, false
		}
		slices.SortFunc(all, func(a, b offer) int {
			used := func(o offer) int {
				if o.used {
					return 0
				}
				return 1
			}
			return cmp.Or(
				cmp.Compare(min(b.take, left), min(a.take, left)), cmp.Compare(used(a), used(b)),
				cmp.Compare(a.room, b.room), cmp.Compare(b.since, a.since), cmp.Compare(a.node, b.node),
			)
		})
		if all[0].take < left { // none takes all: the one that takes most, of equals as above
			slices.SortStableFunc(all, func(a, b offer) int { return cmp.Compare(b.take, a.take) })
		}
		pods[all[0].node] = min(left, all[0].take)
		left -= pods[all[0].node]
		all = all[1:]
	}
	return pods, true
}

// The choice of nodes is that of who looks at each second of each node: where there
// are enough of them, most are known without a look.
func TestNodesAreChosenAsTheTwinChooses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 7).Draw(t, "nodes")
		var capacity []batch.Vector
		var nodes []int32
		for i := range n {
			capacity, nodes = append(capacity, batch.Vector{8, 8}), append(nodes, int32(i))
		}
		line, dumb := timeline.New(capacity, 0), newTwin(capacity)
		kinds := []batch.Vector{{1, 0}, {2, 3}, {4, 1}}
		for range rapid.IntRange(1, 12).Draw(t, "charges") {
			node := rapid.IntRange(0, n-1).Draw(t, "node")
			need := batch.Vector{batch.Amount(rapid.IntRange(0, 4).Draw(t, "a")), batch.Amount(rapid.IntRange(0, 4).Draw(t, "b"))}
			span := timeline.SpanOf(timeline.Time(rapid.IntRange(0, 10).Draw(t, "from")), longs(t))
			line.Charge(node, need, span)
			dumb.take(node, need, 1, span)
			s := timeline.Set{Pods: rapid.IntRange(1, 12).Draw(t, "pods"), Each: rapid.SampledFrom(kinds).Draw(t, "kind"), Nodes: nodes}
			long, from := longs(t), timeline.Time(rapid.IntRange(0, 30).Draw(t, "at"))
			checkChoice(t, line, dumb, capacity, s, timeline.SpanOf(from, long))
			want, found := dumb.earliest(s, long, from)
			place, ok := line.Earliest(timeline.Need{Sets: []timeline.Set{s}, Long: long}, from, horizon)
			if ok != (found && want < horizon) || ok && place.From != want {
				t.Fatalf("the earliest of %+v from %d is %d (%t), the twin says %d (%t)", s, from, place.From, ok, want, found)
			}
		}
	})
}

func checkChoice(t *rapid.T, line *timeline.Timeline, dumb *twin, capacity []batch.Vector, s timeline.Set, span timeline.Span) {
	long := timeline.Long(span.Till - span.From)
	if span.Till == timeline.Never {
		long = timeline.Forever
	}
	want, possible := dumb.place(s, capacity, span)
	place, ok := line.At(timeline.Need{Sets: []timeline.Set{s}, Long: long}, span.From)
	if ok != possible {
		t.Fatalf("there is a place for %+v in %v: %t, the twin says %t", s, span, ok, possible)
	}
	for _, seat := range place.Seats {
		if want[seat.Node] != seat.Pods {
			t.Fatalf("%+v in %v goes to %+v, the twin puts it on %v", s, span, place.Seats, want)
		}
	}
}
