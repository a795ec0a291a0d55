package apply

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/explain"
)

// namesMax is how many victims an Event names.
const namesMax = 5

// evictedNews tells a victim that it is being taken back. That its pods have
// time and run on is a notice; that they were told to end is more.
func evictedNews(e batch.Eviction) news {
	n := news{kind: corev1.EventTypeWarning, reason: EventStopping, action: "Evict", note: explain.Eviction(e)}
	if e.Stopped.IsZero() {
		n.reason = EventNoticed
		n.note = fmt.Sprintf("%s (%s to save its work)", n.note, batch.FormatDuration(e.Until.Sub(e.Time)))
	}
	return n
}

// stoppedNote tells why the grace of a noticed workload is over.
func stoppedNote(before *v1alpha1.QueuedWorkload, stop batch.StopDecision) string {
	if stop.By != "" {
		return stop.By + "; its pods are told to end"
	}
	if n := before.Status.Notice; n != nil && stop.At.Before(n.Until.Time) {
		return "all its pods have acknowledged the notice; they are told to end"
	}
	return "its grace is over; its pods are told to end"
}

// noticedNote tells of the deadline.
func noticedNote(n batch.Notice) string {
	return fmt.Sprintf("its pods were told that it is ended at its deadline, %s (%s from now)",
		explain.Instant(n.Until), batch.FormatDuration(n.Until.Sub(n.Time)))
}

// relimitedNews tells of the deadline of a run whose walltime was edited.
func relimitedNews(d batch.RelimitDecision) news {
	level := corev1.EventTypeNormal
	if d.Refused != "" {
		level = corev1.EventTypeWarning
	}
	return news{level, EventRelimited, "Limit", explain.Relimit(d)}
}

// nominatedNote tells a preemptor whom it waits for, and until when.
func nominatedNote(n batch.Nomination, names []string) string {
	who := strings.Join(names, ", ")
	if more := len(n.Victims) - len(names); more > 0 {
		who += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("a place is kept for it; it starts there when these are gone, at %[2]s at the latest: %[1]s",
		who, explain.Instant(n.Allocation.Start))
}

// names are what people call the first of some workloads: their Jobs and Pods.
func (a *Applier) names(ctx context.Context, ids []batch.WorkloadID) []string {
	names := make([]string, 0, namesMax)
	for _, id := range ids[:min(len(ids), namesMax)] {
		key := convert.SplitID(id)
		name := string(id)
		qw := &v1alpha1.QueuedWorkload{}
		if err := a.client.Get(ctx, key, qw); err == nil { // else its own name will do
			if owner := metav1.GetControllerOf(qw); owner != nil {
				name = key.Namespace + "/" + owner.Name
			}
		}
		names = append(names, name)
	}
	return names
}
