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
		Verdict:  batch.Verdict{Reason: batch.ReasonResources, Message: "asks 2 × 8 nvidia.com/gpu", PlannedStart: at(90), Position: 3},
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
Resources: asks 2 × 8 nvidia.com/gpu
It starts at 09:30 at the latest (in 1h30m), on n1, n2 or nodes like these.

It waits for:
  lab/a                  should have ended, and is expected to end any moment
  lab/c                  is over; 2 of its pods have not left their nodes yet
  lab/d                  gives way; its time is over, and it is not gone yet
  lab/e                  gives way, and has until 08:02
  lab/f                  a pod of it was removed by force; what is left on the node has ended by 08:02
  lab/longer-name        runs until 08:30 at the latest
  lab/p-0 … lab/p-2 (3)  runs until 08:40 at the latest
  lab/b                  is planned before it, until 09:30
  lab/g                  is planned before it, for 08:05, in a place that others give up for it, until 09:30

It would start sooner:
  now       with a walltime of 30m or less
  at 08:30  with 1 pod
  at 08:45  in LocalQueue lab/fast
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(out.String(), "\n")); diff != "" {
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
