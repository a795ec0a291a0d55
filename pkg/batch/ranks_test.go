package batch_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

func TestSeats(t *testing.T) {
	t.Parallel()
	p := batch.Placement{Hosts: []batch.NodeName{"a", "a", "b", "b"}}
	type live = map[batch.NodeName]int
	tests := []struct {
		name          string
		live          live
		done          []int
		needed        int
		charged, open []int
	}{
		{"before any pod all places are kept and open", nil, nil, -1, []int{0, 1, 2, 3}, []int{0, 1, 2, 3}},
		{"pods fill the lowest ranks of their host", live{"a": 1, "b": 1}, nil, -1, []int{0, 1, 2, 3}, []int{1, 3}},
		{"a done rank is free", live{"a": 1, "b": 2}, []int{0}, -1, []int{1, 2, 3}, nil},
		{"a done rank is taken while a pod still sits there", live{"a": 2}, []int{0}, -1, []int{0, 1, 2, 3}, []int{2, 3}},
		{"fewer needed than places: the highest empty ones go", live{"a": 1}, nil, 2, []int{0, 1}, []int{1}},
		{"no place is given up under a live pod", live{"b": 2}, nil, 1, []int{2, 3}, nil},
		{"nothing needed any more", nil, nil, 0, nil, nil},
		{"more pods on a host than places", live{"a": 5}, nil, -1, []int{0, 1, 2, 3}, []int{2, 3}},
		{"a pod elsewhere has no seat", live{"z": 1}, nil, -1, []int{0, 1, 2, 3}, []int{0, 1, 2, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := batch.Seats{Charged: tt.charged, Open: tt.open}
			if diff := cmp.Diff(want, batch.SeatsOf(p, tt.live, tt.done, tt.needed)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRankOrder(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	// In the order that is wanted.
	all := []*batch.Workload{
		{ID: "1", Priority: 5, QueuedAt: at.Add(time.Hour), Namespace: "z", Name: "z"},
		{ID: "2", QueuedAt: at, Namespace: "z", Name: "z"},
		{ID: "3", QueuedAt: at.Add(time.Second), Namespace: "a", Name: "a-2"},
		{ID: "4", QueuedAt: at.Add(time.Second), Namespace: "a", Name: "a-10"},
		{ID: "5", QueuedAt: at.Add(time.Second), Namespace: "a", Name: "b"},
		{ID: "6", QueuedAt: at.Add(time.Second), Namespace: "b", Name: "a", UID: "x"},
		{ID: "7", QueuedAt: at.Add(time.Second), Namespace: "b", Name: "a", UID: "y"},
		{ID: "8", QueuedAt: at.Add(time.Second), Namespace: "b", Name: "a", UID: "y"},
	}
	shuffled := slices.Clone(all)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, batch.CompareRank)
	for i := range all {
		if shuffled[i] != all[i] {
			t.Errorf("place %d: %s, want %s", i, shuffled[i].ID, all[i].ID)
		}
	}
}

func TestVectorsDoNotWrap(t *testing.T) {
	t.Parallel()
	v := batch.Vector{-math.MaxInt64 + 1, 5}
	v.Sub(batch.Vector{math.MaxInt64, 2}, 3)
	if diff := cmp.Diff(batch.Vector{-math.MaxInt64, -1}, v); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct {
		free, need batch.Vector
		want       int
	}{
		{batch.Vector{8, 4}, batch.Vector{2, 2}, 2},
		{batch.Vector{8, 4}, batch.Vector{0, 0}, batch.PodsMax},
		{batch.Vector{-1, 4}, batch.Vector{1, 0}, 0},
		{batch.Vector{-1, 4}, batch.Vector{0, 1}, 4},
		{batch.Vector{math.MaxInt64, 1}, batch.Vector{math.MaxInt64, 0}, 1},
	} {
		if got := tt.free.Pods(tt.need); got != tt.want {
			t.Errorf("%v pods of %v: %d, want %d", tt.free, tt.need, got, tt.want)
		}
	}
}

func TestShapesTellRequestsApart(t *testing.T) {
	t.Parallel()
	base := func() batch.PodSet {
		return batch.PodSet{Name: "a", Count: 2, Requests: batch.Resources{"cpu": 1, "memory": 2}}
	}
	same := base()
	same.Name = "b"
	if batch.Shape([]batch.PodSet{base()}) != batch.Shape([]batch.PodSet{same}) {
		t.Error("a name makes another shape")
	}
	for name, edit := range map[string]func(*batch.PodSet){
		"count":      func(s *batch.PodSet) { s.Count = 3 },
		"requests":   func(s *batch.PodSet) { s.Requests = batch.Resources{"cpu": 12} },
		"per node":   func(s *batch.PodSet) { s.PerNodeMax = 1 },
		"labels":     func(s *batch.PodSet) { s.Selector.Labels = batch.Labels{"a": "b"} },
		"affinity":   func(s *batch.PodSet) { s.Selector.AnyOf = []batch.NodeTerm{} },
		"toleration": func(s *batch.PodSet) { s.Tolerations = []batch.Toleration{{Op: "Exists"}} },
	} {
		other := base()
		edit(&other)
		if batch.Shape([]batch.PodSet{base()}) == batch.Shape([]batch.PodSet{other}) {
			t.Errorf("%s does not make another shape", name)
		}
	}
}
