package config_test

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/convert"
)

// TestOptionGuard: values of a job's options that mean nothing are refused
// where they are written, with a value that would do.
func TestOptionGuard(t *testing.T) {
	t.Parallel()
	s := newServer(t, granted)
	for _, test := range []struct {
		option, value string
		want          string // a part of the message; empty: admitted
	}{
		{"time-min", "30m", ""},
		{"time-min", "1:00:00", ""},
		{"time-min", "UNLIMITED", "write the shortest limit that will do"},
		{"time-min", "0", "write the shortest limit that will do"},
		{"begin", "2026-01-05T14:00:00Z", ""},
		{"begin", "2026-01-05T14:00:00+01:00", ""},
		{"begin", "tomorrow", "write a time with its zone, such as 2026-01-05T14:00:00Z"},
		{"begin", "2026-13-05T14:00:00Z", "write a time with its zone"},
		{"begin", "2026-01-05", "write a time with its zone"},
		{"end-before", "2026-01-05T14:00:00Z", ""},
		{"end-before", "", "write a time with its zone"},
		{"after", "afterok:prepare", ""},
		{"after", "afterok:prepare, afterany:b.c,singleton", ""},
		{"after", "afterok:a:b", "(afterok:a,afterok:b and not afterok:a:b)"},
		{"after", "afterok", "write after:NAME, afterok:NAME"},
		{"after", "afterok:Prepare", "write after:NAME, afterok:NAME"},
		{"after", "singleton:x", "write after:NAME, afterok:NAME"},
		{"after", strings.Repeat("after:a,", 32) + "after:a", "at most 32 of them"},
		{"min-pods", "1", ""},
		{"min-pods", "99", "from 1 to its spec.parallelism"},
		{"min-pods", "0", "from 1 to its spec.parallelism"},
		{"min-pods", "-1", "from 1 to its spec.parallelism"},
		{"min-pods", "half", "from 1 to its spec.parallelism"},
		{"array", "yes", "it must be \"true\" or \"false\""},
		{"array", "true", "on a Job with spec.completionMode: Indexed"}, // the Job is not Indexed
		{"exclusive", "Workload", ""},
		{"exclusive", "None", ""},
		{"exclusive", "User", `it must be "Workload"`},
		{"exclusive", "true\n", "must be Workload or None"},
		{"topology", "required=rack", ""},
		{"topology", "required=", "write required=LEVEL"},
		{"topology", "rack", "write required=LEVEL"},
		{"topology", "preferred=rack", "this version does not have preferred and slice yet"},
		{"topology", "required=block,slice=8@rack", "this version does not have preferred and slice yet"},
		{"topology", "required=rack\n", "must be such as required=rack"},
		{"account", "lab", ""},
		{"account", "lab.physics-2", ""},
		{"account", "", "write the name of the Account that is charged"},
		{"account", "Lab", "write the name of the Account that is charged"},
		{"account", "a b", "write the name of the Account that is charged"},
		{"account", strings.Repeat("a", 64), "at most 63"},
		{"account", "lab\n", "must be the name of an Account"},
		{"checkpoint", "term", ""},
		{"checkpoint", "term,every=10m", ""},
		{"checkpoint", "every=1h30m", ""},
		{"checkpoint", "annotation,lead=5m", ""},
		{"checkpoint", "http=:8080", ""},
		{"checkpoint", "http=:65535/checkpoint?now=1, lead=90s", ""},
		{"checkpoint", "", "http=:8080/checkpoint or annotation"},
		{"checkpoint", "usr1", "write how the job hears that it will be ended"},
		{"checkpoint", "signal=KILL", "signal=USR1"},
		{"checkpoint", "http=:70000/x", "http=:8080/checkpoint"},
		{"checkpoint", "http=8080/x", "http=:8080/checkpoint"},
		{"checkpoint", "exec=save.sh", "exec=/save.sh now"},
		{"checkpoint", "annotation,grace=5m", "and after commas lead=5m"},
		{"checkpoint", "annotation,lead=soon", "and after commas lead=5m"},
		{"checkpoint", "annotation,lead=0s", "and after commas lead=5m"},
		{"checkpoint", "annotation\nterm", "without line breaks"},
		{"checkpoint", "term,lead=5m", `write a delivery before it, such as "signal=USR1,lead=5m"`},
		{"checkpoint", "lead=5m", `write a delivery before it, such as "signal=USR1,lead=5m"`},
		{"checkpoint", "annotation,lead=5m,every=1m,lead=6m", "lead can stand there once"},
		{"checkpoint", "annotation,container=main", "container names where a signal or an exec goes, one of main"},
		{"checkpoint", "signal=USR1,container=other", "container names where a signal or an exec goes, one of main"},
		{"cancel", "0", `is "0" on a %KIND that is only being made: it would be ended before it starts, and never run. Leave it out, or write berth.dev/hold: "true"`},
		{"cancel", "2m", "that is only being made"},
		{"cancel", "", `or "0" to end it at once`},
		{"cancel", "now", `or "0" to end it at once`},
		{"cancel", "true", `or "0" to end it at once`},
		{"cancel", "false", `or "0" to end it at once`},
	} {
		t.Run(test.option+"="+test.value, func(t *testing.T) {
			key := "berth.dev/" + test.option
			got := message(s.admit(alice, admission.Create, nil, job(free, queue("default"), annotation(key, test.value))))
			if want := strings.ReplaceAll(test.want, "%KIND", "Job"); (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("a Job: got %q, want %q", got, test.want)
			}
			if test.option == "min-pods" || test.option == "array" {
				if got := message(s.admit(alice, admission.Create, nil, pod(free, podQueue("default"), annotated(key, test.value)))); got == "" {
					t.Errorf("a Pod with %s is let in", test.option)
				}
				return
			}
			got = message(s.admit(alice, admission.Create, nil, pod(free, podQueue("default"), annotated(key, test.value))))
			if want := strings.ReplaceAll(test.want, "%KIND", "Pod"); (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("a Pod: got %q, want %q", got, test.want)
			}
		})
	}
}

