package apply_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/apply"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// measures registers with the process, so there is one.
var measures = apply.Measures

// office is an applier with an API server that remembers in which order it was
// written to.
type office struct {
	t       *testing.T
	client  client.Client
	applier *apply.Applier

	mu      sync.Mutex
	written []string // workloads, in order
	failed  map[string]int
	heard   []batch.Event
}

// open runs a test on an applier in virtual time.
func open(t *testing.T, names []string, test func(o *office)) {
	t.Helper()
	measures() // outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		o := &office{t: t, failed: map[string]int{}}
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
			if err := add(scheme); err != nil {
				t.Fatal(err)
			}
		}
		builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.QueuedWorkload{})
		for _, name := range names {
			builder = builder.WithObjects(workload(name))
		}
		o.client = builder.WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: o.patch}).Build()
		o.applier = apply.New(apply.Options{
			Client: o.client, Reader: o.client, Clock: clock.RealClock{}, Metrics: measures(),
			Observe: func(e batch.Event) {
				o.mu.Lock()
				defer o.mu.Unlock()
				o.heard = append(o.heard, e)
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { o.applier.Run(ctx) })
		test(o)
		cancel()
		group.Wait()
	})
}

// workload waits; what begins with "run" runs.
func workload(name string) *v1alpha1.QueuedWorkload {
	qw := &v1alpha1.QueuedWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "the-job-" + name, UID: types.UID(name), Controller: new(true)}},
		},
		Spec: v1alpha1.QueuedWorkloadSpec{QueueName: "gpu", PodSets: []v1alpha1.PodSet{{Name: "main", Count: new(int32(1))}}},
	}
	if strings.HasPrefix(name, "run") {
		now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		convert.RecordStart(qw, batch.StartDecision{Allocation: allocation(now)}, now)
	}
	return qw
}

func allocation(start time.Time) batch.Allocation {
	return batch.Allocation{Queue: "gpu", Via: batch.ViaOrder, Start: start, PodSets: []batch.Placement{{PodSet: "main", Hosts: []batch.NodeName{"n0"}}}}
}

func (o *office) patch(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	o.mu.Lock()
	fails := o.failed[object.GetName()] > 0
	if fails {
		o.failed[object.GetName()]--
	} else {
		o.written = append(o.written, object.GetName())
	}
	o.mu.Unlock()
	if fails {
		return errors.New("the server is busy")
	}
	return c.SubResource(sub).Patch(ctx, object, patch, options...)
}

func (o *office) order() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.written)
}

func (o *office) record(name string) *v1alpha1.QueuedWorkload {
	o.t.Helper()
	qw := &v1alpha1.QueuedWorkload{}
	if err := o.client.Get(o.t.Context(), client.ObjectKey{Namespace: "team", Name: name}, qw); err != nil {
		o.t.Fatal(err)
	}
	return qw
}

// notes are the Events about a Job, as "reason: note".
func (o *office) notes(name string) []string {
	o.t.Helper()
	var list eventsv1.EventList
	if err := o.client.List(o.t.Context(), &list); err != nil {
		o.t.Fatal(err)
	}
	var out []string
	for _, e := range list.Items {
		if e.Regarding.Name == "the-job-"+name {
			out = append(out, e.Reason+": "+e.Note)
		}
	}
	return out
}

// preemption is the plan that takes the places of two for a third.
func preemption(now time.Time) batch.Plan {
	plan := batch.Plan{At: now, Nominate: []batch.NominateDecision{{
		ID: "team/preemptor", Nomination: &batch.Nomination{
			Allocation: allocation(now.Add(time.Minute)), Victims: []batch.WorkloadID{"team/run-a", "team/run-b"}, Cause: batch.CausePreempted, Since: now,
		},
	}}}
	for _, victim := range []batch.WorkloadID{"team/run-a", "team/run-b"} {
		plan.Evict = append(plan.Evict, batch.EvictDecision{ID: victim, Eviction: batch.Eviction{
			Notice: batch.Notice{Cause: batch.CausePreempted, By: "team/preemptor", Time: now, Until: now.Add(time.Minute)}, For: "team/preemptor",
		}})
	}
	return plan
}

