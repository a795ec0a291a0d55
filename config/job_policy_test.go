package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// job returns an ordinary Job of two pods as the API server has defaulted it.
func job(namespace string, changes ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "train"},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(2)),
			Completions: new(int32(2)),
			Suspend:     new(false),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy:                 corev1.RestartPolicyNever,
				TerminationGracePeriodSeconds: new(int64(30)),
				Containers:                    []corev1.Container{{Name: "main", Image: "image"}},
			}},
		},
	}
	for _, change := range changes {
		change(j)
	}
	return j
}

func set(into *map[string]string, key, value string) {
	if *into == nil {
		*into = map[string]string{}
	}
	(*into)[key] = value
}

func label(key, value string) func(*batchv1.Job) {
	return func(j *batchv1.Job) { set(&j.Labels, key, value) }
}

func annotation(key, value string) func(*batchv1.Job) {
	return func(j *batchv1.Job) { set(&j.Annotations, key, value) }
}

func podLabel(key, value string) func(*batchv1.Job) {
	return func(j *batchv1.Job) { set(&j.Spec.Template.Labels, key, value) }
}

func podAnnotation(key, value string) func(*batchv1.Job) {
	return func(j *batchv1.Job) { set(&j.Spec.Template.Annotations, key, value) }
}

func queue(name string) func(*batchv1.Job) { return label(v1alpha1.QueueLabel, name) }

func suspended(j *batchv1.Job) { j.Spec.Suspend = new(true) }
func running(j *batchv1.Job)   { j.Spec.Suspend = new(false) }

func grace(seconds int64) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.Template.Spec.TerminationGracePeriodSeconds = &seconds }
}

func submitter(name string) func(*batchv1.Job) {
	return annotation(v1alpha1.SubmitterAnnotation, name)
}

