package e2e

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

// trait is something that a job's author writes into its manifest.
type trait func(*batchv1.Job)

// job is an Indexed Job of one pod that goes through the team's queue, asks
// for nothing and runs until it is stopped, unless its traits say otherwise.
func job(name string, traits ...trait) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.QueueLabel: queueName}},
		Spec: batchv1.JobSpec{
			CompletionMode: new(batchv1.IndexedCompletion),
			Parallelism:    new(int32(1)),
			Completions:    new(int32(1)),
			BackoffLimit:   new(int32(0)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{simulate.ExitsAfterAnnotation: "100ms"}},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "main", Image: "train"}},
				},
			},
		},
	}
	for _, t := range traits {
		t(job)
	}
	return job
}

// pods is the size of the gang.
func pods(n int) trait {
	return func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(n)), new(int32(n)) }
}

// gpus is what each pod asks for.
func gpus(n int) trait { return requests(gpu, fmt.Sprint(n)) }

// requests is what each pod asks for of a resource.
func requests(name corev1.ResourceName, amount string) trait {
	return func(j *batchv1.Job) {
		ask(&j.Spec.Template.Spec.Containers[0], name, amount)
	}
}

func ask(c *corev1.Container, name corev1.ResourceName, amount string) {
	if c.Resources.Requests == nil {
		c.Resources.Requests, c.Resources.Limits = corev1.ResourceList{}, corev1.ResourceList{}
	}
	c.Resources.Requests[name] = resource.MustParse(amount)
	if name == gpu {
		c.Resources.Limits[name] = resource.MustParse(amount)
	}
}

// walltime is the promised run time.
func walltime(text string) trait { return annotated(v1alpha1.WalltimeAnnotation, text) }

// held keeps the job from starting.
func held(j *batchv1.Job) { annotated(v1alpha1.HoldAnnotation, "true")(j) }

func annotated(key, value string) trait {
	return func(j *batchv1.Job) {
		if j.Annotations == nil {
			j.Annotations = map[string]string{}
		}
		j.Annotations[key] = value
	}
}

// through names another LocalQueue.
func through(queue string) trait {
	return func(j *batchv1.Job) { j.Labels[v1alpha1.QueueLabel] = queue }
}

// unlabelled names no LocalQueue.
func unlabelled(j *batchv1.Job) { delete(j.Labels, v1alpha1.QueueLabel) }

// runsFor is how long its pods run before they exit by themselves.
func runsFor(d time.Duration) trait { return onPods(simulate.RuntimeAnnotation, d.String()) }

// exits is the code with which its pods exit.
func exits(code int) trait { return onPods(simulate.ExitCodeAnnotation, fmt.Sprint(code)) }

// stopsIn is how long its pods take from SIGTERM to their end, and their grace.
func stopsIn(d, grace time.Duration) trait {
	return func(j *batchv1.Job) {
		onPods(simulate.ExitsAfterAnnotation, d.String())(j)
		j.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(grace.Seconds()))
	}
}

func onPods(key, value string) trait {
	return func(j *batchv1.Job) { j.Spec.Template.Annotations[key] = value }
}

// podLabel is a label of its pods.
func podLabel(key, value string) trait {
	return func(j *batchv1.Job) {
		if j.Spec.Template.Labels == nil {
			j.Spec.Template.Labels = map[string]string{}
		}
		j.Spec.Template.Labels[key] = value
	}
}

// on keeps its pods to one node.
func on(node string) trait {
	return func(j *batchv1.Job) {
		j.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	}
}

// class is the PriorityClass of its pods.
func class(name string) trait {
	return func(j *batchv1.Job) { j.Spec.Template.Spec.PriorityClassName = name }
}

// with edits the pods' template.
func with(edit func(*corev1.PodSpec)) trait {
	return func(j *batchv1.Job) { edit(&j.Spec.Template.Spec) }
}
