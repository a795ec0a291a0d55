package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

// TestB37AnElasticJobComesBackWhole: started with fewer pods than it wished for,
// and taken back, it asks for all of them again.
func TestB37AnElasticJobComesBackWhole(t *testing.T) {
	t.Parallel()
	team := preemptible(t, 0, nodes(1, 9))
	low := team.submit(job("low", pods(10), gpus(1), walltime("1h"), annotated(v1alpha1.MinPodsAnnotation, "8")))
	low.mustRun()
	if n := low.holding(); n != 9 {
		t.Fatalf("it runs with %d pods, want the 9 that fit", n)
	}
	high := team.submit(job("high", gpus(9), walltime("10m"), through(urgent)))
	high.mustRun()
	high.mustStartAfter(low)
	team.addNodes(nodeGroup(1, map[string]string{gpu: "1"}))
	high.finish()
	low.mustRun()
	eventually(t, patience, "it runs with all 10", func() (string, bool) {
		n := low.holding()
		return fmt.Sprint(n), n == 10
	})
	if s := low.now().Spec; *s.Parallelism != 10 || *s.Completions != 10 {
		t.Errorf("parallelism %d, completions %d, want what its author wrote", *s.Parallelism, *s.Completions)
	}
}

// TestB39APodThatIsNeverReadyIsAVictim like any other, and is gone before its
// GPU is another's.
func TestB39APodThatIsNeverReadyIsAVictim(t *testing.T) {
	t.Parallel()
	team := preemptible(t, 0, nodes(1, 1))
	broken := team.submit(job("broken", gpus(1), walltime("1h"), onPods(simulate.ReadyAfterAnnotation, "10h")))
	broken.bound(1, patience)
	high := team.submit(job("high", gpus(1), walltime("10m"), through(urgent)))
	high.mustRun()
	high.mustStartAfter(broken)
}

// TestB40WhatHadFinishedDoesNotRunAgain when its node is removed and its pods
// are collected.
func TestB40WhatHadFinishedDoesNotRunAgain(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 5))
	w := team.submit(job("train", pods(10), gpus(1), walltime("1h")))
	w.mustRun()
	ended := 0
	for _, pod := range w.pods() {
		if pod.Node == team.nodes[0] {
			w.finishPod(pod)
			ended++
		}
	}
	eventually(t, patience, "half of it is done", func() (string, bool) {
		n := w.now().Status.Succeeded
		return fmt.Sprint(n), int(n) == ended
	})
	team.remove(team.node(0))
	eventually(t, 3*time.Minute, "the pods of the node are collected", func() (string, bool) {
		left := 0
		for _, pod := range w.pods() {
			if pod.Gone.IsZero() {
				left++
			}
		}
		return fmt.Sprint(left), left == 10-ended
	})
	team.mustUse(team.name, gpu, "5")
	w.finish()
	w.mustEnd("Completed")
	if n := len(w.pods()); n != 10 {
		t.Errorf("it has had %d pods, want 10", n)
	}
}

// TestB45AYoungRunIsLeftAlone until its exempt time is over, counted from when
// its pods were ready.
func TestB45AYoungRunIsLeftAlone(t *testing.T) {
	t.Parallel()
	const exempt = 15 * time.Second
	team := newTeam(t, nodes(1, 8), clusterQueue(func(spec *v1alpha1.ClusterQueueSpec) {
		spec.Preemption = &v1alpha1.QueuePreemption{Mode: v1alpha1.PreemptRequeue, Exempt: "15s"}
	}))
	team.makeQueue(team.name+"-urgent", func(spec *v1alpha1.ClusterQueueSpec) { spec.PriorityTier = new(int32(20)) })
	team.makeDoor(urgent, team.name+"-urgent")
	low := team.submit(job("low", gpus(8), walltime("1h"), onPods(simulate.ReadyAfterAnnotation, "3s")))
	qw := low.mustRun()
	ready := qw.Status.Allocation.ReadyTime
	if ready == nil || ready.Time.Equal(qw.Status.Allocation.StartTime.Time) {
		t.Fatalf("ready at %v, started at %v", ready, qw.Status.Allocation.StartTime)
	}
	high := team.submit(job("high", gpus(8), walltime("10m"), through(urgent)))
	high.mustRun()
	run := low.record().Status.Runs[0]
	if told := run.Notice.Sub(ready.Time); told < exempt || told > exempt+5*time.Second {
		t.Errorf("low was told %s after it was ready, want %s", told, exempt)
	}
}

