package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// pod returns an ordinary Pod as the API server has defaulted it.
func pod(namespace string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "single"},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: new(int64(30)),
			Containers:                    []corev1.Container{{Name: "main", Image: "image"}},
		},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func podQueue(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { set(&p.Labels, v1alpha1.QueueLabel, name) }
}

func ofWorkload(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { set(&p.Labels, v1alpha1.WorkloadLabel, name) }
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { set(&p.Annotations, key, value) }
}

func ownedBy(apiVersion, kind string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{
			APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "u-1", Controller: new(true),
		})
	}
}

func gates(names ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.SchedulingGates = nil
		for _, name := range names {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: name})
		}
	}
}

func podGrace(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

func onNode(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeName = name }
}

// toldLate gives each container the variables whose values come with the release
// of a pod that is a workload of its own, unless it has one of that name.
func toldLate(p *corev1.Pod) {
	for _, containers := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range containers {
			for _, v := range [][2]string{
				{"BERTH_QUEUE", "cluster-queue"},
				{"BERTH_WALLTIME_SECONDS", "walltime-seconds"},
				{"BERTH_DEADLINE", "deadline"},
				{"BERTH_RESTART_COUNT", "restart-count"},
				{"BERTH_LAST_EVICTION", "last-eviction"},
			} {
				if slices.ContainsFunc(containers[i].Env, func(e corev1.EnvVar) bool { return e.Name == v[0] }) {
					continue
				}
				containers[i].Env = append(containers[i].Env, corev1.EnvVar{Name: v[0], ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['berth.dev/" + v[1] + "']"},
				}})
			}
		}
	}
}

// several gives a Pod more containers: one before it, and one with variables of
// its own.
func several(p *corev1.Pod) {
	p.Spec.InitContainers = []corev1.Container{{Name: "prepare", Image: "image"}}
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
		Name: "more", Image: "image", Env: []corev1.EnvVar{{Name: "MINE", Value: "1"}, {Name: "BERTH_DEADLINE", Value: "mine"}},
	})
}

