package config_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apiserver/pkg/admission"
)

// TestOptionGuard: values of a job's options that mean nothing are refused
// where they are written, with a value that would do.
func TestOptionGuard(t *testing.T) {
	t.Parallel()
	s := newServer(t)
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
		{"begin", "2026-01-05", "write a time with its zone"},
		{"end-before", "2026-01-05T14:00:00Z", ""},
		{"end-before", "", "write a time with its zone"},
		{"after", "afterok:prepare", ""},
		{"after", "afterok:prepare, afterany:b.c,singleton", ""},
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
	} {
		t.Run(test.option+"="+test.value, func(t *testing.T) {
			key := "berth.dev/" + test.option
			got := message(s.admit(alice, admission.Create, nil, job(free, queue("default"), annotation(key, test.value))))
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("a Job: got %q, want %q", got, test.want)
			}
			if test.option == "min-pods" || test.option == "array" {
				if got := message(s.admit(alice, admission.Create, nil, pod(free, podQueue("default"), annotated(key, test.value)))); got == "" {
					t.Errorf("a Pod with %s is let in", test.option)
				}
				return
			}
			got = message(s.admit(alice, admission.Create, nil, pod(free, podQueue("default"), annotated(key, test.value))))
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("a Pod: got %q, want %q", got, test.want)
			}
		})
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
