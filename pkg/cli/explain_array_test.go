package cli

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnArrayIsToldInNumbers(t *testing.T) {
	t.Parallel()
	sweep := func(status batchv1.JobStatus) *batchv1.Job {
		return &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "sweep"},
			Spec:       batchv1.JobSpec{Completions: new(int32(100)), Parallelism: new(int32(12))},
			Status:     status,
		}
	}
	for _, c := range []struct {
		name    string
		status  batchv1.JobStatus
		waiting []string
		want    string
	}{
		{
			"some of each",
			batchv1.JobStatus{Succeeded: 20, FailedIndexes: new("3,7-8"), Active: 12},
			[]string{"sweep-24", "sweep-25"},
			`lab/sweep is an array of 100 members: 20 completed, 3 failed, 10 started, 2 waiting, 65 not made yet
At most 12 exist at a time (spec.parallelism of the Job); the next are made as others end.
Why one of them waits: kubectl berth explain sweep-24 -n lab
`,
		},
		{
			"a quota lets 4 of 12 be made",
			batchv1.JobStatus{Active: 4},
			nil,
			`lab/sweep is an array of 100 members: 4 started, 96 not made yet
At most 12 exist at a time (spec.parallelism of the Job); the next are made as others end.
8 that may exist now do not. What keeps their pods from being made: kubectl events --for=job/sweep -n lab
`,
		},
		{
			"all have ended",
			batchv1.JobStatus{Succeeded: 99, FailedIndexes: new("0")},
			nil,
			"lab/sweep is an array of 100 members: 99 completed, 1 failed\n",
		},
	} {
		var out bytes.Buffer
		printArray(&out, sweep(c.status), c.waiting)
		if diff := cmp.Diff(c.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