func TestJobPoliciesChangeNewJobs(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, test := range []struct {
		name string
		by   string
		job  *batchv1.Job
		want *batchv1.Job
	}{
		{
			"a Job without a key of ours is not touched",
			alice, job(free), job(free),
		},
		{
			"a Job with a queue is suspended, its submitter recorded, its grace raised to the queue's",
			alice, job(free, queue("default")), job(free, queue("default"), suspended, submitter(alice), grace(120)),
		},
		{
			"the grace of a patient Job is not lowered",
			alice, job(free, queue("quick")), job(free, queue("quick"), suspended, submitter(alice), grace(30)),
		},
		{
			"a queue that does not exist (yet) raises no grace and stops nobody",
			alice, job(free, queue("later")), job(free, queue("later"), suspended, submitter(alice)),
		},
		{
			"a forged submitter is overwritten",
			alice, job(free, queue("quick"), submitter("bob")), job(free, queue("quick"), suspended, submitter(alice)),
		},
		{
			"the CronJob controller's Jobs are queued like everybody's",
			cronJobs, job(free, queue("quick")), job(free, queue("quick"), suspended, submitter(cronJobs)),
		},
		{
			"in a managed namespace a Job without a queue goes to the default one",
			alice, job(managed), job(managed, queue("default"), suspended, submitter(alice), grace(120)),
		},
		{
			"in a managed namespace a Job may name its queue",
			alice, job(managed, queue("quick")), job(managed, queue("quick"), suspended, submitter(alice)),
		},
		{
			"a copy of a started Job loses what Berth wrote",
			alice,
			job(free, queue("quick"), annotation(v1alpha1.RestoreAnnotation, "{}"), annotation(v1alpha1.WalltimeAnnotation, "2h"),
				podLabel(v1alpha1.WorkloadLabel, "job-x"), podLabel("mine", "1"),
				podAnnotation(v1alpha1.DeadlineAnnotation, "x"), podAnnotation(v1alpha1.ClusterQueueAnnotation, "x"), podAnnotation("mine", "1")),
			job(free, queue("quick"), suspended, submitter(alice), annotation(v1alpha1.WalltimeAnnotation, "2h"),
				podLabel("mine", "1"), podAnnotation("mine", "1")),
		},
		{
			"also one without a queue, since its pods would wait for ever",
			alice, job(free, podLabel(v1alpha1.WorkloadLabel, "job-x"), podLabel("mine", "1")), job(free, podLabel("mine", "1")),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.job
			if err := s.admit(test.by, admission.Create, nil, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJobGuardRefusesNewJobs(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, test := range []struct {
		name string
		job  *batchv1.Job
		want string // a part of the message; empty: admitted
	}{
		{"sandbox annotations are none of ours", job(free, annotation("sandbox.berth.dev/runtime", "1m")), ""},
		{"all options", job(free, queue("default"), annotation("berth.dev/walltime", "2h"), annotation("berth.dev/hold", "true")), ""},
		{
			"a misspelt annotation", job(free, queue("default"), annotation("berth.dev/waltime", "2h")),
			"annotation berth.dev/waltime is not known: the annotations of a Job are berth.dev/walltime, hold, time-min",
		},
		{"an option of a later version", job(free, queue("default"), annotation("berth.dev/qos", "high")), "annotation berth.dev/qos is not known"},
		{"an annotation that is a label", job(free, label("berth.dev/walltime", "2h")), "label berth.dev/walltime is not known"},
		{"a label that is an annotation", job(free, annotation("berth.dev/queue-name", "x")), "the queue is named by the label berth.dev/queue-name"},
		{"an option without a queue", job(free, annotation("berth.dev/walltime", "2h")), "have an effect on queued Jobs only"},
		{"an option on the template", job(free, queue("default"), podAnnotation("berth.dev/walltime", "2h")), "berth.dev/walltime has no effect in spec.template.metadata"},
		{"the queue on the template", job(free, label("a", "b"), podLabel("berth.dev/queue-name", "default")), "berth.dev/queue-name has no effect in spec.template.metadata"},
		{"the queue on both", job(free, queue("default"), podLabel("berth.dev/queue-name", "default")), ""},
		{"different queues on both", job(free, queue("default"), podLabel("berth.dev/queue-name", "quick")), "berth.dev/queue-name has no effect in spec.template"},
		{"an empty queue", job(free, queue("")), `label berth.dev/queue-name is "": it must be the name of a LocalQueue`},
		{"a queue that can't exist", job(free, queue("Big_One")), `label berth.dev/queue-name is "Big_One"`},
		{"a queue with the longest name", job(free, queue(strings.Repeat("q", 63))), ""},
		{"a hold that is neither", job(free, queue("default"), annotation("berth.dev/hold", "yes")), `annotation berth.dev/hold is "yes": it must be "true"`},
		{"another controller's Job without a queue", job(free, func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/multi") }), ""},
		{
			"a node of its own", job(managed, func(j *batchv1.Job) { j.Spec.Template.Spec.NodeName = "n1" }),
			"spec.template.spec.nodeName is n1: Berth places the pods of a queued Job",
		},
		{"a walltime with a line break", job(free, queue("default"), annotation("berth.dev/walltime", "2h\n")), "annotation berth.dev/walltime is not a walltime: write a duration"},
		{"no pods", job(free, queue("default"), func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(0)) }), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := message(s.admit(alice, admission.Create, nil, test.job))
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Apart from the table, because the schemas that the mutating policies have here
// are older than spec.managedBy.
func TestJobGuardRefusesJobsOfOtherControllers(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for manager, want := range map[string]string{ //order:any each by itself
		"kubernetes.io/job-controller": "",
		"example.com/multi":            "spec.managedBy is example.com/multi: queued Jobs of another controller than kubernetes.io/job-controller are not supported yet",
	} {
		request, err := s.request(alice, admission.Create, nil,
			job(free, queue("default"), suspended, func(j *batchv1.Job) { j.Spec.ManagedBy = &manager }))
		if err != nil {
			t.Fatal(err)
		}
		if got := message(s.validate(request)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", manager, got, want)
		}
	}
}

// With the mutating policies gone a queued Job must not slip past the queue.
func TestJobGuardWithoutTheOtherPolicies(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	request, err := s.request(alice, admission.Create, nil, job(free, queue("default")))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := message(s.validate(request)), "MutatingAdmissionPolicy berth-job-queue sees to: it is missing"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The policies accept the walltimes that Berth reads, and no others: a time that
// only one of them understands would be a Job that waits for ever.
func TestWalltimePolicyAgreesWithTheParser(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, text := range []string{
		"90s", "30m", "2h", "7d", "1d12h", "1d2h3m4s", "0d1h", "9999d", // Berth's form
		"90", "1", "4:00", "30:00", "0:30", "1:00:00", "2-12", "3-0:00", "1-00:00:00", "2-12:00:00", "100:00:00", "0-1", // Slurm's
		"UNLIMITED", "unlimited", "Unlimited", "infinite", // no limit, by a word
		"", "0", "0s", "0:00", "00:00:00", "0-0", // no time, or no limit? refused
		"30:60", "1:60:00", "1:00:60", "2-24", "2-12:60", "1-2-3", "1:2:3:4", ":30", "30:", "-5", "1.5h", "1h30", "30m1h", "1h1h",
		"1D", "2H", "h", "d", "2 h", "two", "none", "UNLIMITED!", "100000000d", "99999999999999999999", "2-", "-", ":",
	} {
		_, err := batch.ParseWalltime(text)
		annotated := annotation(v1alpha1.WalltimeAnnotation, text)
		got := message(s.admit(alice, admission.Create, nil, job(free, queue("default"), annotated)))
		if (got == "") != (err == nil) {
			t.Errorf("Job with walltime %q: the policy says %q, the parser %v", text, got, err)
		}
		if err != nil && !strings.Contains(got, `annotation berth.dev/walltime is "`+text+`": write a duration ("90s", "30m", "2h", "1d12h")`) {
			t.Errorf("Job with walltime %q: message %q", text, got)
		}
		onPod := message(s.admit(alice, admission.Create, nil, pod(free, podQueue("default"), func(p *corev1.Pod) {
			set(&p.Annotations, v1alpha1.WalltimeAnnotation, text)
		})))
		if onPod != got {
			t.Errorf("Pod with walltime %q: got %q, for a Job %q", text, onPod, got)
		}
	}
}

func TestJobGuardProtectsQueuedJobs(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	waiting := func(changes ...func(*batchv1.Job)) *batchv1.Job {
		return job(free, append([]func(*batchv1.Job){queue("default"), suspended, submitter(alice), grace(120)}, changes...)...)
	}
	started := func(changes ...func(*batchv1.Job)) *batchv1.Job {
		return waiting(append([]func(*batchv1.Job){
			running, annotation(v1alpha1.RestoreAnnotation, "{}"),
			podLabel(v1alpha1.WorkloadLabel, "job-train"), podAnnotation(v1alpha1.ClusterQueueAnnotation, "gpu"),
		}, changes...)...)
	}
	without := func(key string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { delete(j.Labels, key); delete(j.Annotations, key) }
	}
	withoutPod := func(key string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { delete(j.Spec.Template.Labels, key); delete(j.Spec.Template.Annotations, key) }
	}
	parallelism := func(n int32) func(*batchv1.Job) { return func(j *batchv1.Job) { j.Spec.Parallelism = &n } }
	deadline := func(seconds int64) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = &seconds }
	}
	finalizer := func(j *batchv1.Job) { j.Finalizers = append(j.Finalizers, "example.com/wait") }
	in := func(namespace string) func(*batchv1.Job) { return func(j *batchv1.Job) { j.Namespace = namespace } }
	offending := []func(*batchv1.Job){
		annotation("berth.dev/nonsense", "1"), annotation("berth.dev/walltime", "sometime"), annotation("berth.dev/hold", "maybe"),
		label("berth.dev/nonsense", "1"), podAnnotation("berth.dev/nonsense", "1"), queue("No_Queue"),
		func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/multi") },
	}
	const byBerthOnly = "spec.suspend can be set to false by Berth only"

	for _, test := range []struct {
		name     string
		by       string
		old, new *batchv1.Job
		want     string // a part of the message; empty: admitted
	}{
		{"a person starts a waiting Job", alice, waiting(), waiting(running), byBerthOnly},
		{"the Job controller neither", jobs, waiting(), waiting(running), byBerthOnly},
		{"Berth starts it", berth, waiting(), started(), ""},
		{"a person stops a running Job", alice, started(), started(suspended), ""},
		{"Berth takes it back and cleans up", berth, started(), waiting(), ""},
		{"a Job without a queue is resumed by its author", alice, job(free, suspended), job(free), ""},

		{"the submitter changed", alice, waiting(), waiting(submitter("bob")), "annotation berth.dev/submitter is written by Berth"},
		{"the submitter removed", alice, waiting(), waiting(without(v1alpha1.SubmitterAnnotation)), "annotation berth.dev/submitter is written by Berth"},
		{"restore forged", alice, waiting(), waiting(annotation(v1alpha1.RestoreAnnotation, "{}")), "annotation berth.dev/restore is written by Berth only"},
		{"restore removed", alice, started(), started(without(v1alpha1.RestoreAnnotation)), "annotation berth.dev/restore is written by Berth only"},
		{"the workload forged", alice, waiting(), waiting(podLabel(v1alpha1.WorkloadLabel, "job-other")), "spec.template.metadata are written by Berth only"},
		{"the queue of the run forged", alice, waiting(), waiting(podAnnotation(v1alpha1.ClusterQueueAnnotation, "top")), "spec.template.metadata are written by Berth only"},
		{"the workload removed", alice, started(), started(suspended, withoutPod(v1alpha1.WorkloadLabel)), "spec.template.metadata are written by Berth only"},

		{
			"a person starts a Job that was cancelled", alice, waiting(annotation("berth.dev/cancel", "0")), started(annotation("berth.dev/cancel", "0")),
			"this Job was cancelled (annotation berth.dev/cancel) and never runs again",
		},
		{
			"an option and another while it runs", alice, started(annotation("berth.dev/begin", "2026-01-01T00:00:00Z")), started(annotation("berth.dev/hold", "true")),
			"annotation berth.dev/hold, berth.dev/begin can not be changed while the Job runs",
		},
		{"the walltime while it runs", alice, started(annotation("berth.dev/walltime", "1h")), started(annotation("berth.dev/walltime", "2h")), ""},
		{
			"the walltime of an array while it runs", alice, started(annotation("berth.dev/array", "true"), annotation("berth.dev/walltime", "1h")),
			started(annotation("berth.dev/array", "true"), annotation("berth.dev/walltime", "2h")), "annotation berth.dev/walltime can not be changed while the Job runs",
		},

		{"another queue while it waits", alice, waiting(), waiting(queue("quick")), ""},
		{"no queue while it waits", alice, waiting(), waiting(without(v1alpha1.QueueLabel)), ""},
		{"another queue while it runs", alice, started(), started(queue("quick")), `cannot change from "default" to "quick" while the Job runs`},
		{"no queue while it runs", alice, started(), started(without(v1alpha1.QueueLabel)), `cannot change from "default" to "" while the Job runs`},
		{
			"no queue while it runs, whereupon the API server copies the template's labels",
			alice, started(), started(without(v1alpha1.QueueLabel), label(v1alpha1.WorkloadLabel, "job-train")),
			`cannot change from "default" to "" while the Job runs`,
		},
		{"a queue for a Job that runs without one", alice, job(free), job(free, queue("default")), `cannot change from "" to "default" while the Job runs`},
		{
			"no queue in a managed namespace", alice, waiting(in(managed)), waiting(in(managed), without(v1alpha1.QueueLabel)),
			"namespace managed is labelled berth.dev/managed=true, every Job in it goes through a queue",
		},

		{"more pods while it waits", alice, waiting(), waiting(parallelism(3)), ""},
		{"fewer pods while it runs", alice, started(), started(parallelism(1)), ""},
		{"more pods while it runs", alice, started(), started(parallelism(3)), "spec.parallelism cannot be raised from 2 to 3 while the Job runs"},
		{"more pods while it runs, by Berth", berth, started(), started(parallelism(3)), ""},
		{"more pods for a Job without a queue", alice, job(free), job(free, parallelism(3)), ""},

		{"a longer run than was granted", alice, started(deadline(60)), started(deadline(61)), "spec.activeDeadlineSeconds cannot be raised or removed while the Job runs: it is 60"},
		{"an endless run", alice, started(deadline(60)), started(), "spec.activeDeadlineSeconds cannot be raised or removed while the Job runs: it is 60"},
		{"a shorter run", alice, started(deadline(60)), started(deadline(30)), ""},
		{"a longer run, by Berth", berth, started(deadline(60)), started(deadline(61)), ""},
		{"a limit where there was none", alice, started(), started(deadline(60)), ""},
		{"a longer limit while it waits", alice, waiting(deadline(60)), waiting(deadline(61)), ""},
		{"a longer limit for a Job without a queue", alice, job(free, deadline(60)), job(free, deadline(61)), ""},

		{"another walltime", alice, waiting(), waiting(annotation("berth.dev/walltime", "2-12")), ""},
		{"a bad walltime", alice, waiting(), waiting(annotation("berth.dev/walltime", "30:60")), `annotation berth.dev/walltime is "30:60"`},
		{"a hold taken back", alice, waiting(annotation("berth.dev/hold", "true")), waiting(), ""},

		{"an old offender gets a finalizer", jobs, waiting(offending...), waiting(append(offending, finalizer)...), ""},
		{"an old offender loses a finalizer", collector, waiting(append(offending, finalizer)...), waiting(offending...), ""},
		{"a running offender is touched", jobs, started(offending...), started(append(offending, finalizer)...), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := message(s.admit(test.by, admission.Update, test.old, test.new))
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A Job that was made without a queue and waits suspended may be given one. It
// is then treated as a new one is: whoever names the queue is the submitter.
func TestJobThatGetsAQueueLater(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	got := job(free, queue("quick"), submitter("bob"), running)
	if err := s.admit(alice, admission.Update, job(free, suspended, submitter("bob")), got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(job(free, queue("quick"), submitter(alice), suspended), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