// TestTheShortestLimitIsNotAboveTheWalltime: what can be told of two durations is told
// where they are written, whichever of them comes last.
func TestTheShortestLimitIsNotAboveTheWalltime(t *testing.T) {
	t.Parallel()
	s := newServer(t, granted)
	for _, test := range []struct {
		timeMin, walltime string
		refused           bool
	}{
		{"30m", "2h", false},
		{"2h", "2h", false},
		{"120m", "2h", false},
		{"2h1s", "2h", true},
		{"1d", "23h59m59s", true},
		{"1d", "1d12h", false},
		{"36h1m", "1d12h", true},
		{"2h", "UNLIMITED", false},
		{"90", "1h", false}, // minutes, as in Slurm: it is looked at when it is read
		{"30m", "", false},
	} {
		first := []func(*batchv1.Job){queue("default"), suspended, annotation("berth.dev/time-min", test.timeMin)}
		both := first
		if test.walltime != "" {
			both = append(slices.Clip(first), annotation("berth.dev/walltime", test.walltime))
		}
		whole := func() *batchv1.Job { return job(free, both...) } // which is written to when it is made
		const words = "up to that"
		if got := message(s.admit(alice, admission.Create, nil, whole())); (got != "") != test.refused || test.refused && !strings.Contains(got, words) {
			t.Errorf("%s of %s: %q", test.timeMin, test.walltime, got)
		}
		if got := message(s.admit(alice, admission.Update, job(free, first...), whole())); (got != "") != test.refused {
			t.Errorf("%s when %s is written: %q", test.timeMin, test.walltime, got)
		}
		if got := message(s.admit(alice, admission.Update, whole(), whole())); got != "" {
			t.Errorf("%s of %s stands already: %q", test.timeMin, test.walltime, got)
		}
	}
}

// TestWhatThePolicyAdmitsIsRead: the policy and the parser have one grammar.
func TestWhatThePolicyAdmitsIsRead(t *testing.T) {
	t.Parallel()
	s := newServer(t, granted)
	for _, value := range []string{
		"signal=USR1", "signal=SIGUSR1", "signal=USR1,lead=5m,container=main", "exec=/save.sh", "exec=/save.sh a,b, c,lead=5m",
		`exec=/bin/sh -c 'kill -USR1 $(cat /tmp/pid)',container=main`, "http=:1/", "annotation,lead=5m,lead=6m", "exec=/x a,every=5m,container=main,container=main", "annotation , lead=5m , every=10m",
		"signal=", "signal=10", "signal=usr1", "exec=", "exec=x", "exec=/x,lead=soon", "http=:0", "http=:", "http=:65536", "http=:80x",
		"a,term", "term,annotation", "annotation,lead=", "annotation,every=5", "exec=/x,container=", "lead=5m,annotation",
	} {
		refused := message(s.admit(alice, admission.Create, nil, job(free, queue("default"), annotation("berth.dev/checkpoint", value))))
		_, _, err := convert.ParseCheckpoint(value)
		if (refused == "") != (err == nil) {
			t.Errorf("%q: the policy says %q, the parser %v", value, refused, err)
		}
	}
}

// TestExecMustBeGranted: what needs a command to run in a pod is refused where
// it is submitted, unless the installation grants it.
func TestExecMustBeGranted(t *testing.T) {
	t.Parallel()
	plain, grants := newServer(t), newServer(t, granted)
	for _, test := range []struct {
		value string
		needs bool
	}{
		{"signal=USR1", true},
		{"exec=/save.sh", true},
		{"annotation", false},
		{"http=:8080/x", false},
		{"term", false},
	} {
		key := "berth.dev/checkpoint"
		for _, object := range []client{
			job(free, queue("default"), annotation(key, test.value)), pod(free, podQueue("default"), annotated(key, test.value)),
		} {
			got := message(plain.admit(alice, admission.Create, nil, object))
			if (got != "") != test.needs || test.needs && !strings.Contains(got, "config/with-exec") {
				t.Errorf("%s on a %T: %q", test.value, object, got)
			}
		}
		if got := message(grants.admit(alice, admission.Create, nil, job(free, queue("default"), annotation(key, test.value)))); got != "" {
			t.Errorf("%s is refused though exec is granted: %s", test.value, got)
		}
	}
}

