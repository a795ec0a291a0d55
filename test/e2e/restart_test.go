package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// The tests of this file stop the controller of the shared cluster, so none of
// them is parallel.

// takeover is how long a killed controller's lease keeps its successor out, and
// more.
const takeover = 15 * time.Second

// controllerDies kills the controller; controllerStops ends it in good order.
func (t *team) controllerDies() {
	t.t.Helper()
	t.inspector.excuse(time.Now().Add(takeover))
	if err := t.sandbox.KillController(t.t.Context()); err != nil {
		t.t.Fatal(err)
	}
}

func (t *team) controllerStops() {
	t.t.Helper()
	t.inspector.excuse(time.Now().Add(takeover))
	if err := t.sandbox.StopController(t.t.Context()); err != nil {
		t.t.Fatal(err)
	}
}

// controllerStarts starts it again.
func (t *team) controllerStarts() {
	t.t.Helper()
	if err := t.sandbox.StartController(t.t.Context()); err != nil {
		t.t.Fatal(err)
	}
	t.inspector.excuse(time.Now().Add(takeover))
}

// controllerDecides waits until a plan has been made: a new Job has its answer.
func (t *team) controllerDecides() {
	t.t.Helper()
	probe := t.submit(job(fmt.Sprint("probe-", teams.Add(1)), held))
	eventually(t.t, patience, "the controller answers", func() (string, bool) { return "", state(probe.record()) == "Pending" })
	probe.mustBeDeleted()
	eventually(t.t, patience, "the probe is gone", func() (string, bool) { return "", probe.record() == nil })
}

// whileTheControllerIsDown runs something while there is no controller.
func (t *team) whileTheControllerIsDown(do func()) {
	t.t.Helper()
	t.controllerDies()
	ended := make(chan struct{})
	go func() { // the inspector is patient for as long as it takes
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Second):
				t.inspector.excuse(time.Now().Add(takeover))
			}
		}
	}()
	defer func() {
		close(ended)
		t.controllerStarts()
		t.controllerDecides()
	}()
	do()
}

const kills = 20

// TestKilledAtRandomMoments: the controller is killed 20 times, with SIGKILL
// and at random moments, while work comes and goes. Whatever ran goes on in the
// same pods, nothing starts twice or out of order, nothing that has ended runs
// again, and nothing is stuck.
func TestKilledAtRandomMoments(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("BERTH_E2E_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d; again with: BERTH_E2E_SEED=%d go test -run %s ./test/e2e", seed, seed, t.Name())
	chance := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not for secrets

	team := newTeam(t, nodes(6, 8))
	witness := team.submit(job("witness", pods(2), gpus(8), walltime("1h"), onAny(team.nodes[:2])))
	ended := team.submit(job("ended", gpus(8), walltime("1h"), runsFor(time.Second)))
	endedBefore := ended.mustEnd("Completed")
	witness.mustRun()
	ran := witness.pods()

	var all []*work
	more := func(n int) {
		for range n {
			size, each := 1+chance.IntN(4), []int{4, 8}[chance.IntN(2)]
			runs := time.Duration(500+chance.IntN(2500)) * time.Millisecond
			all = append(all, team.submit(job(fmt.Sprintf("job-%03d", len(all)), pods(size), gpus(each), walltime("10m"), runsFor(runs))))
		}
	}
	more(6)
	for range kills {
		moment := time.After(time.Duration(chance.IntN(4500)) * time.Millisecond)
		more(1 + chance.IntN(2))
		<-moment
		team.controllerDies()
		if chance.IntN(3) == 0 {
			more(1)
		}
		team.controllerStarts()
	}
	t.Logf("%d jobs in %d lives of the controller", len(all), kills+1)
	for _, w := range all {
		eventually(t, 3*time.Minute, w.what()+" ends", func() (string, bool) {
			qw := w.record()
			return describe(qw), state(qw) == "Completed"
		})
	}
	for _, w := range all {
		mustHaveRunOnce(w)
	}
	if diff := gocmp.Diff(ran, witness.pods()); diff != "" {
		t.Errorf("what ran all the time has other pods than before (-before +after):\n%s", diff)
	}
	if diff := gocmp.Diff(endedBefore.Status, ended.record().Status); diff != "" || len(ended.pods()) != 1 {
		t.Errorf("what had ended before has changed (-before +after):\n%s", diff)
	}
	team.mustUse(team.name, gpu, "16")
}

// onAny keeps a gang to some nodes.
func onAny(nodes []string) trait {
	return with(func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: nodes,
			}}}},
		}}}
	})
}

