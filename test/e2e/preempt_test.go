package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

// urgent is the LocalQueue of work that may take the place of a team's other
// work.
const urgent = "urgent"

// preemptible gives a team two queues over the same nodes: its own, whose work
// gives way with some grace, and a higher one.
func preemptible(t *testing.T, grace time.Duration, options ...option) *team {
	t.Helper()
	team := newTeam(t, append(options, clusterQueue(func(spec *v1alpha1.ClusterQueueSpec) {
		spec.Preemption = &v1alpha1.QueuePreemption{Mode: v1alpha1.PreemptRequeue, Grace: v1alpha1.Duration(fmt.Sprintf("%ds", int(grace.Seconds())))}
	}))...)
	team.makeQueue(team.name+"-urgent", func(spec *v1alpha1.ClusterQueueSpec) { spec.PriorityTier = new(int32(20)) })
	team.makeDoor(urgent, team.name+"-urgent")
	return team
}

// ignoresTerm lets its pods take no notice of SIGTERM: they are killed at the
// end of their grace.
func ignoresTerm(grace time.Duration) trait {
	return func(j *batchv1.Job) {
		delete(j.Spec.Template.Annotations, simulate.ExitsAfterAnnotation)
		j.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(grace.Seconds()))
	}
}

// mustHaveBeenTakenBack says that a run of it was taken back, by whom, that it
// was once, and that its Job counts no failure and no success by that.
func (w *work) mustHaveBeenTakenBack(by *work) {
	w.t.Helper()
	qw := w.record()
	var taken []string
	for _, run := range qw.Status.Runs {
		if run.Cause != "" {
			taken = append(taken, fmt.Sprintf("%s %s by %s", run.State, run.Cause, run.By))
		}
	}
	want := []string{fmt.Sprintf("Requeued Preempted by %s/%s", w.name, by.what())}
	if diff := gocmp.Diff(want, taken); diff != "" {
		w.t.Errorf("%s: runs that were taken back (-want +had):\n%s", w.what(), diff)
	}
	if job := w.now(); job.Status.Failed != 0 {
		w.t.Errorf("%s: its Job counts %d failures", w.what(), job.Status.Failed)
	}
}

// mustStartAfter says that no pod of it was bound before the last pod of others
// was gone.
func (w *work) mustStartAfter(others ...*work) {
	w.t.Helper()
	first, _ := w.bound(1, patience)
	for _, other := range others {
		for _, pod := range other.pods() {
			if gone := pod.released(); !pod.Bound.IsZero() && pod.Bound.Before(first) && (gone.IsZero() || first.Before(gone)) {
				w.t.Errorf("%s was bound at %v, before pod %s of %s was gone (%v)", w.what(), first, pod.Name, other.what(), gone)
			}
		}
	}
	for _, pod := range w.pods() {
		if pod.Failed {
			w.t.Errorf("pod %s failed", pod.Name)
		}
	}
}

// notices are what its pods that exist carry.
func (w *work) notices() []string {
	w.t.Helper()
	var list corev1.PodList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.name)); err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		if pod := &list.Items[i]; strings.HasPrefix(pod.Name, w.what()+"-") || pod.Name == w.what() {
			out = append(out, pod.Annotations[v1alpha1.NoticeAnnotation])
		}
	}
	return out
}

// TestB01TheVictimsGPUsStayTaken until its last pod is gone, however long that
// takes; then its place goes to whom it was kept for, and it runs again later.
func TestB01TheVictimsGPUsStayTaken(t *testing.T) {
	t.Parallel()
	team := preemptible(t, 0, nodes(1, 8))
	low := team.submit(job("low", gpus(8), walltime("1h"), ignoresTerm(8*time.Second)))
	before := low.now().Spec.Template
	low.mustRun()
	began := time.Now()
	high := team.submit(job("high", gpus(8), walltime("10m"), through(urgent)))
	eventually(t, patience, "low is told", func() (string, bool) {
		all := low.notices()
		return fmt.Sprint(all), len(all) == 1 && strings.Contains(all[0], `"cause":"Preempted","by":"`+team.name+`/high"`)
	})
	team.mustTake(time.Since(began), time.Second, "from the preemptor's arrival to the notice")
	high.mustWait("Preempting", "low")
	if qw := low.mustBe("Stopping", soon); qw.Status.Summary.Reason != "Preempted" {
		t.Errorf("low is stopping because of %q", qw.Status.Summary.Reason)
	}
	team.mustUse(team.name, gpu, "8")
	team.submit(job("newcomer", gpus(8), walltime("1m"))).mustWait("Resources")
	qw := high.mustRun()
	high.mustStartAfter(low)
	if via := qw.Status.Allocation.Via; via != "Preemption" {
		t.Errorf("high started via %s", via)
	}
	if bound, _ := high.bound(1, soon); bound.Sub(began) < 8*time.Second {
		t.Errorf("high was bound %s after it came; low had 8s from SIGTERM on", bound.Sub(began))
	}
	low.mustHaveEvent("preempted by " + team.name + "/high")
	high.mustHaveEvent("a place is kept for it", team.name+"/low")
	if diff := gocmp.Diff(before, low.now().Spec.Template); diff != "" {
		t.Errorf("B11: the template of the victim (-before +after):\n%s", diff)
	}
	high.finish()
	again := low.mustRun()
	low.mustHaveBeenTakenBack(high)
	if n := again.Status.Restarts; n == nil || *n != 1 {
		t.Errorf("restarts %v, want 1", n)
	}
	low.finish()
	low.mustEnd("Completed")
}