func TestPodPoliciesChangeNewPods(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	single := func(namespace, queue string, seconds int64, changes ...func(*corev1.Pod)) *corev1.Pod {
		return pod(namespace, append([]func(*corev1.Pod){
			podQueue(queue), annotated(v1alpha1.SubmitterAnnotation, alice), gates(v1alpha1.PlacementGate), podGrace(seconds), toldLate,
		}, changes...)...)
	}
	for _, test := range []struct {
		name string
		by   string
		pod  *corev1.Pod
		want *corev1.Pod
	}{
		{"a Pod without a key of ours is not touched", alice, pod(free), pod(free)},
		{"a Pod with a queue is gated, its submitter recorded, its grace raised", alice, pod(free, podQueue("default")), single(free, "default", 120)},
		{"a forged submitter is overwritten", alice, pod(free, podQueue("quick"), annotated(v1alpha1.SubmitterAnnotation, "bob")), single(free, "quick", 30)},
		{
			"gates that are there stay",
			alice, pod(free, podQueue("quick"), gates("example.com/mine")), single(free, "quick", 30, gates("example.com/mine", v1alpha1.PlacementGate)),
		},
		{"our gate is not doubled", alice, pod(free, podQueue("quick"), gates(v1alpha1.PlacementGate)), single(free, "quick", 30)},
		{"in a managed namespace a Pod goes to the default queue", alice, pod(managed), single(managed, "default", 120)},
		{"every container is told", alice, pod(free, podQueue("quick"), several), single(free, "quick", 30, several, toldLate)},
		{
			"a member of an array too",
			"system:serviceaccount:kube-system:job-controller",
			pod(free, ofWorkload(v1alpha1.ArrayMember), podQueue("quick"), ownedBy("batch/v1", "Job"), gates(v1alpha1.PlacementGate)),
			pod(free, ofWorkload(v1alpha1.ArrayMember), podQueue("quick"), ownedBy("batch/v1", "Job"), gates(v1alpha1.PlacementGate), toldLate),
		},
		{"or to the one that it names", alice, pod(managed, podQueue("quick")), single(managed, "quick", 30)},
		{
			"a service's pods in a managed namespace are nobody's business",
			alice, pod(managed, ownedBy("apps/v1", "ReplicaSet")), pod(managed, ownedBy("apps/v1", "ReplicaSet")),
		},
		{
			"a mirror pod shows what runs already",
			kubelet,
			pod(managed, onNode("n1"), annotated("kubernetes.io/config.mirror", "x")),
			pod(managed, onNode("n1"), annotated("kubernetes.io/config.mirror", "x")),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.pod
			if err := s.admit(test.by, admission.Create, nil, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The pods of a started Job are born with the label and the annotations that
// Berth has put into the template.
func TestPodPolicyGivesGateAndEnvironment(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	fromField := corev1.EnvVar{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}
	got := pod(free, ofWorkload("job-train"), podQueue("default"), ownedBy("batch/v1", "Job"), gates("example.com/mine"),
		annotated(v1alpha1.ClusterQueueAnnotation, "gpu"), annotated(v1alpha1.WalltimeSecondsAnnotation, "3600"),
		annotated(v1alpha1.DeadlineAnnotation, "2026-01-01T00:00:00Z"), annotated(v1alpha1.RestartCountAnnotation, "0"),
		func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{
				{Name: "main", Image: "image", Env: []corev1.EnvVar{{Name: "MINE", Value: "1"}, fromField, {Name: "BERTH_QUEUE", Value: "forged"}}},
				{Name: "sidecar", Image: "image"},
			}
			p.Spec.InitContainers = []corev1.Container{{Name: "prepare", Image: "image"}}
		})
	if err := s.admit(jobs, admission.Create, nil, got); err != nil {
		t.Fatal(err)
	}
	ours := []corev1.EnvVar{
		{Name: "BERTH_WORKLOAD", Value: "job-train"},
		{Name: "BERTH_QUEUE", Value: "gpu"},
		{Name: "BERTH_WALLTIME_SECONDS", Value: "3600"},
		{Name: "BERTH_DEADLINE", Value: "2026-01-01T00:00:00Z"},
		{Name: "BERTH_RESTART_COUNT", Value: "0"},
	}
	wantContainers := []corev1.Container{
		{Name: "main", Image: "image", Env: []corev1.EnvVar{{Name: "MINE", Value: "1"}, fromField, ours[0], ours[1], ours[2], ours[3], ours[4]}},
		{Name: "sidecar", Image: "image", Env: ours},
	}
	if diff := cmp.Diff(wantContainers, got.Spec.Containers); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.Container{{Name: "prepare", Image: "image", Env: ours}}, got.Spec.InitContainers); diff != "" {
		t.Errorf("init containers (-want +got):\n%s", diff)
	}
	wantGates := []corev1.PodSchedulingGate{{Name: "example.com/mine"}, {Name: v1alpha1.PlacementGate}}
	if diff := cmp.Diff(wantGates, got.Spec.SchedulingGates); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
	if submitter, found := got.Annotations[v1alpha1.SubmitterAnnotation]; found {
		t.Errorf("a pod of a Job has a submitter of its own: %s", submitter)
	}
}

func TestPodPolicyWithoutALimit(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	got := pod(free, ofWorkload("job-train"), ownedBy("batch/v1", "Job"), annotated(v1alpha1.ClusterQueueAnnotation, "gpu"))
	if err := s.admit(jobs, admission.Create, nil, got); err != nil {
		t.Fatal(err)
	}
	want := []corev1.EnvVar{{Name: "BERTH_WORKLOAD", Value: "job-train"}, {Name: "BERTH_QUEUE", Value: "gpu"}}
	if diff := cmp.Diff(want, got.Spec.Containers[0].Env); diff != "" {
		t.Errorf("an unlimited run has no deadline in its environment (-want +got):\n%s", diff)
	}
}

func TestPodGuardRefusesNewPods(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, test := range []struct {
		name string
		by   string
		pod  *corev1.Pod
		want string // a part of the message; empty: admitted
	}{
		{"a workload's pod, by the Job controller", jobs, pod(free, ofWorkload("job-x"), ownedBy("batch/v1", "Job")), ""},
		{"the same, where the controllers have one account", "system:kube-controller-manager", pod(free, ofWorkload("job-x"), ownedBy("batch/v1", "Job")), ""},
		{"a pod that joins a workload by itself", alice, pod(free, ofWorkload("job-x"), ownedBy("batch/v1", "Job")), "label berth.dev/workload is written by Berth"},
		{"a pod of no Job that claims a workload", alice, pod(free, ofWorkload("job-x")), "label berth.dev/workload is written by Berth"},
		{"a ReplicaSet's that claims a workload", jobs, pod(free, ofWorkload("job-x"), ownedBy("apps/v1", "ReplicaSet")), "label berth.dev/workload is written by Berth"},
		{
			"the queue on a Deployment's pods", alice, pod(free, podQueue("default"), ownedBy("apps/v1", "ReplicaSet")),
			"on a pod of ReplicaSet owner: only Jobs and Pods without an owner can be queued, ReplicaSet is not supported yet",
		},
		{"the queue on a Job's pods only", jobs, pod(free, podQueue("default"), ownedBy("batch/v1", "Job")), "on the pods of Job owner and not on the Job: put it into the metadata of the Job itself"},
		{"a misspelt annotation", alice, pod(free, podQueue("default"), annotated("berth.dev/waltime", "2h")), "annotation berth.dev/waltime is not known"},
		{"an unknown label", alice, pod(free, func(p *corev1.Pod) { set(&p.Labels, "berth.dev/queue", "x") }), "label berth.dev/queue is not known"},
		{"an option without a queue", alice, pod(free, annotated("berth.dev/walltime", "2h")), "have an effect on queued Jobs and on queued Pods without an owner only"},
		{"a hold that is neither", alice, pod(free, podQueue("default"), annotated("berth.dev/hold", "1")), `annotation berth.dev/hold is "1"`},
		{"an empty queue", alice, pod(free, podQueue("")), `label berth.dev/queue-name is ""`},
		{"sandbox annotations are none of ours", alice, pod(free, annotated("sandbox.berth.dev/runtime", "1m")), ""},
		{"a node of its own elsewhere", alice, pod(free, onNode("n1")), ""},
		{"a node of its own in a managed namespace", alice, pod(managed, onNode("n1"), ownedBy("apps/v1", "ReplicaSet")), "spec.nodeName is n1: in namespace managed"},
		{"a kubelet's pod there", kubelet, pod(managed, onNode("n1"), ownedBy("v1", "Node")), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := message(s.admit(test.by, admission.Create, nil, test.pod))
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestPodGuardProtectsQueuedPods(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	const scheduler = "system:kube-scheduler"
	of := func(changes ...func(*corev1.Pod)) *corev1.Pod { // a Job's pod, gated
		return pod(free, append([]func(*corev1.Pod){ofWorkload("job-x"), ownedBy("batch/v1", "Job"), gates(v1alpha1.PlacementGate)}, changes...)...)
	}
	alone := func(changes ...func(*corev1.Pod)) *corev1.Pod {
		return pod(free, append([]func(*corev1.Pod){
			podQueue("default"), gates(v1alpha1.PlacementGate), annotated(v1alpha1.SubmitterAnnotation, alice),
		}, changes...)...)
	}
	host := func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "n1"} }
	without := func(key string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { delete(p.Labels, key); delete(p.Annotations, key) }
	}
	finalizer := func(p *corev1.Pod) { p.Finalizers = []string{"batch.kubernetes.io/job-tracking"} }
	for _, test := range []struct {
		name     string
		by       string
		old, new *corev1.Pod
		want     string // a part of the message; empty: admitted
	}{
		{"Berth tells a pod its host", berth, of(), of(host, gates()), ""},
		{"a person lets a pod go", alice, of(), of(gates()), "scheduling gate berth.dev/placement is removed by Berth only"},
		{"a person lets a single Pod go", alice, alone(), alone(gates()), "kubectl get qw -n free shows why it waits"},
		{"the scheduler neither", scheduler, of(), of(gates()), "scheduling gate berth.dev/placement is removed by Berth only"},
		{"another's gate is another's", alice, of(gates("example.com/mine", v1alpha1.PlacementGate)), of(), ""},
		{"the workload changed", alice, of(), of(ofWorkload("job-y")), "label berth.dev/workload is written by Berth only"},
		{"the workload removed", alice, of(), of(without(v1alpha1.WorkloadLabel)), "label berth.dev/workload is written by Berth only"},
		{"the workload added", alice, pod(free), pod(free, ofWorkload("job-y")), "label berth.dev/workload is written by Berth only"},
		{"Berth names a single Pod's workload", berth, alone(), alone(ofWorkload("pod-single")), ""},
		{"the submitter changed", alice, alone(), alone(annotated(v1alpha1.SubmitterAnnotation, "bob")), "annotations berth.dev/submitter, rank, cluster-queue, flavor, notice and notice-delivered are written by Berth only"},
		{"the submitter removed", alice, alone(), alone(without(v1alpha1.SubmitterAnnotation)), "annotations berth.dev/submitter, rank, cluster-queue, flavor, notice and notice-delivered are written by Berth only"},
		{"Berth gives a rank", berth, of(), of(annotated("berth.dev/rank", "3")), ""},
		{"a forged rank", alice, of(), of(annotated("berth.dev/rank", "3")), "annotation berth.dev/rank is not known"},
		{"another rank", alice, of(annotated("berth.dev/rank", "3")), of(annotated("berth.dev/rank", "0")), "rank, cluster-queue, flavor, notice and notice-delivered are written by Berth only"},
		{"the Job controller touches a ranked pod", jobs, of(annotated("berth.dev/rank", "3"), finalizer), of(annotated("berth.dev/rank", "3")), ""},
		{"a forged notice", alice, of(), of(annotated(v1alpha1.NoticeAnnotation, "{}")), "annotation berth.dev/notice is not known"},
		{"the notice taken away", alice, of(annotated(v1alpha1.NoticeAnnotation, "{}")), of(), "notice-delivered are written by Berth only"},
		{"Berth gives notice", berth, of(), of(annotated(v1alpha1.NoticeAnnotation, "{}")), ""},
		{"its program says that it has saved", "system:serviceaccount:free:train", of(), of(annotated(v1alpha1.CheckpointedAtAnnotation, "2026-01-05T14:00:00.5+01:00")), ""},
		{"its program says it in other words", "system:serviceaccount:free:train", of(), of(annotated(v1alpha1.CheckpointedAtAnnotation, "now")), "write the time with its zone"},
		{"another queue while it waits", alice, alone(), alone(podQueue("quick")), ""},
		{"another queue while it runs", alice, alone(gates()), alone(gates(), podQueue("quick")), "can change to another LocalQueue while the Pod waits, and not otherwise"},
		{"no queue", alice, alone(), alone(without(v1alpha1.QueueLabel)), "delete the Pod"},
		{"a queue for a Pod that has none", alice, pod(free), pod(free, podQueue("default")), "cannot be added to a Pod that exists"},
		{"a bad walltime", alice, alone(), alone(annotated("berth.dev/walltime", "soon")), `annotation berth.dev/walltime is "soon"`},
		{"the Job controller takes its finalizer off", jobs, of(finalizer, gates()), of(gates()), ""},
		{
			"an old offender is touched", jobs,
			of(annotated("berth.dev/nonsense", "1"), annotated("berth.dev/walltime", "soon"), finalizer),
			of(annotated("berth.dev/nonsense", "1"), annotated("berth.dev/walltime", "soon")), "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := message(s.admit(test.by, admission.Update, test.old, test.new))
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