// mustHaveRunOnce says that each index of a Job had one pod, and that there was
// one run.
func mustHaveRunOnce(w *work) {
	w.t.Helper()
	pods := w.pods()
	var indexes, want []int
	for _, pod := range pods {
		indexes = append(indexes, pod.Index)
		if pod.Failed {
			w.t.Errorf("pod %s failed", pod.Name)
		}
	}
	for i := range int(*w.job.Spec.Parallelism) {
		want = append(want, i)
	}
	if diff := gocmp.Diff(want, indexes); diff != "" {
		w.t.Errorf("%s: pods by index (-want +had):\n%s", w.what(), diff)
	}
	if qw := w.record(); qw.Status.Restarts != nil || len(qw.Status.Runs) != 1 {
		w.t.Errorf("%s: restarts %v, runs %+v: want one run", w.what(), qw.Status.Restarts, qw.Status.Runs)
	}
}

// mustHaveStartedInOrder says that of equal requests the older one was never
// started later: if it was in the queue when the younger one was started. Two
// Jobs of a moment may be taken in in another order, and all times have whole
// seconds.
func mustHaveStartedInOrder(t *testing.T, all []*work) {
	t.Helper()
	byRequest := map[string][]*work{}
	for _, w := range all {
		requests := w.job.Spec.Template.Spec.Containers[0].Resources.Requests[gpu]
		key := fmt.Sprint(*w.job.Spec.Parallelism, "×", requests.String())
		byRequest[key] = append(byRequest[key], w)
	}
	for request, equals := range byRequest {
		slices.SortFunc(equals, func(a, b *work) int {
			return cmp.Or(a.job.CreationTimestamp.Compare(b.job.CreationTimestamp.Time), cmp.Compare(a.what(), b.what()))
		})
		for i, w := range equals[1:] {
			before := equals[i].record()
			queued := before.CreationTimestamp.Add(time.Second)
			if a, b := before.Status.Allocation.StartTime, w.record().Status.Allocation.StartTime; b.Before(&a) && queued.Before(b.Time) {
				t.Errorf("%s: %s came first and started at %v, %s started at %v", request, equals[i].what(), a, w.what(), b)
			}
		}
	}
}

// TestB04FinishedWorkStaysFinished over five restarts, some of them violent;
// what runs keeps its pods, what waits its place and its planned start.
func TestB04FinishedWorkStaysFinished(t *testing.T) {
	team := newTeam(t, nodes(1, 7))
	var ended []*work
	for i := range 10 {
		ended = append(ended, team.submit(job(fmt.Sprintf("ended-%02d", i), gpus(1), walltime("10m"), runsFor(300*time.Millisecond), exits(i%2))))
	}
	for i, w := range ended {
		w.mustEnd([]string{"Completed", "Failed"}[i%2])
	}
	for i := range 5 {
		team.submit(job(fmt.Sprint("runs-", i), gpus(1), walltime("1h"))).mustRun()
	}
	for i := range 5 {
		team.submit(job(fmt.Sprint("waits-", i), gpus(4), walltime("1h"))).mustWait("Resources")
	}
	team.mustUse(team.name, gpu, "5")
	before := team.settled()
	for i := range 5 {
		if i%2 == 0 {
			team.controllerDies()
		} else {
			team.controllerStops()
		}
		team.controllerStarts()
		team.controllerDecides()
		if diff := gocmp.Diff(before, team.picture()); diff != "" {
			t.Fatalf("after restart %d (-before +after):\n%s", i+1, diff)
		}
	}
	team.mustUse(team.name, gpu, "5")
	team.submit(job("new", gpus(2), walltime("10m"))).mustRun()
	for _, w := range ended {
		if n := len(w.pods()); n != 1 {
			t.Errorf("%s has had %d pods", w.what(), n)
		}
	}
}

// picture is what must be the same before and after a restart.
type picture struct {
	Workloads map[string]v1alpha1.QueuedWorkloadStatus
	Pods      []types.UID
	Jobs      map[string]batchv1.JobSpec
}

// settled is the picture when nobody paints it any more: statuses are written
// one after another, after what they tell of has happened.
func (t *team) settled() picture {
	t.t.Helper()
	last := t.picture()
	eventually(t.t, patience, "nothing changes for a second", func() (string, bool) {
		nextSecond(t.t)
		before := last
		last = t.picture()
		diff := gocmp.Diff(before, last)
		return diff, diff == ""
	})
	return last
}

func (t *team) picture() picture {
	t.t.Helper()
	p := picture{Workloads: map[string]v1alpha1.QueuedWorkloadStatus{}, Jobs: map[string]batchv1.JobSpec{}}
	var workloads v1alpha1.QueuedWorkloadList
	var pods corev1.PodList
	var jobs batchv1.JobList
	for _, list := range []client.ObjectList{&workloads, &pods, &jobs} {
		if err := t.client.List(t.t.Context(), list, client.InNamespace(t.name)); err != nil {
			t.t.Fatal(err)
		}
	}
	for _, qw := range workloads.Items {
		p.Workloads[qw.Name] = qw.Status
	}
	for _, pod := range pods.Items {
		p.Pods = append(p.Pods, pod.UID)
	}
	slices.Sort(p.Pods)
	for _, job := range jobs.Items {
		p.Jobs[job.Name] = job.Spec
	}
	return p
}