// TestVictimsWithDifferentReactionTimes: the preemptor starts when the slowest is
// gone, and not before; all of them run again and complete.
func TestVictimsWithDifferentReactionTimes(t *testing.T) {
	t.Parallel()
	team := preemptible(t, 0, nodes(4, 8))
	const grace = 12 * time.Second
	quick := team.submit(job("quick", gpus(8), walltime("1h"), stopsIn(time.Second, grace)))
	slow := team.submit(job("slow", gpus(8), walltime("1h"), stopsIn(7*time.Second, grace), exits(77)))
	deaf := team.submit(job("deaf", gpus(8), walltime("1h"), ignoresTerm(grace)))
	bystander := team.submit(job("bystander", gpus(8), walltime("1h")))
	victims := []*work{quick, slow, deaf}
	for _, w := range append(victims, bystander) {
		w.mustRun()
	}
	high := team.submit(job("high", pods(3), gpus(8), walltime("10m"), through(urgent), onAny(hostsOfAll(victims))))
	high.mustRun()
	high.mustStartAfter(victims...)
	slow.mustHaveEvent("has ended after it was told to: container main exited with code 77")
	if n := len(bystander.pods()); n != 1 {
		t.Errorf("bystander has had %d pods", n)
	}
	high.finish()
	for _, w := range victims {
		w.mustRun()
		w.mustHaveBeenTakenBack(high)
		w.finish()
		w.mustEnd(map[bool]string{true: "Failed", false: "Completed"}[w == slow])
	}
}

func hostsOfAll(all []*work) []string {
	var hosts []string
	for _, w := range all {
		hosts = append(hosts, w.hosts()...)
	}
	return hosts
}

// TestB05ThePreemptorGoesWhileItsVictimsEnd: nobody keeps a place for it any
// more, the notices stand, and its victims run again.
func TestB05ThePreemptorGoesWhileItsVictimsEnd(t *testing.T) {
	t.Parallel()
	team := preemptible(t, 0, nodes(2, 8))
	var victims []*work
	for _, name := range []string{"a", "b"} {
		victims = append(victims, team.submit(job(name, gpus(8), walltime("1h"), stopsIn(5*time.Second, 20*time.Second))))
	}
	for _, w := range victims {
		w.mustRun()
	}
	high := team.submit(job("high", pods(2), gpus(8), walltime("10m"), through(urgent)))
	for _, w := range victims {
		w.mustBe("Stopping", soon)
	}
	high.mustBeDeleted()
	for _, w := range victims {
		w.mustRun()
		if n := len(w.pods()); n != 2 {
			t.Errorf("%s has had %d pods, want two", w.what(), n)
		}
	}
	high.mustHaveNoPods()
}

