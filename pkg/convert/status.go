package convert

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/explain"
)

// The functions of this file change a QueuedWorkload's status by one decision
// of a plan. Together they are the only description of that status:
//
//	         ┌───────────── RecordRequeue ◄─────────────┐
//	         ▼                                          │
//	  Pending (RecordWait,  ─► Admitted (RecordStart) ─► Evicted (RecordEvict,
//	    RecordNominate)*         (RecordReady,             RecordStop)
//	         │                    RecordNotify)*           │
//	         └─────────► Finished (RecordFinish) ◄─────────┘
//
// How an allocation is taken back has a file of its own, eviction.go.
//
// Conditions name the state, the summary says it in one line.

// The states in WorkloadSummary.State that are not final.
const (
	StatePending  = "Pending"
	StateStarting = "Starting"
	StateRunning  = "Running"
	StateStopping = "Stopping"
)

// podsLost is the reason of PodsReady when it was True before in this run.
const podsLost = "PodsLost"

// podsHeld is the reason of PodsReady when something else than Berth keeps a
// released pod from its node; the message says what.
const podsHeld = "PodsHeld"

const (
	runsMax     = 10
	byMax       = 1024
	messageMax  = 32768
	summaryMax  = 1024
	plannedMark = "~"
)

// HasEnded is said of an end of which there is no more to say.
const HasEnded = "it has ended"

// podsMade is said of a run from its start until all its pods are ready.
const podsMade = "its pods are being made"

// RecordWait writes why a workload waits and when it is planned to start.
func RecordWait(qw *v1alpha1.QueuedWorkload, d batch.WaitDecision, at time.Time) {
	verdict := &d.Verdict
	set(qw, v1alpha1.ConditionPending, metav1.ConditionTrue, string(verdict.Reason), verdict.Message, at)
	status := &qw.Status
	status.PlannedStartTime, status.Basis = timestamp(verdict.PlannedStart), string(d.Basis)
	status.Summary = summary(qw, StatePending, string(verdict.Reason), verdict.Message)
	if !verdict.PlannedStart.IsZero() {
		status.Summary.Start = plannedMark + verdict.PlannedStart.UTC().Format(time.RFC3339)
	}
}

// RecordStart writes a start and its allocation: the one write by which a workload is admitted.
func RecordStart(qw *v1alpha1.QueuedWorkload, d batch.StartDecision, at time.Time) {
	status, in := &qw.Status, d.Allocation
	status.Allocation = Allocation(in)
	status.Allocation.Walltime = declared(d.Walltime)
	status.PlannedStartTime, status.Basis = nil, ""
	status.RequeueAfter, status.Nomination, status.Notice = nil, nil, nil
	reason := startedReason(in.Via)
	until := "without a limit"
	if !in.Deadline.IsZero() {
		until = "until " + explain.Instant(in.Deadline)
	}
	message := fmt.Sprintf("%s of ClusterQueue %s, %s", NodesText(in), in.Queue, until)
	if loose := explain.Loose(d.Loose); loose != "" {
		message += "; " + loose
	}
	set(qw, v1alpha1.ConditionPending, metav1.ConditionFalse, v1alpha1.ConditionAdmitted, "it has started", at)
	set(qw, v1alpha1.ConditionAdmitted, metav1.ConditionTrue, reason, message, at)
	set(qw, v1alpha1.ConditionPodsReady, metav1.ConditionFalse, StateStarting, podsMade, at)
	if meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionEvicted) != nil {
		set(qw, v1alpha1.ConditionEvicted, metav1.ConditionFalse, reason, "it has started again", at)
	}
	status.Summary = summary(qw, StateStarting, reason, podsMade)
	status.Summary.Until = text(status.Allocation.Deadline)
}

func startedReason(via batch.Via) string {
	switch via {
	case batch.ViaBackfill:
		return v1alpha1.AdmittedBackfilled
	case batch.ViaPreemption:
		return v1alpha1.AdmittedInPlaceOfOthers
	case batch.ViaOrder:
	}
	return v1alpha1.AdmittedStarted
}

// RecordReady writes whether as many pods are ready as the run needs.
func RecordReady(qw *v1alpha1.QueuedWorkload, decision batch.ReadyDecision, at time.Time) {
	value, message, reason, state := metav1.ConditionFalse, "some of its pods are no longer ready", podsLost, StateStarting
	if c := meta.FindStatusCondition(qw.Status.Conditions, v1alpha1.ConditionPodsReady); c == nil || c.Reason == StateStarting || c.Reason == podsHeld {
		message, reason = podsMade, StateStarting
		if decision.HeldBy != "" {
			reason = podsHeld
		}
	}
	if decision.Ready {
		value, message, reason, state = metav1.ConditionTrue, "all its pods are ready", StateRunning, StateRunning
		if held := qw.Status.Allocation; held != nil && held.ReadyTime == nil {
			held.ReadyTime = timestamp(at)
		}
	} else if decision.HeldBy != "" {
		message = decision.HeldBy
	}
	set(qw, v1alpha1.ConditionPodsReady, value, reason, message, at)
	if s := qw.Status.Summary; s != nil && (s.State == StateStarting || s.State == StateRunning) {
		s.State, s.Message = state, Cut(message, summaryMax)
	}
}