// TestB16NoWorkloadForAPodThatIsGoing: a Pod that is stuck in its deletion is
// no new work after a restart, and counts against its node.
func TestB16NoWorkloadForAPodThatIsGoing(t *testing.T) {
	team := newTeam(t, nodes(2, 8))
	poison := queuedPod("poison", 8, 0)
	poison.Spec.NodeSelector = map[string]string{corev1.LabelHostname: team.nodes[0]}
	poison.Spec.TerminationGracePeriodSeconds = new(int64(1))
	stuck := team.submitPod(poison)
	stuck.mustRun()
	node := team.node(0)
	team.edit(node, func() {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "e2e/broken", Effect: corev1.TaintEffectNoSchedule})
	})
	team.edit(poison, func() { poison.Finalizers = append(poison.Finalizers, "e2e/stuck") })
	defer team.edit(poison, func() { poison.Finalizers = nil })
	team.neverDies("poison")
	stuck.mustBeDeleted()
	record := stuck.mustEnd("Cancelled")
	if err := team.client.Delete(t.Context(), record); err != nil {
		t.Fatalf("delete the workload of the Pod: %v", err)
	}
	eventually(t, soon, "it is gone", func() (string, bool) { return "", stuck.record() == nil })

	team.controllerDies()
	team.controllerStarts()
	var others []*work
	for i := range 5 {
		others = append(others, team.submit(job(fmt.Sprint("job-", i), gpus(8), walltime("10m"), runsFor(500*time.Millisecond))))
	}
	for _, w := range others {
		if qw := w.mustEnd("Completed"); hostsOf(qw)[0] != team.nodes[1] {
			t.Errorf("%s ran on %s, where the stuck Pod is", w.what(), hostsOf(qw)[0])
		}
	}
	var list v1alpha1.QueuedWorkloadList
	if err := team.client.List(t.Context(), &list, client.InNamespace(team.name)); err != nil {
		t.Fatal(err)
	}
	if n := len(list.Items); n != 5 {
		t.Errorf("there are %d workloads, want those of the 5 jobs", n)
	}
}

// TestClusterWorksWithoutTheController: while it is down, walltimes hold, plain
// Jobs run, queued Jobs are taken and wait, and what was deleted is freed. All
// that is made up for when it is back.
func TestClusterWorksWithoutTheController(t *testing.T) {
	team := newTeam(t, nodes(2, 8))
	limited := team.submit(job("limited", pods(2), gpus(4), walltime("15s")))
	limited.mustRun()
	deleted := team.submit(job("deleted", gpus(8), walltime("1h")))
	deleted.mustRun()
	var plain, early *work
	team.whileTheControllerIsDown(func() {
		early = team.submit(job("early", pods(2), gpus(8), walltime("10m")))
		plain = team.submit(job("plain", unlabelled, runsFor(time.Second), on(team.nodes[0])))
		if suspended := early.now().Spec.Suspend; suspended == nil || !*suspended {
			t.Errorf("a queued Job starts while there is no controller")
		}
		eventually(t, patience, "the walltime ends the Job", func() (string, bool) {
			conditions := limited.now().Status.Conditions
			return fmt.Sprint(conditions), slices.ContainsFunc(conditions, func(c batchv1.JobCondition) bool {
				return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue && c.Reason == batchv1.JobReasonDeadlineExceeded
			})
		})
		limited.podsGone(soon)
		eventually(t, soon, "the plain Job completes", func() (string, bool) { return "", plain.now().Status.Succeeded == 1 })
		deleted.mustBeDeleted()
		deleted.podsGone(soon)
		early.mustHaveNoPods()
	})
	limited.mustEnd("Timeout")
	early.mustRun()
}

// TestOnlyOneOfTwoControllersDecides: a second controller waits, and takes over
// when the first is gone.
func TestOnlyOneOfTwoControllersDecides(t *testing.T) {
	team := newTeam(t, nodes(2, 8))
	second := team.secondController()
	submit := func(head string) {
		var all []*work
		for i := range 6 {
			all = append(all, team.submit(job(fmt.Sprint(head, i), pods(2), gpus(8), walltime("10m"), runsFor(300*time.Millisecond))))
		}
		for _, w := range all {
			w.mustEnd("Completed")
			mustHaveRunOnce(w)
		}
		mustHaveStartedInOrder(t, all)
	}
	running := team.submit(job("running", gpus(0), walltime("1h")))
	running.mustRun()
	holder := team.leader()
	submit("both-")
	if now := team.leader(); now != holder {
		t.Errorf("the lease went from %s to %s without need", holder, now)
	}
	team.controllerDies()
	submit("second-")
	if now := team.leader(); now == holder {
		t.Errorf("the lease is still with %s, which was killed", holder)
	}
	second()
	team.controllerStarts()
	submit("first-")
	if n := len(running.pods()); n != 1 {
		t.Errorf("running has had %d pods", n)
	}
}