// TestB19ExitZeroInTheGraceIsNoEnd: a program that saves and exits with 0 when it
// is told to end has not finished; what had finished before stays finished.
func TestB19ExitZeroInTheGraceIsNoEnd(t *testing.T) {
	t.Parallel()
	team := preemptible(t, 0, nodes(2, 8))
	low := team.submit(job("low", pods(3), gpus(4), walltime("1h"), stopsIn(2*time.Second, 20*time.Second), exits(0)))
	low.mustRun()
	low.finishPod(low.pod(0))
	eventually(t, patience, "index 0 is done", func() (string, bool) {
		done := low.now().Status.CompletedIndexes
		return done, done == "0"
	})
	high := team.submit(job("high", pods(2), gpus(8), walltime("10m"), through(urgent)))
	high.mustRun()
	high.mustStartAfter(low)
	if s := low.now().Status; s.CompletedIndexes != "0" || s.Succeeded != 1 || s.Failed != 0 {
		t.Errorf("after the eviction indexes %q are done, %d succeeded, %d failed", s.CompletedIndexes, s.Succeeded, s.Failed)
	}
	high.finish()
	low.mustRun()
	low.finish()
	low.mustEnd("Completed")
	runs := map[int]int{}
	for _, pod := range low.pods() {
		runs[pod.Index]++
	}
	if diff := gocmp.Diff(map[int]int{0: 1, 1: 2, 2: 2}, runs); diff != "" {
		t.Errorf("pods by index (-want +had):\n%s", diff)
	}
}

// TestB19MembersOfAnArrayGiveWay: a member that is taken back counts for
// nothing, even if it exits with 0 and its Job allows no failure; its index is
// made anew and waits at its old place.
func TestB19MembersOfAnArrayGiveWay(t *testing.T) {
	t.Parallel()
	team := preemptible(t, 0, nodes(1, 8))
	sweep := team.submit(job("sweep", throttled(2, 2), gpus(4), walltime("1h"), stopsIn(3*time.Second, 20*time.Second), exits(0)))
	if first, _ := sweep.bound(2, patience); first.IsZero() {
		t.Fatal("no member runs")
	}
	high := team.submit(job("high", gpus(8), walltime("10m"), through(urgent)))
	high.mustRun()
	high.mustStartAfter(sweep)
	if s := sweep.now().Status; s.Succeeded != 0 || s.Failed != 0 || len(s.Conditions) != 0 && s.Conditions[0].Type == batchv1.JobFailed {
		t.Errorf("the array counts %d successes and %d failures: %v", s.Succeeded, s.Failed, s.Conditions)
	}
	high.finish()
	eventually(t, patience, "each index runs again", func() (string, bool) {
		holds := 0
		for _, pod := range sweep.pods() {
			if pod.holds() {
				holds++
			}
		}
		return fmt.Sprintf("%d hold, of %d pods", holds, len(sweep.pods())), holds == 2
	})
	for _, pod := range sweep.pods() {
		if pod.holds() {
			sweep.finishPod(pod)
		}
	}
	eventually(t, patience, "the array is complete", func() (string, bool) {
		s := sweep.now().Status
		return fmt.Sprintf("%+v", s), s.Succeeded == 2 && s.CompletionTime != nil
	})
}

// TestASinglePodEndsAsPreempted: it can't run twice.
func TestASinglePodEndsAsPreempted(t *testing.T) {
	t.Parallel()
	team := preemptible(t, 0, nodes(1, 8))
	single := queuedPod("single", 8, 0)
	single.Annotations[simulate.ExitsAfterAnnotation] = "2s"
	w := team.submitPod(single)
	w.mustRun()
	high := team.submit(job("high", gpus(8), walltime("10m"), through(urgent)))
	high.mustRun()
	high.mustStartAfter(w)
	w.mustHaveEvent("Preempted: preempted by " + team.name + "/high")
}

// TestACancelWithGrace: the pods have their time, acknowledge, and end; the Job
// stays, suspended and as its author wrote it, and never runs again.
func TestACancelWithGrace(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	w := team.submit(job("train", pods(2), gpus(8), walltime("1h"), annotated(v1alpha1.CheckpointAnnotation, "annotation")))
	before := w.now().Spec.Template
	w.mustRun()
	w.change(func(j *batchv1.Job) { j.Annotations[v1alpha1.CancelAnnotation] = "5m" })
	eventually(t, patience, "both pods are told", func() (string, bool) {
		all := w.notices()
		return fmt.Sprint(all), len(all) == 2 && !slices.ContainsFunc(all, func(n string) bool { return !strings.Contains(n, `"cause":"Cancelled"`) })
	})
	if held := w.holding(); held != 2 {
		t.Errorf("%d pods run after the notice, want both", held)
	}
	began := time.Now()
	for _, life := range w.pods() {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = team.name, life.Name
		team.edit(pod, func() {
			pod.Annotations[v1alpha1.CheckpointedAtAnnotation] = time.Now().Add(time.Second).UTC().Format(time.RFC3339)
		})
	}
	w.podsGone(patience)
	if took := time.Since(began); took > 4*time.Minute {
		t.Errorf("its pods ended %s after they had acknowledged", took)
	}
	w.mustEnd("Cancelled")
	w.mustHaveEvent("cancelled by its user")
	after := w.now()
	if after.Spec.Suspend == nil || !*after.Spec.Suspend || after.Status.Failed != 0 {
		t.Errorf("suspended %v, %d failures", after.Spec.Suspend, after.Status.Failed)
	}
	eventually(t, soon, "the template is its author's", func() (string, bool) {
		diff := gocmp.Diff(before, w.now().Spec.Template)
		return diff, diff == ""
	})
	waiting := team.submit(job("waiting", held, gpus(8), walltime("1h")))
	waiting.mustWait("Held")
	waiting.change(func(j *batchv1.Job) { j.Annotations[v1alpha1.CancelAnnotation] = "0" })
	waiting.mustEnd("Cancelled")
	waiting.mustHaveNoPods()
}

