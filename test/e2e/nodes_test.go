package e2e

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

// TestB01GPUsOfADeletedJobStayTakenUntilItsPodsAreGone: `kubectl delete job`
// frees nothing; the end of the pods does.
func TestB01GPUsOfADeletedJobStayTakenUntilItsPodsAreGone(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	low := team.submit(job("low", pods(2), gpus(4), walltime("1h"), stopsIn(6*time.Second, 30*time.Second)))
	low.mustRun()
	high := team.submit(job("high", gpus(8), walltime("1h")))
	high.mustWait("Resources", "0 of 8 nvidia.com/gpu free")
	low.mustUse(low.name, gpu, "8")
	low.mustBeDeleted()
	deleted := time.Now()
	mustHoldUntilItsPodsAreGone(low, "8")
	gone := low.podsGone(soon)
	if gone.Sub(deleted) < 4*time.Second {
		t.Errorf("the pods of low ended %s after their deletion; this test wants them to take 6s", gone.Sub(deleted))
	}
	began, _ := high.bound(1, patience)
	if began.Before(gone) {
		t.Errorf("high was bound %s before the last pod of low was gone", gone.Sub(began))
	}
	team.mustTake(began.Sub(gone), 3*time.Second, "from the end of the last pod of low to the binding of high")
	high.mustRun()
	for _, pod := range high.pods() {
		if pod.Failed || pod.Created.Before(gone) {
			t.Errorf("pod %s of high: failed %v, made %s after the last pod of low was gone", pod.Name, pod.Failed, pod.Created.Sub(gone))
		}
	}
}

// mustHoldUntilItsPodsAreGone waits for the pods of work that was deleted, and
// says that until the first is gone all is shown as used that they hold.
func mustHoldUntilItsPodsAreGone(w *work, gpus string) {
	w.t.Helper()
	all := len(w.hosts())
	eventually(w.t, patience, "the pods of "+w.what()+" are gone", func() (string, bool) {
		// What is used is read first, and the pods from the API server: the
		// history may see the end of a pod later than the controller.
		used, held := w.used(w.name, gpu), w.holding()
		if used != gpus && held == all {
			w.t.Fatalf("%d pods of %s hold %s GPUs, the queue says that %q are used", all, w.what(), gpus, used)
		}
		return fmt.Sprint(held, " pods hold something"), held == 0
	})
}

// holding is how many of its pods hold something, as the API server has it.
func (w *work) holding() int {
	w.t.Helper()
	var list corev1.PodList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.name)); err != nil {
		w.t.Fatalf("list pods: %v", err)
	}
	count := 0
	for i := range list.Items {
		pod := &list.Items[i]
		if owner := metav1.GetControllerOf(pod); owner != nil && owner.UID == w.uid() && pod.Spec.NodeName != "" && !terminal(pod) {
			count++
		}
	}
	return count
}

// TestB01PodThatNeverDies: a pod that is stuck past its grace on a node that
// stays Ready keeps its GPUs, and the reason of whoever waits names it.
func TestB01PodThatNeverDies(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	low := team.submit(job("low", gpus(8), walltime("1h"), stopsIn(time.Second, 2*time.Second)))
	low.mustRun()
	high := team.submit(job("high", gpus(8), walltime("1h")))
	high.mustWait("Resources")
	stuck := low.pod(0).Name
	team.neverDies(stuck)
	low.mustBeDeleted()
	eventually(t, 2*time.Minute, "the reason of high names "+stuck, func() (string, bool) {
		qw := high.record()
		return describe(qw), state(qw) == "Pending" && containsAll(describe(qw), []string{team.name + "/" + stuck})
	})
	high.mustHaveNoPods()
}

// neverDies makes the simulated kubelet believe that it will kill a pod in a
// far future.
func (t *team) neverDies(name string) {
	t.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name}}
	t.edit(pod, func() {
		delete(pod.Annotations, simulate.ExitsAfterAnnotation)
		for _, key := range []string{"terminating-since", "killed-at"} {
			pod.Annotations["sandbox.berth.dev/"+key] = "2099-01-01T00:00:00.000Z"
		}
	})
}

// node is one of the team's nodes as it is.
func (t *team) node(i int) *corev1.Node {
	t.t.Helper()
	node := &corev1.Node{}
	if err := t.client.Get(t.t.Context(), client.ObjectKey{Name: t.nodes[i]}, node); err != nil {
		t.t.Fatalf("read node %s: %v", t.nodes[i], err)
	}
	return node
}

