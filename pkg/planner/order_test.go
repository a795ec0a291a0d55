package planner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

func TestHowLongAWorkloadMayRun(t *testing.T) {
	t.Parallel()
	const hour = batch.Walltime(time.Hour)
	tests := []struct {
		name                string
		asked, common, most batch.Walltime
		want                timeline.Long
		refused             bool
	}{
		{name: "as declared", asked: 2 * hour, common: hour, want: 7200},
		{name: "parts of a second count whole", asked: batch.Walltime(1500 * time.Millisecond), want: 2},
		{name: "the queue's default", common: hour, most: 3 * hour, want: 3600},
		{name: "no default: the queue's maximum", most: 3 * hour, want: 10800},
		{name: "a default above the maximum is cut to it", common: 5 * hour, most: 3 * hour, want: 10800},
		{name: "nothing at all: unlimited", want: timeline.Forever},
		{name: "an unlimited default within a maximum", common: batch.Unlimited, most: hour, want: 3600},
		{name: "declared as unlimited", asked: batch.Unlimited, want: timeline.Forever},
		{name: "as much as the maximum", asked: 3 * hour, most: 3 * hour, want: 10800},
		{name: "above the maximum: refused, not cut", asked: 4 * hour, most: 3 * hour, refused: true},
		{name: "unlimited under a maximum: refused", asked: batch.Unlimited, most: 3 * hour, refused: true},
		{name: "unlimited maximum", asked: batch.Unlimited, most: batch.Unlimited, want: timeline.Forever},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			long, within := longOf(&batch.Workload{Walltime: tt.asked}, &batch.Queue{WalltimeDefault: tt.common, WalltimeMax: tt.most})
			if within == tt.refused || long != tt.want {
				t.Errorf("%d seconds, within the maximum: %t", long, within)
			}
		})
	}
}

func TestWhatAQueueLetsIn(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	before, after := since.Add(-time.Minute), since.Add(time.Minute)
	team := &batch.LabelSelector{All: []batch.Requirement{{Key: "team", Op: batch.OpExists}}}
	tests := []struct {
		name   string
		queue  batch.Queue
		queued time.Time
		labels *batch.Labels
		want   batch.Reason
	}{
		{name: "up", queue: batch.Queue{State: batch.QueueUp}, queued: after},
		{name: "drain takes nothing new", queue: batch.Queue{State: batch.QueueDrain, StateSince: since}, queued: after, want: batch.ReasonQueueStopped},
		{name: "drain starts what was queued", queue: batch.Queue{State: batch.QueueDrain, StateSince: since}, queued: before},
		{name: "drain since ever takes nothing", queue: batch.Queue{State: batch.QueueDrain}, queued: before, want: batch.ReasonQueueStopped},
		{name: "down starts nothing", queue: batch.Queue{State: batch.QueueDown, StateSince: since}, queued: before, want: batch.ReasonQueueStopped},
		{name: "inactive starts nothing", queue: batch.Queue{State: batch.QueueInactive, StateSince: since}, queued: before, want: batch.ReasonQueueStopped},
		{name: "a namespace of the team", queue: batch.Queue{State: batch.QueueUp, Access: team}, labels: &batch.Labels{"team": "a"}},
		{name: "a namespace of others", queue: batch.Queue{State: batch.QueueUp, Access: team}, labels: &batch.Labels{}, want: batch.ReasonAccessDenied},
		{name: "a namespace that nobody has seen", queue: batch.Queue{State: batch.QueueUp, Access: team}, want: batch.ReasonAccessDenied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPass(batch.Snapshot{Namespaces: map[string]*batch.Labels{}}, since)
			if tt.labels != nil {
				p.Namespaces["ns"] = tt.labels
			}
			got := p.gate(&batch.Workload{Namespace: "ns", QueuedAt: tt.queued}, &tt.queue).Reason
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingAtAllGivesAnEmptyPlan(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 8, 0, 0, 7, time.UTC)
	plan := Plan(batch.Snapshot{Policy: batch.DefaultPolicy()}, now)
	if diff := cmp.Diff(batch.Plan{At: now.Truncate(time.Second)}, plan); diff != "" {
		t.Error(diff)
	}
}