// TestB31ADrainedNodeGivesBackTheWholeGang: the taint asks for the node with
// grace, the gang goes as a whole and waits at its old place, what is smaller
// runs meanwhile, and the gang is whole again when the node is back.
func TestB31ADrainedNodeGivesBackTheWholeGang(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(3, 8))
	gang := team.submit(job("gang", pods(3), gpus(8), walltime("1h")))
	gang.mustRun()
	node := team.node(2)
	team.edit(node, func() {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "berth.dev/drain", Effect: corev1.TaintEffectNoSchedule})
	})
	eventually(t, patience, "the gang is taken back", func() (string, bool) {
		qw := gang.record()
		return describe(qw), len(qw.Status.Runs) == 1 && qw.Status.Runs[0].Cause == "Drained"
	})
	small := team.submit(job("small", gpus(8), walltime("1m")))
	small.mustRun()
	if n := gang.holding(); n != 0 {
		t.Errorf("%d pods of the gang run in part", n)
	}
	small.finish()
	small.mustEnd("Completed")
	team.edit(node, func() { node.Spec.Taints = nil })
	gang.mustRun()
	if n := gang.now().Status.Failed; n != 0 {
		t.Errorf("the Job counts %d failures", n)
	}
}

// moments are the steps of an eviction at which the controller is killed: what
// can be seen when each has been done, and the next has not.
var moments = []struct {
	name string
	seen func(low, high *work) bool
}{
	{"nominated", func(_, high *work) bool { qw := high.record(); return qw != nil && qw.Status.Nomination != nil }},
	{"noticed", func(low, _ *work) bool { return low.record().Status.Notice != nil }},
	{"announced", func(low, _ *work) bool { all := low.notices(); return len(all) > 0 && all[0] != "" }},
	{"stopped", func(low, _ *work) bool {
		n := low.record().Status.Notice
		return n != nil && n.StopTime != nil
	}},
	{"suspended", func(low, _ *work) bool { s := low.now().Spec.Suspend; return s != nil && *s }},
	{"gone", func(low, _ *work) bool { return low.holding() == 0 }},
	{"requeued", func(low, _ *work) bool { return low.record().Status.Restarts != nil }},
	{"started", func(_, high *work) bool { return high.record().Status.Allocation != nil }},
}

// TestKilledAtEachStepOfAnEviction: wherever it dies, the victim is taken back
// once, its place goes to whom it was kept for, and it runs again.
func TestKilledAtEachStepOfAnEviction(t *testing.T) {
	team := preemptible(t, 3*time.Second, nodes(1, 8))
	for i, moment := range moments {
		low := team.submit(job(fmt.Sprint("low-", i), gpus(8), walltime("1h"), stopsIn(2*time.Second, 20*time.Second),
			annotated(v1alpha1.CheckpointAnnotation, "annotation")))
		low.mustRun()
		high := team.submit(job(fmt.Sprint("high-", i), gpus(8), walltime("10m"), through(urgent)))
		eventually(t, patience, "the eviction is "+moment.name, func() (string, bool) { return describe(low.record()), moment.seen(low, high) })
		team.controllerDies()
		kept := high.record().Status.Nomination
		team.controllerStarts()
		qw := high.mustRun()
		high.mustStartAfter(low)
		if kept != nil && qw.Status.Allocation.Via != "Preemption" {
			t.Errorf("killed when %s: high had a place kept and started via %s", moment.name, qw.Status.Allocation.Via)
		}
		high.finish()
		high.mustEnd("Completed")
		low.mustRun()
		low.mustHaveBeenTakenBack(high)
		low.finish()
		low.mustEnd("Completed")
	}
}
