package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// mustStartBefore says that of two that wait for the same node one is first.
func (w *work) mustStartBefore(other *work) {
	w.t.Helper()
	if a, b := w.mustEnd("Completed").Status.Allocation, other.mustEnd("Completed").Status.Allocation; !a.StartTime.Before(&b.StartTime) {
		w.t.Errorf("%s started at %v, %s at %v: want %s first", w.what(), a.StartTime, other.what(), b.StartTime, w.what())
	}
}

// mustHaveEvent waits for an Event on the job whose text has all the parts.
func (w *work) mustHaveEvent(parts ...string) {
	w.t.Helper()
	eventually(w.t, patience, fmt.Sprintf("an Event on %s says %q", w.what(), parts), func() (string, bool) {
		list := &corev1.EventList{}
		if err := w.client.List(w.t.Context(), list, client.InNamespace(w.name)); err != nil {
			return err.Error(), false
		}
		var seen []string
		for _, event := range list.Items {
			if event.InvolvedObject.UID != w.uid() {
				continue
			}
			if containsAll(event.Message, parts) {
				return "", true
			}
			seen = append(seen, event.Message)
		}
		return strings.Join(seen, "; "), false
	})
}

// TestHigherTierGoesFirst, though it came last and whatever the priorities are.
func TestHigherTierGoesFirst(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	urgent := team.priorityClass("urgent", 1000)
	team.makeQueue(team.name+"-high", func(s *v1alpha1.ClusterQueueSpec) { s.PriorityTier = new(int32(10)) })
	team.makeDoor("high", team.name+"-high")
	blocker := team.submit(job("blocker", gpus(8), walltime("10m")))
	blocker.mustRun()
	low := team.submit(job("low", gpus(8), walltime("10m"), runsFor(time.Second), class(urgent)))
	low.mustWait("Resources")
	high := team.submit(job("high", gpus(8), walltime("10m"), runsFor(time.Second), through("high")))
	high.mustWait("Resources")
	low.mustWait("Resources", "moved later by: higher-ranked arrival "+team.name+"/high")
	low.mustHaveEvent("planned start moved from", "higher-ranked arrival")
	blocker.mustBeDeleted()
	high.mustStartBefore(low)
}

// TestHigherPriorityGoesFirst within a tier.
func TestHigherPriorityGoesFirst(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	urgent := team.priorityClass("urgent", 1000)
	blocker := team.submit(job("blocker", gpus(8), walltime("10m")))
	blocker.mustRun()
	normal := team.submit(job("a-normal", gpus(8), walltime("10m"), runsFor(time.Second)))
	normal.mustWait("Resources")
	first := team.submit(job("b-urgent", gpus(8), walltime("10m"), runsFor(time.Second), class(urgent)))
	if qw := first.mustWait("Resources"); qw.Spec.Priority == nil || *qw.Spec.Priority != 1000 {
		t.Errorf("priority of the workload: %v, want 1000", qw.Spec.Priority)
	}
	blocker.mustBeDeleted()
	first.mustStartBefore(normal)
}

// priorityClass makes a PriorityClass for the team and returns its name.
func (t *team) priorityClass(name string, value int32) string {
	t.t.Helper()
	never := schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: t.name + "-" + name}, Value: value, PreemptionPolicy: new(corev1.PreemptNever)}
	t.create(&never)
	t.t.Cleanup(func() { t.remove(&never) })
	return never.Name
}

// TestPriorityClassThatDoesNotExist is an answer in words, and is enough when
// somebody makes it.
func TestPriorityClassThatDoesNotExist(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	early := team.submit(job("early", gpus(1), class(team.name+"-later")))
	early.mustWait("InvalidSpec", `PriorityClass "`+team.name+`-later" does not exist`)
	early.mustHaveNoPods()
	team.priorityClass("later", 5)
	early.mustRun()
}

