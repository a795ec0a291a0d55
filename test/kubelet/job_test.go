//go:build linux

package kubelet

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/test/kubelet/kit"
)

// trait is something that a job's author writes into its manifest.
type trait func(*batchv1.Job)

// job is a Job through the team's queue that takes both nodes whole, with a pod
// on each. Its pods work until SIGTERM and then leave at once, unless its
// traits say otherwise.
func (t *team) job(name string, traits ...trait) *batchv1.Job {
	name = t.name + "-" + name // the evidence lies side by side
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: new(int64(10)),
		Containers: []corev1.Container{{
			Name:            "main",
			Image:           kit.TrapImage,
			ImagePullPolicy: corev1.PullNever,
			Env:             []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "evidence", MountPath: "/evidence"},
				{Name: "podinfo", MountPath: "/podinfo"},
			},
		}},
		Volumes: []corev1.Volume{
			{Name: "evidence", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: evidenceDir}}},
			{Name: "podinfo", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "annotations", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations"}},
			}}}},
		},
	}}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   t.name,
			Name:        name,
			Labels:      map[string]string{v1alpha1.QueueLabel: queueName},
			Annotations: map[string]string{v1alpha1.WalltimeAnnotation: "10m"},
		},
		Spec: batchv1.JobSpec{
			CompletionMode: new(batchv1.IndexedCompletion),
			BackoffLimit:   new(int32(0)),
			Template:       template,
		},
	}
	for _, apply := range append([]trait{pods(2), t.asks(unitsPerNode), args("--on", "terminated=leave")}, traits...) {
		apply(job)
	}
	return job
}

// asks is what each pod asks for of the team's resource.
func (t *team) asks(n int) trait {
	return func(j *batchv1.Job) {
		j.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{t.resource: resource.MustParse(fmt.Sprint(n))}
	}
}

// image is what the first container runs, which must be on the nodes.
func image(name string) trait {
	return func(j *batchv1.Job) {
		c := &j.Spec.Template.Spec.Containers[0]
		c.Image, c.ImagePullPolicy = name, corev1.PullNever
	}
}

// pods is the size of the gang.
func pods(n int) trait {
	return func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(n)), new(int32(n)) }
}

// args are those of test/kubelet/trap.
func args(list ...string) trait {
	return func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Args = list }
}

// saves: at SIGTERM the pods save for so long, then leave.
func saves(d time.Duration) trait { return args("--on", "terminated=leave", "--save", d.String()) }

// through names another LocalQueue.
func through(queue string) trait {
	return func(j *batchv1.Job) { j.Labels[v1alpha1.QueueLabel] = queue }
}

// stubborn: the pods have to be killed.
func stubborn(j *batchv1.Job) { args("--on", "terminated=ignore")(j) }

// grace is the pods' own.
func grace(d time.Duration) trait {
	return func(j *batchv1.Job) { j.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(d.Seconds())) }
}

// on is the node that the pods must be on.
func on(node string) trait {
	return func(j *batchv1.Job) {
		j.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	}
}

// ignoring: the Job does not count pods that others have ended. The API server
// demands that such a Job waits for the end of a pod before it makes another.
func ignoring(j *batchv1.Job) {
	j.Spec.PodReplacementPolicy = new(batchv1.Failed)
	j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:          batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}}}
}

// walltime is the promised run time.
func walltime(text string) trait { return annotated(v1alpha1.WalltimeAnnotation, text) }

func annotated(key, value string) trait {
	return func(j *batchv1.Job) { j.Annotations[key] = value }
}