// TestB69TheLastFreeNode: while one of the two nodes that a gang needs is taken,
// none of its pods is bound; once it is free, both are. Ten rounds of it, or 200
// with BERTH_LONG=1.
func TestB69TheLastFreeNode(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	rounds := 10
	if os.Getenv("BERTH_LONG") != "" {
		rounds = 200 // as the case asks for
	}
	for i := range rounds {
		taken := team.submitPod(unmanaged(fmt.Sprint("taken-", i), team.nodes[i%2], 8))
		taken.bound(1, patience)
		gang := team.submit(job(fmt.Sprint("gang-", i), pods(2), gpus(8), walltime("10m")))
		gang.mustWait("Resources")
		if n := gang.holding(); n != 0 {
			t.Errorf("round %d: %d of 2 pods are bound beside what takes the node", i, n)
		}
		taken.mustBeDeleted()
		gang.bound(2, patience)
		for _, pod := range gang.pods() {
			if gone := taken.podsGone(patience); pod.Bound.Before(gone) {
				t.Errorf("round %d: pod %s was bound before the node was free", i, pod.Name)
			}
		}
		gang.mustBeDeleted()
		gang.podsGone(patience)
	}
}

// TestTheNextRunKnowsOfTheLast: how often it was started again, and why.
func TestTheNextRunKnowsOfTheLast(t *testing.T) {
	t.Parallel()
	team := preemptible(t, 0, nodes(1, 8))
	low := team.submit(job("low", gpus(8), walltime("1h")))
	low.mustRun()
	high := team.submit(job("high", gpus(8), walltime("10m"), through(urgent)))
	high.mustRun()
	high.finish()
	eventually(t, patience, "low runs again", func() (string, bool) { return "", len(low.pods()) == 2 && low.holding() == 1 })
	environment := func(life podLife) map[string]string {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: life.Name}}
		team.edit(pod, func() {})
		out := map[string]string{}
		for _, e := range pod.Spec.Containers[0].Env {
			out[e.Name] = e.Value
		}
		return out
	}
	env := environment(low.pods()[1])
	if env["BERTH_RESTART_COUNT"] != "1" || env["BERTH_LAST_EVICTION"] != "Preempted" || env["BERTH_WALLTIME_SECONDS"] != "3600" || env["BERTH_DEADLINE"] == "" {
		t.Errorf("the second run is told %v", env)
	}
}

// TestANoticeBeforeTheDeadline comes as long before as was asked, to every pod;
// the deadline itself is no eviction.
func TestANoticeBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	w := team.submit(job("train", pods(2), gpus(8), walltime("20s"), annotated(v1alpha1.CheckpointAnnotation, "annotation,lead=10s")))
	w.mustRun()
	eventually(t, patience, "its pods are told", func() (string, bool) {
		all := w.notices()
		told := 0
		for _, n := range all {
			if strings.Contains(n, `"cause":"Walltime"`) {
				told++
			}
		}
		return fmt.Sprint(all), told == 2
	})
	qw := w.mustEnd("Timeout")
	deadline := qw.Status.Allocation.Deadline
	if n := qw.Status.Notice; n == nil || deadline.Sub(n.Time.Time) > 11*time.Second || deadline.Sub(n.Time.Time) < 5*time.Second {
		t.Errorf("the notice is %+v, the deadline %v", n, deadline)
	}
	if len(qw.Status.Runs) != 1 || qw.Status.Runs[0].Cause != "" || qw.Status.Restarts != nil {
		t.Errorf("runs %+v, restarts %v: a deadline is no eviction", qw.Status.Runs, qw.Status.Restarts)
	}
	if c := w.now().Status.Conditions; len(c) == 0 || c[len(c)-1].Reason != batchv1.JobReasonDeadlineExceeded {
		t.Errorf("the Job says %v", c)
	}
}

// TestWhatMayNotWaitAgainEndsAsPreempted: its Job stays there, suspended and as
// its author wrote it; nobody starts it again and nobody deletes it.
func TestWhatMayNotWaitAgainEndsAsPreempted(t *testing.T) {
	t.Parallel()
	team := preemptible(t, 0, nodes(1, 8))
	low := team.submit(job("low", gpus(8), walltime("1h"), annotated(v1alpha1.RequeueAnnotation, "false")))
	before := low.now().Spec.Template
	low.mustRun()
	high := team.submit(job("high", gpus(8), walltime("10m"), through(urgent)))
	high.mustRun()
	high.mustStartAfter(low)
	qw := low.mustEnd("Preempted")
	if run := qw.Status.Runs[0]; run.State != "Preempted" || run.By != team.name+"/high" {
		t.Errorf("its run says %+v", run)
	}
	high.finish()
	high.mustEnd("Completed")
	next := team.submit(job("next", gpus(8), walltime("10m")))
	next.mustRun()
	after := low.now()
	if after.Spec.Suspend == nil || !*after.Spec.Suspend || after.Status.Failed != 0 || len(low.pods()) != 1 {
		t.Errorf("suspended %v, %d failures, %d pods", after.Spec.Suspend, after.Status.Failed, len(low.pods()))
	}
	if diff := gocmp.Diff(before, after.Spec.Template); diff != "" {
		t.Errorf("its template (-before +after):\n%s", diff)
	}
	low.mustHaveEvent("Preempted: preempted by " + team.name + "/high")
}