// TestHeldUntilReleased: a held Job blocks nobody, and starts when its author
// releases it; so does the work of a held LocalQueue.
func TestHeldUntilReleased(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	hold := team.submit(job("hold", gpus(8), walltime("10m"), held))
	hold.mustWait("Held", "held by its author")
	other := team.submit(job("other", gpus(8), walltime("10m"), runsFor(time.Second)))
	other.mustEnd("Completed")
	hold.mustHaveNoPods()
	hold.change(func(j *batchv1.Job) { j.Annotations[v1alpha1.HoldAnnotation] = "false" })
	hold.mustRun()

	door := &v1alpha1.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: queueName}}
	team.edit(door, func() { door.Spec.Hold = v1alpha1.HoldAll })
	team.controllerDecides() // it has heard of the hold before it hears of late
	late := team.submit(job("late", walltime("10m")))
	late.mustWait("Held", "LocalQueue", "holds its work")
	hold.mustRun() // what runs goes on
	team.edit(door, func() { door.Spec.Hold = v1alpha1.HoldNone })
	late.mustRun()
}

// TestBackfillDelaysNobody: while a gang waits for the second of two nodes, a
// short job uses the first, a long one does not, and the gang starts when it
// was planned to.
func TestBackfillDelaysNobody(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	long := team.submit(job("long", gpus(8), walltime("40s"), on(team.nodes[0])))
	long.mustRun()
	gang := team.submit(job("gang", pods(2), gpus(8), walltime("10m")))
	planned := gang.mustWait("Resources").Status.PlannedStartTime
	if want := long.record().Status.Allocation.Deadline; !planned.Equal(want) {
		t.Errorf("the gang is planned at %v, want the deadline of the job before it, %v", planned, want)
	}
	tooLong := team.submit(job("too-long", gpus(8), walltime("10m")))
	tooLong.mustWait("Priority", "would fit now", team.name+"/gang")
	short := team.submit(job("short", gpus(8), walltime("15s"), runsFor(time.Second)))
	qw := short.mustEnd("Completed")
	if via := qw.Status.Allocation.Via; via != "Backfill" {
		t.Errorf("short started via %s, want Backfill: it has overtaken the gang", via)
	}
	tooLong.mustHaveNoPods()

	long.mustEnd("Timeout") // its pod runs until it is stopped
	started := gang.mustRun().Status.Allocation
	if started.StartTime.Before(planned) {
		t.Errorf("the gang was planned at %v and started at %v", planned, started.StartTime)
	}
	team.mustTake(started.StartTime.Sub(planned.Time), 3*time.Second, "from the gang's planned start, at which its predecessor is stopped, to its start")
	if tooLong.mustWait("Resources"); len(tooLong.pods()) > 0 {
		t.Errorf("too-long has had pods before the gang has ended")
	}
}

// TestQueueStates: as a Slurm partition, a queue can be drained, stopped, or both.
func TestQueueStates(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	set := func(state v1alpha1.QueueState) {
		t.Helper()
		queue := &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: team.name}}
		team.edit(queue, func() { queue.Spec.State = state })
		eventually(t, soon, "the queue says that it is "+string(state), func() (string, bool) {
			team.edit(queue, func() {})
			c := meta.FindStatusCondition(queue.Status.Conditions, v1alpha1.ConditionActive)
			return "", c != nil && (c.Status == metav1.ConditionTrue) == (state == v1alpha1.QueueUp) && c.ObservedGeneration == queue.Generation
		})
	}
	blocker := team.submit(job("blocker", gpus(8), walltime("10m")))
	blocker.mustRun()
	before := team.submit(job("before", gpus(8), walltime("10m"), runsFor(time.Second)))
	before.mustWait("Resources")
	// Times in the API have whole seconds, and a Job of the second in which the
	// drain begins counts as queued before it.
	nextSecond(t)
	set(v1alpha1.QueueDrain)
	nextSecond(t)
	after := team.submit(job("after", gpus(8), walltime("10m"), runsFor(time.Second)))
	after.mustWait("QueueStopped", "Drain", "starts only what was queued before")
	blocker.mustBeDeleted()
	before.mustEnd("Completed")
	after.mustHaveNoPods()

	set(v1alpha1.QueueDown)
	after.mustWait("QueueStopped", "Down", "starts nothing")
	set(v1alpha1.QueueInactive)
	after.mustWait("QueueStopped", "Inactive", "neither takes nor starts work")
	after.mustHaveNoPods()
	set(v1alpha1.QueueUp)
	after.mustEnd("Completed")
}

// nextSecond waits until the clock's second is another.
func nextSecond(t *testing.T) {
	t.Helper()
	now := time.Now().Unix()
	eventually(t, soon, "the next second", func() (string, bool) { return "", time.Now().Unix() > now+1 })
}
