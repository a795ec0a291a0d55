package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/whatif"
)

func TestAnAnswerReadsWell(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	var out bytes.Buffer
	printAnswer(&out, whatif.Answer{
		Workload: batch.Workload{Namespace: "lab", Name: "train", LocalQueue: "lab/slow"},
		Now:      now,
		Verdict:  batch.Verdict{Reason: batch.ReasonResources, Message: "asks 2 × 8 nvidia.com/gpu; starts at 2026-03-02T09:30:00Z at the latest", PlannedStart: at(90), Position: 3},
		Nodes:    []batch.NodeName{"n1", "n2"},
		Waits: []whatif.Obstacle{
			{Kind: whatif.Overdue, Name: "lab/a", Until: at(1)},
			{Kind: whatif.Leaves, Name: "lab/c", Pods: 2},
			{Kind: whatif.GivesWay, Name: "lab/d", Until: at(-1)},
			{Kind: whatif.GivesWay, Name: "lab/e", Until: at(2)},
			{Kind: whatif.Removed, Name: "lab/f", Pods: 1, Until: at(2)},
			{Kind: whatif.Runs, Name: "lab/longer-name", Until: at(30)},
			{Kind: whatif.Runs, Name: "lab/p-0", Until: at(40)},
			{Kind: whatif.Runs, Name: "lab/p-1", Until: at(40)},
			{Kind: whatif.Runs, Name: "lab/p-2", Until: at(40)},
			{Kind: whatif.Runs, Name: "lab/q-3", Until: at(40)},
			{Kind: whatif.Runs, Name: "lab/q-5", Until: at(40)},
			{Kind: whatif.Runs, Name: "lab/q-6", Until: at(40)},
			{Kind: whatif.Runs, Name: "lab/train-0-x7k2p", Until: at(40)},
			{Kind: whatif.Runs, Name: "lab/train-5-zz4qd", Until: at(40)},
			{Kind: whatif.Planned, Name: "lab/b", Until: at(90)},
			{Kind: whatif.Nominated, Name: "lab/g", From: at(5), Until: at(90)},
		},
		Sooner: []whatif.Change{
			{Kind: whatif.ShorterWalltime, Walltime: batch.Walltime(30 * time.Minute), Start: now},
			{Kind: whatif.FewerPods, Pods: 1, Start: at(30)},
			{Kind: whatif.OtherQueue, Queue: "lab/fast", Start: at(45)},
		},
	})
	want := `lab/train waits in lab/slow, as number 3 in the order
Resources: asks 2 × 8 nvidia.com/gpu; starts at 2026-03-02T09:30:00Z at the latest
Its planned start is in 1h30m, on n1, n2 or nodes like these.

It waits for:
  lab/a                  should have ended, and is expected to end any moment
  lab/c                  is over; 2 of its pods have not left their nodes yet
  lab/d                  gives way; its time is over, and it is not gone yet
  lab/e                  gives way, and has until 2026-03-02T08:02:00Z
  lab/f                  a pod of it was removed by force; what is left on the node has ended by 2026-03-02T08:02:00Z
  lab/longer-name        runs until 2026-03-02T08:30:00Z at the latest
  lab/p-0 … lab/p-2 (3)  runs until 2026-03-02T08:40:00Z at the latest
  lab/q-3                runs until 2026-03-02T08:40:00Z at the latest
  lab/q-5                runs until 2026-03-02T08:40:00Z at the latest
  lab/q-6                runs until 2026-03-02T08:40:00Z at the latest
  lab/train-0-x7k2p      runs until 2026-03-02T08:40:00Z at the latest
  lab/train-5-zz4qd      runs until 2026-03-02T08:40:00Z at the latest
  lab/b                  is planned before it, until 2026-03-02T09:30:00Z
  lab/g                  is planned before it, in a place that others give up for it, from 2026-03-02T08:05:00Z until 2026-03-02T09:30:00Z

It would start sooner:
  now                      with a walltime of 30m or less
  at 2026-03-02T08:30:00Z  with 1 pod
  at 2026-03-02T08:45:00Z  in LocalQueue lab/fast
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWhereNoStartIsKnownThatIsSaidOnce: the verdict says it, or why none is
// shown.
func TestWhereNoStartIsKnownThatIsSaidOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printAnswer(&out, whatif.Answer{
		Workload: batch.Workload{Namespace: "lab", Name: "train", LocalQueue: "lab/slow"},
		Verdict: batch.Verdict{
			Reason: batch.ReasonResources, Position: 1,
			Message: "asks 1 × 8 nvidia.com/gpu; 0 of 8 nvidia.com/gpu free; no start is known, it starts by itself when enough running work has ended",
		},
		Sooner: []whatif.Change{{Kind: whatif.OtherQueue, Queue: "lab/fast"}},
	})
	want := `lab/train waits in lab/slow, as number 1 in the order
Resources: asks 1 × 8 nvidia.com/gpu; 0 of 8 nvidia.com/gpu free; no start is known, it starts by itself when enough running work has ended

With a change it would start:
  now  in LocalQueue lab/fast
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAPlaceThatIsMadeIsThatAndNoOther: nodes like these would not do.
func TestAPlaceThatIsMadeIsThatAndNoOther(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	printAnswer(&out, whatif.Answer{
		Workload: batch.Workload{Namespace: "lab", Name: "urgent", LocalQueue: "lab/fast"}, Now: now,
		Verdict: batch.Verdict{
			Reason: batch.ReasonPreempting, Position: 1, Message: "1 workload gives way to it", PlannedStart: now.Add(90 * time.Second),
		},
		Nodes: []batch.NodeName{"n1"},
	})
	want := `lab/urgent waits in lab/fast, as number 1 in the order
Preempting: 1 workload gives way to it
Its planned start is in 1m30s, on n1.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWorkThatTakesNoPartHasNoNumber(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printAnswer(&out, whatif.Answer{
		Workload: batch.Workload{Namespace: "lab", Name: "train", LocalQueue: "lab/slow"},
		Verdict:  batch.Verdict{Reason: batch.ReasonHeld, Message: "held by its author"},
	})
	want := `lab/train waits in lab/slow and takes no part in the order
Held: held by its author
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
