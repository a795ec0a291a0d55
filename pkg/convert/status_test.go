package convert_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

func at(minutes int) time.Time {
	return time.Date(2026, 1, 5, 0, minutes, 0, 0, time.UTC)
}

func gang() *v1alpha1.QueuedWorkload {
	return &v1alpha1.QueuedWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "job-train-1", CreationTimestamp: metav1.NewTime(at(0))},
		Spec: v1alpha1.QueuedWorkloadSpec{
			QueueName: "gpu",
			PodSets:   []v1alpha1.PodSet{{Name: "main", Count: new(int32(3)), Requests: list("nvidia.com/gpu", "8")}},
			Walltime:  "1h",
		},
	}
}

func someAllocation() batch.Allocation {
	return batch.Allocation{
		Queue: "gpu", Flavor: "h100", Via: batch.ViaBackfill, Start: at(10), Deadline: at(70), Planned: at(30),
		PodSets: []batch.Placement{{PodSet: "main", Hosts: []batch.NodeName{"a", "a", "b"}}},
	}
}

// TestDecisionsAreReadBack: what a plan decided is what the planner finds
// after a restart, at each step of a workload's life.
func TestDecisionsAreReadBack(t *testing.T) {
	t.Parallel()
	qw := gang()
	verdict := batch.Verdict{Reason: batch.ReasonResources, PlannedStart: at(30), Message: "asks 3 × 8"}
	convert.RecordWait(qw, batch.WaitDecision{Verdict: verdict}, at(1))
	got := convert.Workload(qw)
	if !got.Promise.Equal(at(30)) || got.LastVerdict == nil || !got.LastVerdict.SameAnswer(verdict) {
		t.Fatalf("after waiting: promise %v, verdict %+v", got.Promise, got.LastVerdict)
	}

	allocation := someAllocation()
	convert.RecordStart(qw, batch.StartDecision{Allocation: allocation}, at(10))
	got = convert.Workload(qw)
	if diff := cmp.Diff(&allocation, got.Allocation); diff != "" {
		t.Fatalf("allocation (-written +read):\n%s", diff)
	}
	if !got.Promise.IsZero() || got.LastVerdict != nil {
		t.Fatalf("a started workload still waits: %+v", got)
	}

	if got.PodsReady != nil {
		t.Fatalf("a run whose pods are being made was ready: %v", *got.PodsReady)
	}
	for _, ready := range []bool{true, false} {
		convert.RecordReady(qw, batch.ReadyDecision{Ready: ready}, at(15))
		if got = convert.Workload(qw); got.PodsReady == nil || *got.PodsReady != ready {
			t.Fatalf("ready %v reads back as %v", ready, got.PodsReady)
		}
	}

	convert.RecordEvict(qw, *batch.EvictedAtOnce(batch.Notice{Cause: batch.CauseStartTimeout, By: "a gate"}), at(20))
	got = convert.Workload(qw)
	if got.Eviction == nil || got.Eviction.Cause != batch.CauseStartTimeout || got.Eviction.By != "a gate" || got.Allocation == nil {
		t.Fatalf("after the eviction: %+v", got)
	}

	convert.RecordRequeue(qw, batch.RequeueDecision{Restarts: 1, RequeueAfter: at(25)}, at(22))
	got = convert.Workload(qw)
	if got.Eviction != nil || got.Allocation != nil || got.Restarts != 1 || !got.RequeueAfter.Equal(at(25)) {
		t.Fatalf("after the requeue: %+v", got)
	}
	if len(qw.Status.Runs) != 1 || qw.Status.Runs[0].Cause != string(batch.CauseStartTimeout) {
		t.Fatalf("runs: %+v", qw.Status.Runs)
	}

	convert.RecordStart(qw, batch.StartDecision{Allocation: allocation}, at(40))
	convert.RecordReady(qw, batch.ReadyDecision{Ready: true}, at(41))
	convert.RecordFinish(qw, batch.End{State: batch.Completed, Time: at(50)}, at(50))
	got = convert.Workload(qw)
	if got.Finished == nil || got.Finished.State != batch.Completed || !got.Finished.Time.Equal(at(50)) {
		t.Fatalf("after the end: %+v", got.Finished)
	}
	if n := len(qw.Status.Runs); n != 2 {
		t.Fatalf("%d runs on record, want 2", n)
	}
}