// TestANominationStandsBeforeItsVictimsAreTold, also if it takes several tries;
// what else there is to say about them waits with it.
func TestANominationStandsBeforeItsVictimsAreTold(t *testing.T) {
	t.Parallel()
	for _, failures := range []int{0, 3} {
		open(t, []string{"preemptor", "run-a", "run-b", "run-c"}, func(o *office) {
			o.failed["preemptor"] = failures
			now := time.Now().UTC()
			plan := preemption(now)
			plan.Ready = []batch.ReadyDecision{{ID: "team/run-a", Ready: true}, {ID: "team/run-c", Ready: true}}
			o.applier.Carry(plan)
			time.Sleep(time.Minute)
			synctest.Wait()
			order := slices.DeleteFunc(o.order(), func(name string) bool { return name == "run-c" })
			slices.Sort(order[1:])
			if diff := cmp.Diff([]string{"preemptor", "run-a", "run-b"}, order); diff != "" {
				t.Errorf("%d failures: written (-want +had):\n%s", failures, diff)
			}
			if n := o.record("preemptor").Status.Nomination; n == nil || len(n.Victims) != 2 {
				t.Errorf("nomination %+v", n)
			}
			for _, name := range []string{"run-a", "run-b"} {
				if n := o.record(name).Status.Notice; n == nil || n.For != "team/preemptor" || n.StopTime != nil {
					t.Errorf("%s: notice %+v", name, n)
				}
			}
		})
	}
}

// A preemptor that is gone keeps nobody from hearing what was decided.
func TestVictimsAreToldThoughThePreemptorIsGone(t *testing.T) {
	t.Parallel()
	open(t, []string{"run-a", "run-b"}, func(o *office) {
		o.applier.Carry(preemption(time.Now().UTC()))
		time.Sleep(time.Second)
		synctest.Wait()
		for _, name := range []string{"run-a", "run-b"} {
			if o.record(name).Status.Notice == nil {
				t.Errorf("%s was not told", name)
			}
		}
	})
}

// TestB52EverybodyIsToldWhatToExpect: the victim by whom and until when, the
// preemptor whom it waits for, by the names that people know.
func TestB52EverybodyIsToldWhatToExpect(t *testing.T) {
	t.Parallel()
	open(t, []string{"preemptor", "run-a", "run-b"}, func(o *office) {
		now := time.Now().UTC()
		o.applier.Carry(preemption(now))
		time.Sleep(time.Second)
		o.applier.Carry(batch.Plan{At: now.Add(time.Minute), Stop: []batch.StopDecision{{ID: "team/run-a", At: now.Add(30 * time.Second)}, {ID: "team/run-b", At: now.Add(time.Minute)}}})
		time.Sleep(time.Second)
		o.applier.Carry(batch.Plan{At: now.Add(2 * time.Minute), Requeue: []batch.RequeueDecision{{ID: "team/run-a", Restarts: 1}}})
		time.Sleep(time.Second)
		synctest.Wait()
		for _, want := range []struct{ name, text string }{
			{"run-a", "Noticed: preempted by team/preemptor; its pods run on until 2000-01-01T00:01:00Z at the latest"},
			{"run-a", "(1m to save its work)"},
			{"run-a", "Stopping: all its pods have acknowledged the notice"},
			{"run-a", "Requeued: "},
			{"run-b", "Stopping: its grace is over"},
			{"preemptor", "Preempting: a place is kept for it; it starts there when these are gone, at 2000-01-01T00:01:00Z at the latest: team/the-job-run-a, team/the-job-run-b"},
		} {
			if notes := o.notes(want.name); !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, want.text) }) {
				t.Errorf("%s was told %q, want %q in it", want.name, notes, want.text)
			}
		}
	})
}

// TestADecisionIsWrittenOnce: what comes again after a restart changes nothing.
func TestADecisionIsWrittenOnce(t *testing.T) {
	t.Parallel()
	open(t, []string{"preemptor", "run-a", "run-b"}, func(o *office) {
		now := time.Now().UTC()
		for range 3 {
			o.applier.Carry(preemption(now))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		counts := map[string]int{}
		for _, name := range o.order() {
			counts[name]++
		}
		if diff := cmp.Diff(map[string]int{"preemptor": 1, "run-a": 1, "run-b": 1}, counts); diff != "" {
			t.Errorf("writes (-want +had):\n%s", diff)
		}
	})
}

// What is decided about a run that is over is void.
func TestNothingIsTakenBackThatHoldsNothing(t *testing.T) {
	t.Parallel()
	open(t, []string{"waits"}, func(o *office) {
		now := time.Now().UTC()
		o.applier.Carry(batch.Plan{
			At:     now,
			Evict:  []batch.EvictDecision{{ID: "team/waits", Eviction: *batch.EvictedAtOnce(batch.Notice{Cause: batch.CauseDrained, Time: now})}},
			Stop:   []batch.StopDecision{{ID: "team/waits", At: now}},
			Notify: []batch.NotifyDecision{{ID: "team/waits", Notice: batch.Notice{Cause: batch.CauseWalltime, Time: now}}},
		})
		time.Sleep(time.Second)
		synctest.Wait()
		if qw := o.record("waits"); qw.Status.Notice != nil || convert.Evicted(qw) {
			t.Errorf("status %s", fmt.Sprint(qw.Status))
		}
	})
}
