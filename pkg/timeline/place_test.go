package timeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// gpus is a timeline of nodes with so many GPUs.
func gpus(all ...int) *timeline.Timeline {
	var capacity []batch.Vector
	for _, n := range all {
		capacity = append(capacity, batch.Vector{batch.Amount(n)})
	}
	return timeline.New(capacity, 0)
}

func set(pods, each int, nodes ...int32) timeline.Set {
	return timeline.Set{Pods: pods, Each: batch.Vector{batch.Amount(each)}, Nodes: nodes}
}

func TestPlacement(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		line *timeline.Timeline
		used []int // GPUs in use on each node
		ends []int // when they end; 0: never
		need timeline.Set
		at   timeline.Time
		want map[int]int // pods by node
	}{
		{name: "seven small pods open one of four empty nodes", line: gpus(8, 8, 8, 8), need: set(7, 1, 0, 1, 2, 3), want: map[int]int{0: 7}},
		{name: "the fullest node that takes a small pod", line: gpus(8, 8, 8), used: []int{0, 3, 6}, need: set(1, 1, 0, 1, 2), want: map[int]int{2: 1}},
		{name: "a node that is too full is passed over", line: gpus(8, 8, 8), used: []int{0, 3, 6}, need: set(1, 4, 0, 1, 2), want: map[int]int{1: 1}},
		{name: "the smallest empty node that fits", line: gpus(8, 4), need: set(1, 2, 0, 1), want: map[int]int{1: 1}},
		{name: "whole nodes in the order of names", line: gpus(8, 8, 8), need: set(2, 8, 0, 1, 2), want: map[int]int{0: 1, 1: 1}},
		{name: "fewest nodes, the rest where it fits best", line: gpus(8, 8, 8), used: []int{0, 6, 4}, need: set(10, 1, 0, 1, 2), want: map[int]int{0: 8, 1: 2}},
		{
			name: "a later start takes the nodes that become free last", line: gpus(8, 8, 8), used: []int{8, 8, 8}, ends: []int{30, 10, 20},
			need: set(2, 8, 0, 1, 2), at: 30, want: map[int]int{0: 1, 2: 1},
		},
		{
			name: "idle nodes are left alone by a later start", line: gpus(8, 8, 8), used: []int{0, 8, 8}, ends: []int{0, 10, 10},
			need: set(2, 8, 0, 1, 2), at: 10, want: map[int]int{1: 1, 2: 1},
		},
		{name: "a bound for each node spreads the pods", line: gpus(8, 8), need: timeline.Set{Pods: 2, PerNode: 1, Each: batch.Vector{1}, Nodes: []int32{0, 1}}, want: map[int]int{0: 1, 1: 1}},
		{name: "not on nodes that would not do", line: gpus(8, 8), need: set(1, 1, 1), want: map[int]int{1: 1}},
		{name: "no place", line: gpus(4, 4), used: []int{3, 3}, need: set(1, 2, 0, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for node, n := range tt.used {
				till := timeline.Never
				if tt.ends != nil && tt.ends[node] > 0 {
					till = timeline.Time(tt.ends[node])
				}
				tt.line.Charge(node, batch.Vector{batch.Amount(n)}, timeline.Span{From: 0, Till: till})
			}
			place, _ := tt.line.At(timeline.Need{Sets: []timeline.Set{tt.need}, Long: 60}, tt.at)
			var got map[int]int
			for _, s := range place.Seats {
				if got == nil {
					got = map[int]int{}
				}
				got[s.Node] += s.Pods
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pods by node (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLeaderLeavesTheOnlyNodeToItsWorker(t *testing.T) {
	t.Parallel()
	// Vectors are GPUs and slots; the first node alone has GPUs.
	line := timeline.New([]batch.Vector{{8, 1}, {0, 1}}, 0)
	need := timeline.Need{Long: 60, Sets: []timeline.Set{
		{Pods: 1, Each: batch.Vector{0, 1}, Nodes: []int32{0, 1}},
		{Pods: 1, Each: batch.Vector{8, 1}, Nodes: []int32{0, 1}},
	}}
	place, ok := line.At(need, 0)
	want := []timeline.Seat{
		{Set: 0, Node: 1, Pods: 1, Each: batch.Vector{0, 1}},
		{Set: 1, Node: 0, Pods: 1, Each: batch.Vector{8, 1}},
	}
	if diff := cmp.Diff(want, place.Seats); !ok || diff != "" {
		t.Errorf("placed %t (-want +got):\n%s", ok, diff)
	}
}

func TestHoldOfWhatIsNotFreePanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("an overfull node was granted")
		}
	}()
	line := gpus(8)
	place, _ := line.At(timeline.Need{Sets: []timeline.Set{set(1, 5, 0)}, Long: 10}, 0)
	line.Hold(place)
	line.Hold(place)
}
