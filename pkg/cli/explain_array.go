package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/framework"
)

// explainArray tells of an array as a whole, whose members wait and run each
// for itself; false: there is no array of that name.
func explainArray(ctx context.Context, in explainInput) (is bool, err error) {
	job := &batchv1.Job{}
	err = in.reader.Get(ctx, client.ObjectKey{Namespace: in.namespace, Name: in.name}, job)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read Job %s/%s: %w", in.namespace, in.name, err)
	}
	if !framework.IsArray(job) || framework.WaitsWhole(job) {
		return false, nil
	}
	var list v1alpha1.QueuedWorkloadList
	if err := in.reader.List(ctx, &list, client.InNamespace(in.namespace)); err != nil {
		return false, fmt.Errorf("list queuedworkloads: %w", err)
	}
	printArray(in.out, job, waitingMembers(list.Items, in.name))
	return true, nil
}

// waitingMembers are the names of the members of an array that wait.
func waitingMembers(all []v1alpha1.QueuedWorkload, array string) []string {
	var out []string
	for i := range all {
		w := convert.Workload(&all[i])
		if w.Array != nil && w.Array.Name == array && w.Allocation == nil && w.Finished == nil {
			out = append(out, w.Name)
		}
	}
	return out
}

func printArray(out io.Writer, job *batchv1.Job, waiting []string) {
	m := framework.MembersOf(job)
	var parts []string
	add := func(n int, words string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words))
		}
	}
	waits := min(len(waiting), m.Exist)
	add(m.Succeeded, "completed")
	add(m.Failed, "failed")
	add(m.Exist-waits, "started")
	add(waits, "waiting")
	add(m.Unmade(), "not made yet")
	fmt.Fprintf(out, "%s/%s is an array of %d members: %s\n", job.Namespace, job.Name, m.All, strings.Join(parts, ", "))
	if m.Unmade() > 0 {
		fmt.Fprintf(out, "At most %d exist at a time (spec.parallelism of the Job); the next are made as others end.\n", m.AtOnce)
	}
	if n := m.Missing(); n > 0 {
		fmt.Fprintf(out, "%d that may exist now do not. What keeps their pods from being made: kubectl events --for=job/%s -n %s\n", n, job.Name, job.Namespace)
	}
	if len(waiting) > 0 {
		fmt.Fprintf(out, "Why one of them waits: kubectl berth explain %s -n %s\n", waiting[0], job.Namespace)
	}
}