func TestOneStateAtATime(t *testing.T) {
	t.Parallel()
	qw := gang()
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{"waits", func() {
			convert.RecordWait(qw, batch.WaitDecision{Verdict: batch.Verdict{Reason: batch.ReasonResources}}, at(1))
		}, v1alpha1.ConditionPending},
		{"starts", func() { convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation()}, at(2)) }, v1alpha1.ConditionAdmitted},
		{"is taken back", func() {
			convert.RecordEvict(qw, *batch.EvictedAtOnce(batch.Notice{Cause: batch.CauseSuspended}), at(3))
		}, v1alpha1.ConditionAdmitted},
		{"waits again", func() { convert.RecordRequeue(qw, batch.RequeueDecision{Restarts: 1}, at(4)) }, v1alpha1.ConditionPending},
		{"ends", func() { convert.RecordFinish(qw, batch.End{State: batch.Cancelled, Time: at(5)}, at(5)) }, v1alpha1.ConditionFinished},
	}
	for _, step := range steps {
		step.do()
		var on []string
		for _, c := range qw.Status.Conditions {
			exclusive := c.Type == v1alpha1.ConditionPending || c.Type == v1alpha1.ConditionAdmitted || c.Type == v1alpha1.ConditionFinished
			if exclusive && c.Status == metav1.ConditionTrue {
				on = append(on, c.Type)
			}
		}
		if diff := cmp.Diff([]string{step.want}, on); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestOutcomesAreReadBack, whatever else is decided meanwhile.
func TestOutcomesAreReadBack(t *testing.T) {
	t.Parallel()
	qw := gang()
	want := []batch.Outcome{
		{Name: "a", ID: "team/job-a-1", State: batch.Completed},
		{Name: "b", ID: "team/job-b-2"},
		{Name: "sweep", State: batch.Failed, Member: new(0)},
	}
	convert.RecordOutcomes(qw, want)
	convert.RecordWait(qw, batch.WaitDecision{Verdict: batch.Verdict{Reason: batch.ReasonResources}}, at(1))
	convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation()}, at(2))
	convert.RecordRequeue(qw, batch.RequeueDecision{Restarts: 1}, at(4))
	if diff := cmp.Diff(want, convert.Workload(qw).Outcomes); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if got := qw.Status.Dependencies[1].State; got != "Started" {
		t.Errorf("a person reads %q of what has started", got)
	}
	convert.RecordOutcomes(qw, nil)
	if got := convert.Workload(qw).Outcomes; got != nil {
		t.Errorf("%v is left", got)
	}
}

func TestRunsAreTheLastTen(t *testing.T) {
	t.Parallel()
	qw := gang()
	for i := range 15 {
		convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation()}, at(i))
		convert.RecordRequeue(qw, batch.RequeueDecision{Restarts: i + 1}, at(i+1))
	}
	if n := len(qw.Status.Runs); n != 10 {
		t.Fatalf("%d runs on record, want 10", n)
	}
	if got := qw.Status.Runs[9].End.Time; !got.Equal(at(15)) {
		t.Errorf("last run ended at %v, want %v", got, at(15))
	}
}

// TestABasisStandsWithItsAnswer: it is read back as it was written, and goes with
// the planned start.
func TestABasisStandsWithItsAnswer(t *testing.T) {
	t.Parallel()
	qw := gang()
	convert.RecordWait(qw, batch.WaitDecision{Verdict: batch.Verdict{PlannedStart: at(30)}, Basis: "1 ab gpu=3"}, at(1))
	if w := convert.Workload(qw); w.Basis != "1 ab gpu=3" || !w.Promise.Equal(at(30)) {
		t.Errorf("read back: planned at %v on %q", w.Promise, w.Basis)
	}
	convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation()}, at(10))
	if w := convert.Workload(qw); w.Basis != "" {
		t.Errorf("started, and rests on %q", w.Basis)
	}
}

func TestSummaryLine(t *testing.T) {
	t.Parallel()
	qw := gang()
	convert.RecordWait(qw, batch.WaitDecision{Verdict: batch.Verdict{Reason: batch.ReasonResources, PlannedStart: at(30), Message: "0 of 8 free"}}, at(1))
	want := &v1alpha1.WorkloadSummary{State: "Pending", Reason: "Resources", Start: "~2026-01-05T00:30:00Z", GPUs: new(int64(24)), Message: "0 of 8 free"}
	if diff := cmp.Diff(want, qw.Status.Summary); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation()}, at(10))
	convert.RecordReady(qw, batch.ReadyDecision{Ready: true}, at(11))
	want = &v1alpha1.WorkloadSummary{
		ClusterQueue: "gpu", State: "Running", Reason: "Backfilled", Start: "2026-01-05T00:10:00Z", GPUs: new(int64(24)), Nodes: new(int32(2)),
		Until: "2026-01-05T01:10:00Z", Message: "all its pods are ready",
	}
	if diff := cmp.Diff(want, qw.Status.Summary); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
}

