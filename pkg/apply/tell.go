package apply

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/explain"
)

// The reasons of the Events that Berth writes onto Jobs and Pods.
const (
	EventQueued  = "Queued"
	EventWaiting = "Waiting"
	EventPlanned = "Planned"
	EventStarted = "Started"
	// EventNoticed: it will be ended, and has time to save its work.
	EventNoticed = "Noticed"
	// EventRelimited: its walltime was edited while it runs.
	EventRelimited = "WalltimeEdited"
	EventStopping  = "Stopping"
	// EventPreempting: it waits for those that make room for it.
	EventPreempting = "Preempting"
	EventRequeued   = "Requeued"
	EventFinished   = "Finished"
)

// movedEnough is how far a planned start must move for people to hear of it.
const movedEnough = time.Minute

// tell says by an Event on the owner what was decided, if it is news.
func (a *Applier) tell(ctx context.Context, before, after *v1alpha1.QueuedWorkload, d decision) {
	owner := ownerReference(after)
	if owner == nil {
		return
	}
	if len(before.Status.Conditions) == 0 && (d.start != nil || d.wait != nil) {
		a.herald.tell(owner, news{corev1.EventTypeNormal, EventQueued, "Queue", fmt.Sprintf("queued in LocalQueue %s", before.Spec.QueueName)})
	}
	switch {
	case d.start != nil:
		a.herald.tell(owner, news{corev1.EventTypeNormal, EventStarted, "Start", startedNote(*d.start)})
	case d.notify != nil:
		a.herald.tell(owner, news{corev1.EventTypeNormal, EventNoticed, "Notify", noticedNote(d.notify.Notice)})
	case d.relimit != nil:
		a.herald.tell(owner, relimitedNews(*d.relimit))
	case d.evict != nil:
		a.herald.tell(owner, evictedNews(d.evict.Eviction))
	case d.stop != nil:
		a.herald.tell(owner, news{corev1.EventTypeWarning, EventStopping, "Stop", stoppedNote(before, *d.stop)})
	case d.nominate != nil && d.nominate.Nomination != nil:
		note := nominatedNote(*d.nominate.Nomination, a.names(ctx, d.nominate.Nomination.Victims))
		a.herald.tell(owner, news{corev1.EventTypeNormal, EventPreempting, "Preempt", note})
	case d.requeue != nil:
		a.herald.tell(owner, news{corev1.EventTypeNormal, EventRequeued, "Requeue", "its pods are gone; it waits again at its old place"})
	case d.finish != nil:
		a.herald.tell(owner, news{corev1.EventTypeNormal, EventFinished, "Finish", finishedNote(d.finish.End)})
	case d.wait != nil:
		a.tellWait(owner, before, d.wait.Verdict)
	}
}

// Tell writes an Event for somebody else: of a kind (corev1.EventTypeNormal or
// EventTypeWarning), about an object.
func (a *Applier) Tell(about *corev1.ObjectReference, kind, reason, action, note string) {
	a.herald.tell(about, news{kind, reason, action, note})
}

// tellWait tells why a workload waits when that changes, of the first planned
// start, and of one that has moved by more than a minute.
func (a *Applier) tellWait(owner *corev1.ObjectReference, before *v1alpha1.QueuedWorkload, verdict batch.Verdict) {
	if old := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionPending); old == nil || old.Reason != string(verdict.Reason) {
		a.herald.tell(owner, news{corev1.EventTypeNormal, EventWaiting, "Wait", fmt.Sprintf("%s: %s", verdict.Reason, verdict.Message)})
	}
	if verdict.PlannedStart.IsZero() {
		return
	}
	at := explain.Instant(verdict.PlannedStart)
	old := before.Status.PlannedStartTime
	if old == nil {
		a.herald.tell(owner, news{corev1.EventTypeNormal, EventPlanned, "Plan", "planned to start at " + at + " at the latest"})
		return
	}
	moved := verdict.PlannedStart.Sub(old.Time)
	if moved.Abs() <= movedEnough {
		return
	}
	note := fmt.Sprintf("planned start moved from %s to %s", explain.Instant(old.Time), at)
	if verdict.MovedBy != "" {
		note += ": " + verdict.MovedBy
	}
	a.herald.tell(owner, news{corev1.EventTypeNormal, EventPlanned, "Plan", note})
}

func startedNote(start batch.StartDecision) string {
	allocation := start.Allocation
	note := fmt.Sprintf("started on %s of ClusterQueue %s", convert.NodesText(allocation), allocation.Queue)
	if allocation.Via == batch.ViaBackfill {
		note += ", in a gap before higher-ranked work, which it does not delay"
	}
	if !allocation.Deadline.IsZero() {
		note += ", until " + explain.Instant(allocation.Deadline) + " at the latest"
	}
	if loose := explain.Loose(start.Loose); loose != "" {
		note += "; " + loose
	}
	return note
}

func finishedNote(end batch.End) string {
	if end.Message == "" {
		return string(end.State)
	}
	return string(end.State) + ": " + end.Message
}

// ownerReference is the Job or Pod that people look at.
func ownerReference(qw *v1alpha1.QueuedWorkload) *corev1.ObjectReference {
	owner := metav1.GetControllerOf(qw)
	if owner == nil {
		return nil
	}
	return &corev1.ObjectReference{
		APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: qw.Namespace, Name: owner.Name, UID: owner.UID,
	}
}
