package perf

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox"
)

const (
	gangPods = 32
	gangGPUs = 8
	patience = 2 * time.Minute
)

// number reads a size from the environment, so that a quick look need not
// take the time of a measurement.
func number(t *testing.T, name string, normal int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return normal
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q; it must be a whole number above 0", name, text)
	}
	return n
}

// TestGangOf32On1000Nodes measures the time from the creation of a Job of 32
// pods with 8 GPUs each to the binding of its last pod: queued by Berth, and
// the same Job without a queue whose 32 hosts are given beforehand. Rounds of
// the two alternate.
func TestGangOf32On1000Nodes(t *testing.T) {
	nodes, rounds := number(t, "BERTH_PERF_NODES", 1000), number(t, "BERTH_PERF_ROUNDS", 9)
	ctx := t.Context()
	group := sandbox.DefaultNodeGroup(nodes, gangGPUs)
	group.Racks, group.Blocks = max(1, nodes/10), max(1, nodes/50)
	box, err := sandbox.Up(ctx, sandbox.Options{Dir: t.TempDir(), NodeGroups: []sandbox.NodeGroup{group}, Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Down(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	config := box.RESTConfig()
	config.QPS, config.Burst = 1000, 2000
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	hosts := hostNames(t, api)
	var queued, preset []time.Duration
	for round := range rounds + 1 {
		a := measure(t, api, gang(fmt.Sprintf("queued-%d", round), nil))
		b := measure(t, api, gang(fmt.Sprintf("preset-%d", round), hosts[:gangPods]))
		t.Logf("round %d: queued %v, hosts preset %v", round, a.Round(time.Millisecond), b.Round(time.Millisecond))
		if round > 0 { // the first pair warms the caches of both ways
			queued, preset = append(queued, a), append(preset, b)
		}
	}
	p, q := median(queued), median(preset)
	t.Logf("Job created -> last of %d pods bound, %d nodes, %d rounds: queued p50 %v (%v to %v), hosts preset p50 %v (%v to %v), ratio %.2f",
		gangPods, nodes, rounds, ms(p), ms(slices.Min(queued)), ms(slices.Max(queued)), ms(q), ms(slices.Min(preset)), ms(slices.Max(preset)), float64(p)/float64(q))
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func median(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

func hostNames(t *testing.T, api kubernetes.Interface) []string {
	t.Helper()
	list, err := api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

// gang is a Job of 32 pods: queued, or with its hosts given.
func gang(name string, hosts []string) *batchv1.Job {
	spec := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(gangGPUs, resource.DecimalSI)},
		}}},
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(gangPods)), Completions: new(int32(gangPods)), CompletionMode: new(batchv1.IndexedCompletion),
			Template: corev1.PodTemplateSpec{Spec: spec},
		},
	}
	if hosts == nil {
		job.Labels = map[string]string{v1alpha1.QueueLabel: "default"}
		job.Annotations = map[string]string{v1alpha1.WalltimeAnnotation: "1h"}
		return job
	}
	job.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: hosts}},
		}}},
	}}
	return job
}

// measure creates a Job, watches its pods until all are bound, and removes it.
func measure(t *testing.T, api kubernetes.Interface, job *batchv1.Job) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pods, err := api.CoreV1().Pods(job.Namespace).Watch(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer pods.Stop()
	began := time.Now()
	if _, err := api.BatchV1().Jobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bound := map[string]bool{}
	for len(bound) < gangPods {
		event, open := <-pods.ResultChan()
		if !open {
			t.Fatalf("%s: only %d of %d pods were bound in %v", job.Name, len(bound), gangPods, time.Since(began))
		}
		if pod, is := event.Object.(*corev1.Pod); is && pod.Spec.NodeName != "" {
			bound[pod.Name] = true
		}
	}
	took := time.Since(began)
	remove(ctx, t, api, job, pods)
	return took
}

// remove deletes a Job and waits until its pods are gone.
func remove(ctx context.Context, t *testing.T, api kubernetes.Interface, job *batchv1.Job, pods watch.Interface) {
	t.Helper()
	now := int64(0)
	background := metav1.DeletePropagationBackground
	if err := api.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	err := api.CoreV1().Pods(job.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job.Name})
	if err != nil {
		t.Fatal(err)
	}
	for gone := 0; gone < gangPods; {
		event, open := <-pods.ResultChan()
		if !open {
			t.Fatalf("%s: its pods did not go away", job.Name)
		}
		if event.Type == watch.Deleted {
			gone++
		}
	}
}