// RecordRequeue writes that an evicted workload's pods are gone and that it
// waits again, at its old place.
func RecordRequeue(qw *v1alpha1.QueuedWorkload, decision batch.RequeueDecision, at time.Time) {
	status := &qw.Status
	taken := eviction(qw)
	if taken == nil {
		taken = &batch.Eviction{}
	}
	taken.Meanwhile = decision.Meanwhile
	endRun(status, batch.End{State: batch.Requeued, Time: at}, taken)
	status.Allocation, status.Notice = nil, nil
	status.Restarts = new(int32(decision.Restarts))
	status.RequeueAfter = timestamp(decision.RequeueAfter)
	message := "its run " + strconv.Itoa(decision.Restarts) + " was taken back and it waits again at its old place"
	if !decision.RequeueAfter.IsZero() {
		message += "; next try at " + explain.Instant(decision.RequeueAfter)
	}
	if taken.Cause != "" {
		message += "; " + taken.Words()
	}
	set(qw, v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.AdmittedRequeued, message, at)
	set(qw, v1alpha1.ConditionPodsReady, metav1.ConditionFalse, v1alpha1.AdmittedRequeued, "it has no pods", at)
	RecordWait(qw, batch.WaitDecision{Verdict: batch.Verdict{Reason: batch.ReasonRequeued, Message: message}}, at)
}

// RecordFinish writes the end. The allocation stays as a record.
func RecordFinish(qw *v1alpha1.QueuedWorkload, end batch.End, at time.Time) {
	status := &qw.Status
	taken := eviction(qw)
	if taken == nil || taken.Final != end.State {
		taken = &batch.Eviction{} // it ended by itself, if in its grace
	}
	endRun(status, end, taken)
	message := end.Message
	if message == "" {
		message = HasEnded
	}
	set(qw, v1alpha1.ConditionPending, metav1.ConditionFalse, v1alpha1.ConditionFinished, HasEnded, at)
	set(qw, v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.ConditionFinished, HasEnded, at)
	if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionPodsReady) {
		set(qw, v1alpha1.ConditionPodsReady, metav1.ConditionFalse, v1alpha1.ConditionFinished, HasEnded, at)
	}
	set(qw, v1alpha1.ConditionFinished, metav1.ConditionTrue, string(end.State), message, end.Time)
	status.PlannedStartTime, status.Basis = nil, ""
	status.RequeueAfter, status.Nomination = nil, nil
	status.Summary = summary(qw, string(end.State), "", message)
	status.Summary.Until = end.Time.UTC().Format(time.RFC3339)
}

// NodesText says on how many nodes an allocation is: "1 node".
func NodesText(in batch.Allocation) string {
	n := NodeCount(in)
	return fmt.Sprintf("%d %s", n, plural(n, "node", "nodes"))
}

// NodeCount is the number of nodes of an allocation.
func NodeCount(in batch.Allocation) int {
	hosts := map[batch.NodeName]bool{}
	for _, placement := range in.PodSets {
		for _, host := range placement.Hosts {
			hosts[host] = true
		}
	}
	return len(hosts)
}

func summary(qw *v1alpha1.QueuedWorkload, state, reason, message string) *v1alpha1.WorkloadSummary {
	out := &v1alpha1.WorkloadSummary{State: state, Reason: reason, Message: Cut(message, summaryMax)}
	out.GPUs = new(gpusOf(qw))
	if held := qw.Status.Allocation; held != nil {
		out.ClusterQueue = held.ClusterQueue
		out.Start = held.StartTime.UTC().Format(time.RFC3339)
		out.Nodes = new(int32(NodeCount(*allocation(held))))
	}
	return out
}

// text is a time as the summary has it; empty: there is none.
func text(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// gpusOf is the number of GPUs of all pods together: of those that were
// started, else of those that are asked for.
func gpusOf(qw *v1alpha1.QueuedWorkload) int64 {
	started := map[string]int64{}
	if held := qw.Status.Allocation; held != nil {
		for _, set := range held.PodSets {
			started[set.Name] = int64(value(set.Count))
		}
	}
	total := int64(0)
	for _, set := range qw.Spec.PodSets {
		count, some := started[set.Name]
		if !some {
			count = int64(value(set.Count))
		}
		total += count * gpus(set.Requests)
	}
	return total
}

// endRun puts a run among those that have ended.
func endRun(status *v1alpha1.QueuedWorkloadStatus, end batch.End, taken *batch.Eviction) {
	if status.Allocation == nil {
		return
	}
	status.Runs = append(status.Runs, v1alpha1.WorkloadRun{
		Start: status.Allocation.StartTime, End: metav1.NewTime(end.Time), State: string(end.State),
		Notice: timestamp(taken.Time), Cause: string(taken.Cause), By: Cut(taken.By, byMax), Meanwhile: Cut(taken.Meanwhile, byMax),
	})
	if extra := len(status.Runs) - runsMax; extra > 0 {
		status.Runs = status.Runs[extra:]
	}
}

func set(qw *v1alpha1.QueuedWorkload, kind string, value metav1.ConditionStatus, reason, message string, at time.Time) {
	meta.SetStatusCondition(&qw.Status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: Cut(message, messageMax),
		LastTransitionTime: metav1.NewTime(at), ObservedGeneration: qw.Generation,
	})
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Cut shortens a text to a field's limit, between two characters.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Finished says whether the end of a workload is on record.
func Finished(qw *v1alpha1.QueuedWorkload) bool {
	return meta.IsStatusConditionTrue(qw.Status.Conditions, v1alpha1.ConditionFinished)
}

// Restarts is how often a workload was taken back: the number of its run.
func Restarts(qw *v1alpha1.QueuedWorkload) int { return int(value(qw.Status.Restarts)) }
