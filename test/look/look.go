// Package look is how the suites that run against a real control plane look at
// it: they wait for something to be so, tell what is there, and remember the
// pods that they have seen. It makes and changes nothing; how a suite sets up
// its clusters and its work is its own.
package look

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// poll is how often it is looked.
const poll = 50 * time.Millisecond

// Eventually waits for something to be so; the text is what it looks like now.
func Eventually(t testing.TB, within time.Duration, what string, look func() (saw string, ok bool)) {
	t.Helper()
	begin := time.Now()
	for {
		saw, ok := look()
		if ok {
			return
		}
		if time.Since(begin) > within {
			t.Fatalf("%s: not within %s; what was seen last: %s", what, within, saw)
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%s: the test ended", what)
		case <-time.After(poll):
		}
	}
}

// Workload is a workload in some lines.
func Workload(qw *v1alpha1.QueuedWorkload) string {
	if qw == nil {
		return "no workload"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "workload %s", qw.Name)
	if s := qw.Status.Summary; s != nil {
		fmt.Fprintf(&b, ": %s %s %s", s.State, s.Reason, s.Start)
	}
	for _, c := range qw.Status.Conditions {
		fmt.Fprintf(&b, "\n  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, run := range qw.Status.Runs {
		fmt.Fprintf(&b, "\n  run %+v", run)
	}
	return b.String()
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// slugMax leaves room in a name for a number, and for what hangs on it.
const slugMax = 40

// Slug is a test's name as part of the name of a namespace: its end, which tells
// the cases of a test apart.
func Slug(name string) string {
	text := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(strings.TrimPrefix(name, "Test")), "-"), "-")
	return strings.Trim(text[max(0, len(text)-slugMax):], "-")
}

// Sight is what is done with a pod that is seen; gone says that it was there.
type Sight func(pod *corev1.Pod, gone bool)

// Pods tells of every pod, from now on and for as long as the context lives, and
// returns when it has told of those that are there. The cache has them, and
// objects of the other kinds, as they are.
func Pods(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, see Sight, others ...client.Object) (cache.Cache, error) {
	watched, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	pods, err := watched.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	_, err = pods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { see(object.(*corev1.Pod), false) },
		UpdateFunc: func(_, object any) { see(object.(*corev1.Pod), false) },
		DeleteFunc: func(object any) {
			if unknown, lost := object.(toolscache.DeletedFinalStateUnknown); lost {
				object = unknown.Obj
			}
			see(object.(*corev1.Pod), true)
		},
	})
	if err != nil {
		return nil, err
	}
	for _, kind := range others {
		if _, err := watched.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return nil, err
		}
	}
	go watched.Start(ctx) //nolint:errcheck // it ends with the context
	if !watched.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("watch the cluster: %w", context.Cause(ctx))
	}
	return watched, nil
}