// TestTheSummaryIsOfNow: neither the message nor the end of an earlier state
// stays, and what is over has ended.
func TestTheSummaryIsOfNow(t *testing.T) {
	t.Parallel()
	qw := gang()
	inPlace := someAllocation()
	inPlace.Via = batch.ViaPreemption
	type line struct{ State, Reason, Until, Message string }
	for _, step := range []struct {
		do   func()
		want line
	}{
		{
			func() {
				convert.RecordWait(qw, batch.WaitDecision{Verdict: batch.Verdict{Reason: batch.ReasonPreempting, Message: "1 workload gives way"}}, at(1))
			},
			line{"Pending", "Preempting", "", "1 workload gives way"},
		},
		{
			func() { convert.RecordStart(qw, batch.StartDecision{Allocation: inPlace}, at(10)) },
			line{"Starting", "InPlaceOfOthers", "2026-01-05T01:10:00Z", "its pods are being made"},
		},
		{
			func() {
				convert.RecordReady(qw, batch.ReadyDecision{HeldBy: "pod team/train-0: kube-scheduler: no node"}, at(11))
			},
			line{"Starting", "InPlaceOfOthers", "2026-01-05T01:10:00Z", "pod team/train-0: kube-scheduler: no node"},
		},
		{
			func() { convert.RecordReady(qw, batch.ReadyDecision{Ready: true}, at(12)) },
			line{"Running", "InPlaceOfOthers", "2026-01-05T01:10:00Z", "all its pods are ready"},
		},
		{
			func() {
				convert.RecordEvict(qw, batch.Eviction{Notice: batch.Notice{Cause: batch.CausePreempted, By: "team/b", Time: at(20), Until: at(22)}}, at(20))
			},
			line{
				"Stopping", "Preempted", "2026-01-05T00:22:00Z",
				"preempted by team/b; its pods run on until 2026-01-05T00:22:00Z at the latest, or until all have acknowledged; it waits again, at its old place, when they are gone",
			},
		},
		{
			func() { convert.RecordStop(qw, batch.StopDecision{At: at(21)}, at(21)) },
			line{
				"Stopping", "Preempted", "2026-01-05T00:22:00Z",
				"preempted by team/b; its pods were told to end at 2026-01-05T00:21:00Z and have their terminationGracePeriodSeconds for it; it waits again, at its old place, when they are gone",
			},
		},
		{
			func() {
				convert.RecordFinish(qw, batch.End{State: batch.Failed, Time: at(21), Message: "exit code 3"}, at(22))
			},
			line{"Failed", "", "2026-01-05T00:21:00Z", "exit code 3"},
		},
	} {
		step.do()
		s := qw.Status.Summary
		if diff := cmp.Diff(step.want, line{s.State, s.Reason, s.Until, s.Message}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.want.State, diff)
		}
	}
}

// What holds a pod back and why the last run was taken back are read again after
// a restart; neither makes a run one that was ready.
func TestB20WhatKeepsAStartIsReadBack(t *testing.T) {
	t.Parallel()
	qw := gang()
	convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation()}, at(10))
	convert.RecordReady(qw, batch.ReadyDecision{HeldBy: "pod ns/a-0: waiting for the gate x"}, at(11))
	if got := convert.Workload(qw); got.HeldBy != "pod ns/a-0: waiting for the gate x" || got.PodsReady != nil {
		t.Errorf("held by %q, ready %v", got.HeldBy, got.PodsReady)
	}
	convert.RecordReady(qw, batch.ReadyDecision{}, at(12))
	if got := convert.Workload(qw); got.HeldBy != "" || got.PodsReady != nil {
		t.Errorf("after the gate is gone: held by %q, ready %v", got.HeldBy, got.PodsReady)
	}
	convert.RecordEvict(qw, *batch.EvictedAtOnce(batch.Notice{Cause: batch.CauseStartTimeout, By: "refused by a plugin"}), at(13))
	convert.RecordRequeue(qw, batch.RequeueDecision{Restarts: 1}, at(14))
	if got := convert.Workload(qw); got.TakenBack != "refused by a plugin" {
		t.Errorf("taken back because of %q", got.TakenBack)
	}
}

// TestSummaryCountsWhatWasStarted: an elastic workload may have got less than
// it asked for.
func TestSummaryCountsWhatWasStarted(t *testing.T) {
	t.Parallel()
	qw := gang()
	qw.Spec.PodSets[0].Count = new(int32(6))
	convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation()}, at(10))
	if got := *qw.Status.Summary.GPUs; got != 24 {
		t.Errorf("%d GPUs, want 24: three pods of six were started", got)
	}
}

func TestUnplannableRulesAreSaid(t *testing.T) {
	t.Parallel()
	qw := gang()
	qw.Spec.Walltime = "soon"
	if got := convert.Workload(qw).Invalid; got == "" {
		t.Error("a walltime of \"soon\" is taken in silence")
	}
	qw = gang()
	qw.Spec.PriorityClassName = "gone"
	if got := convert.Workload(qw).Invalid; got == "" {
		t.Error("a PriorityClass that does not exist is taken in silence")
	}
}

// TestAStartSaysThatNothingKeepsItsPodsTogether: its author asked for one domain,
// and nothing says where the nodes stand.
func TestAStartSaysThatNothingKeepsItsPodsTogether(t *testing.T) {
	t.Parallel()
	qw := gang()
	convert.RecordStart(qw, batch.StartDecision{Allocation: someAllocation(), Loose: batch.Loose{Level: "rack", Queue: "main"}}, at(10))
	const want = "; required=rack (berth.dev/topology) keeps nothing together, as ClusterQueue main has no ResourceFlavor with a Topology"
	if c := meta.FindStatusCondition(qw.Status.Conditions, v1alpha1.ConditionAdmitted); c == nil || !strings.HasSuffix(c.Message, want) {
		t.Errorf("%+v", c)
	}
}