func TestACancelStays(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	cancel := func(grace string) func(*batchv1.Job) { return annotation("berth.dev/cancel", grace) }
	running := job(free, queue("default"))
	for _, grace := range []string{"0", "2m", "1d12h"} {
		if got := message(s.admit(alice, admission.Update, running, job(free, queue("default"), cancel(grace)))); got != "" {
			t.Errorf("a running Job can't be cancelled with %s: %s", grace, got)
		}
	}
	for _, after := range []*batchv1.Job{job(free, queue("default")), job(free, queue("default"), cancel("1h"))} {
		if got := message(s.admit(alice, admission.Update, job(free, queue("default"), cancel("2m")), after)); !strings.Contains(got, "can't be taken back") {
			t.Errorf("a cancel is changed to %v: %q", after.Annotations, got)
		}
	}
	if got := message(s.admit(alice, admission.Update, job(free, queue("default"), indexed, annotation("berth.dev/array", "true")),
		job(free, queue("default"), indexed, annotation("berth.dev/array", "true"), cancel("2m")))); got != "" {
		t.Errorf("an array can't be cancelled: %q", got)
	}
	member := func(changes ...func(*corev1.Pod)) *corev1.Pod {
		return pod(free, append([]func(*corev1.Pod){ofWorkload(v1alpha1.ArrayMember), podQueue("default"), ownedBy("batch/v1", "Job")}, changes...)...)
	}
	alone := annotated("berth.dev/cancel", "2m")
	if got := message(s.admit(alice, admission.Update, member(), member(alone))); !strings.Contains(got, "put it on its Job") {
		t.Errorf("a member alone is cancelled: %q", got)
	}
	if got := message(s.admit("system:serviceaccount:kube-system:job-controller", admission.Create, nil,
		pod(free, ownedBy("batch/v1", "Job"), annotated("berth.dev/cancel", "2m")))); strings.Contains(got, "only being made") {
		t.Errorf("a pod can't be made by a template that has what means nothing there: %q", got)
	}
	if got := message(s.admit("system:serviceaccount:berth-system:berth-controller", admission.Update, member(), member(alone))); got != "" {
		t.Errorf("Berth can't pass a cancel on to a member: %q", got)
	}
}

// TestTheAccountOfARunStays: what a run is charged to was settled at its start.
func TestTheAccountOfARunStays(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	lab, office := annotation("berth.dev/account", "lab"), annotation("berth.dev/account", "office")
	if got := message(s.admit(alice, admission.Update, job(free, queue("default"), suspended, lab), job(free, queue("default"), suspended, office))); got != "" {
		t.Errorf("the account of a waiting Job can't be changed: %s", got)
	}
	for _, after := range []*batchv1.Job{job(free, queue("default"), running, office), job(free, queue("default"), running)} {
		got := message(s.admit(alice, admission.Update, job(free, queue("default"), running, lab), after))
		if !strings.Contains(got, "can not be changed while the Job runs") {
			t.Errorf("the account of a running Job is changed to %v: %q", after.Annotations, got)
		}
	}
	if got := message(s.admit(alice, admission.Create, nil, job(free, lab))); !strings.Contains(got, "have an effect on queued Jobs only") {
		t.Errorf("an account on a Job without a queue: %q", got)
	}
}

func indexed(j *batchv1.Job) {
	j.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	j.Spec.Completions = j.Spec.Parallelism
}

func TestArrayStaysAnArray(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	array := annotation("berth.dev/array", "true")
	if got := message(s.admit(alice, admission.Create, nil, job(free, queue("default"), indexed, array))); got != "" {
		t.Errorf("an array is refused: %s", got)
	}
	got := message(s.admit(alice, admission.Update, job(free, queue("default"), indexed, suspended), job(free, queue("default"), indexed, suspended, array)))
	if !strings.Contains(got, "annotation berth.dev/array cannot be changed") {
		t.Errorf("a gang that becomes an array: %q", got)
	}
	wider := func(j *batchv1.Job) { j.Spec.Parallelism = new(*j.Spec.Parallelism + 1) }
	got = message(s.admit(alice, admission.Update, job(free, queue("default"), indexed, array, running), job(free, queue("default"), indexed, array, running, wider)))
	if got != "" {
		t.Errorf("the throttle of an array cannot be raised while it runs: %s", got)
	}
}