// TestB02EnoughInTotalButOnNoNode: a pod of 2 GPUs waits while two nodes have
// one each, is not started meanwhile, and starts on the node where one more
// becomes free.
func TestB02EnoughInTotalButOnNoNode(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 4))
	extra := team.submit(job("extra", gpus(1), on(team.nodes[0])))
	for i, node := range team.nodes {
		team.submit(job(fmt.Sprint("fill-", i), pods(3-(1-i)), gpus(1), on(node))).mustRun()
	}
	extra.mustRun()
	pair := team.submit(job("pair", gpus(2), walltime("10m")))
	pair.mustWait("Topology", "asks 1 × 2 nvidia.com/gpu", "not on single nodes")
	pair.mustHaveNoPods()
	extra.mustBeDeleted()
	if diff := pair.mustRun(); hostsOf(diff)[0] != team.nodes[0] {
		t.Errorf("pair runs on %s, want %s, where two GPUs are free", hostsOf(diff)[0], team.nodes[0])
	}
	if qw := pair.record(); qw.Status.Restarts != nil || len(qw.Status.Runs) > 0 || len(pair.pods()) != 1 {
		t.Errorf("pair was started more than once: %d pods, %+v", len(pair.pods()), qw.Status)
	}
}

// TestB02GangOfWhichAPartWouldFit: of 20 pods 8 have room; none runs.
func TestB02GangOfWhichAPartWouldFit(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(5, 4))
	for i := range 3 {
		team.submit(job(fmt.Sprint("fill-", i), gpus(4), walltime("10m"), on(team.nodes[i]))).mustRun()
	}
	gang := team.submit(job("gang", pods(20), gpus(1), walltime("10m")))
	gang.mustWait("Resources", "asks 20 × 1 nvidia.com/gpu", "8 of 20", "room for 8 of 20 pods")
	bigger := team.submit(job("bigger", pods(21), gpus(1), walltime("10m")))
	bigger.mustWait("NeverFits", "room for 20 of 21 such pods, even when empty")
	gang.mustHaveNoPods()
	bigger.mustHaveNoPods()
}

// b10 is a pod whose requests are easily misread, what they are, and what is a
// little less.
type b10 struct {
	name     string
	resource corev1.ResourceName
	amount   string
	less     string
	pod      func(*corev1.PodSpec)
}

// TestB10EffectivePodRequest: each pod starts on a node that has exactly what
// it asks for, and never on one that has a little less.
func TestB10EffectivePodRequest(t *testing.T) {
	t.Parallel()
	overhead := &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "b10-overhead"}, Handler: "heavy",
		Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
	}
	cpu := corev1.ResourceCPU
	withOverhead := func(s *corev1.PodSpec) {
		s.RuntimeClassName = &overhead.Name
		s.InitContainers = []corev1.Container{sidecar("1")}
		ask(&s.Containers[0], cpu, "1")
	}
	cases := []b10{
		{"sidecar-before-init", cpu, "300m", "299m", func(s *corev1.PodSpec) {
			setup := corev1.Container{Name: "setup", Image: "setup"}
			ask(&setup, cpu, "200m")
			s.InitContainers = []corev1.Container{sidecar("100m"), setup}
			ask(&s.Containers[0], cpu, "100m")
		}},
		{"sidecar-and-overhead", cpu, "3", "2999m", withOverhead},
		{"limits-only", gpu, "1", "0", func(s *corev1.PodSpec) {
			s.Containers[0].Resources.Limits = corev1.ResourceList{gpu: resource.MustParse("1")}
		}},
		{"init-asks-more", gpu, "4", "3", func(s *corev1.PodSpec) {
			setup := corev1.Container{Name: "setup", Image: "setup"}
			ask(&setup, gpu, "4")
			s.InitContainers = []corev1.Container{setup}
			ask(&s.Containers[0], gpu, "1")
		}},
		{"pod-level", cpu, "2", "1999m", func(s *corev1.PodSpec) {
			s.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{cpu: resource.MustParse("2")}}
			s.Containers = append(s.Containers, corev1.Container{Name: "second", Image: "train"})
			for i := range s.Containers {
				ask(&s.Containers[i], cpu, "500m")
			}
		}},
	}
	team := newTeam(t)
	team.create(overhead)
	t.Cleanup(func() { team.remove(overhead) })
	for _, c := range cases {
		exact := team.addNodes(nodeGroup(1, map[string]string{string(c.resource): c.amount}))
		short := team.addNodes(nodeGroup(1, map[string]string{string(c.resource): c.less}))
		never := team.submit(job(c.name+"-short", with(c.pod), on(short[0])))
		never.mustWait("NeverFits")
		fits := team.submit(job(c.name, with(c.pod), on(exact[0])))
		requests := fits.mustRun().Spec.PodSets[0].Requests
		if got := requests[c.resource]; got.Cmp(resource.MustParse(c.amount)) != 0 {
			t.Errorf("%s: the workload says that a pod asks for %s %s, want %s", c.name, got.String(), c.resource, c.amount)
		}
		never.mustHaveNoPods()
	}
	team.addNodes(nodeGroup(2, map[string]string{"cpu": "3"}))
	team.makeQueue(team.name+"-gang", nil)
	team.makeDoor("gang", team.name+"-gang")
	team.submit(job("gang", pods(2), with(withOverhead), through("gang"))).mustRun()
	team.mustUse(team.name+"-gang", "cpu", "6")
}

// sidecar is an init container that runs as long as the pod.
func sidecar(cpu string) corev1.Container {
	c := corev1.Container{Name: "sidecar", Image: "log", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}
	ask(&c, corev1.ResourceCPU, cpu)
	return c
}

// TestB14WhatElseEatsANode: pods that no queue knows count, and so do the
// slots for pods.
func TestB14WhatElseEatsANode(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodesWith(3, map[string]string{gpu: "8", "pods": "10"}))
	slots, daemon, small := team.nodes[0], team.nodes[1], team.nodes[2]
	var others []*work
	for i := range 9 {
		others = append(others, team.submitPod(unmanaged(fmt.Sprint("other-", i), slots, 0)))
	}
	eater := team.submitPod(unmanaged("daemon", daemon, 2))
	for _, other := range append(others, eater) {
		other.bound(1, patience)
	}

	two := team.submit(job("two-slots", pods(2), on(slots), walltime("10m")))
	two.mustWait("Resources", "1 of 10 pod slots free")
	whole := team.submit(job("whole", gpus(8), on(daemon), walltime("10m")))
	whole.mustWait("Resources", "6 of 8 nvidia.com/gpu free")
	eleven := team.submit(job("eleven", pods(11), on(small), walltime("10m")))
	eleven.mustWait("NeverFits", "room for 10 of 11 such pods")
	for _, w := range []*work{two, whole, eleven} {
		w.mustHaveNoPods()
	}

	others[0].mustBeDeleted()
	two.mustRun()
	eater.mustBeDeleted()
	whole.mustRun()
}

// unmanaged is a pod that goes through no queue.
func unmanaged(name, node string, gpus int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{simulate.ExitsAfterAnnotation: "100ms"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelHostname: node},
			Containers:   []corev1.Container{{Name: "main", Image: "agent"}},
		},
	}
	if gpus > 0 {
		ask(&pod.Spec.Containers[0], gpu, fmt.Sprint(gpus))
	}
	return pod
}

// TestB84ZeroSizeParts: a Job of no pods is paused and charged nothing; one
// that asks for nothing runs.
func TestB84ZeroSizeParts(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	paused := team.submit(job("paused", gpus(1), func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(0)) }))
	paused.mustWait("Held", "paused: its owner asks for 0 pods")
	paused.mustHaveNoPods()
	nothing := team.submit(job("nothing", pods(2)))
	nothing.mustRun()
	team.mustUse(team.name, gpu, "")
	paused.change(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(1)) })
	paused.mustRun()

	done := team.submit(job("done", gpus(1), pods(0)))
	done.mustEnd("Completed")
	done.mustHaveNoPods()
	if log := team.controllerLog(); containsAll(log, []string{"panic"}) {
		t.Errorf("the controller has panicked")
	}
}

// TestRunningJobIsPaused: one that is set to no pods while it runs gives its
// nodes back, says so, and starts again when it asks for some.
func TestRunningJobIsPaused(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	first := team.submit(job("first", pods(2), gpus(4), walltime("10m")))
	first.mustRun()
	first.change(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(0)) })
	first.mustWait("Held", "paused: its owner asks for 0 pods")
	first.podsGone(patience)
	team.mustUse(team.name, gpu, "")
	other := team.submit(job("other", gpus(8), walltime("10m"), runsFor(time.Second)))
	other.mustEnd("Completed")
	first.change(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(2)) })
	qw := first.mustRun()
	if len(qw.Status.Runs) != 1 || qw.Status.Runs[0].By != "its owner asks for 0 pods" {
		t.Errorf("runs on record: %+v, want one that was paused", qw.Status.Runs)
	}
}

// TestEditWhileItWaits: what waits is what the Job says now.
func TestEditWhileItWaits(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	team.submit(job("blocker", pods(2), gpus(8), walltime("1h"))).mustRun()
	edited := team.submit(job("edited", pods(2), gpus(8), walltime("10m")))
	edited.mustWait("Resources", "asks 2 × 8 nvidia.com/gpu")
	edited.change(func(j *batchv1.Job) {
		ask(&j.Spec.Template.Spec.Containers[0], gpu, "4")
		j.Annotations[v1alpha1.WalltimeAnnotation] = "20m"
	})
	qw := edited.mustWait("Resources", "asks 2 × 4 nvidia.com/gpu")
	if qw.Spec.Walltime != "20m" {
		t.Errorf("the workload's walltime is %s, want the 20m of the edit", qw.Spec.Walltime)
	}
}
