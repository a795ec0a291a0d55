package apply

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/metrics"
)

// Measures registers with the process, so there is one for all tests.
var Measures = sync.OnceValue(metrics.New)

var start = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

// server is an API server of QueuedWorkloads, and the cache in front of it,
// which may be behind.
type server struct {
	client.Client // what is not written below is not used

	stored map[types.NamespacedName]*v1alpha1.QueuedWorkload
	cached map[types.NamespacedName]*v1alpha1.QueuedWorkload
	behind bool // the cache does not see what is written
	fail   []error
	during func() // what happens while the next status is being written
	tries  int
	writes int
}

func newServer(workloads ...*v1alpha1.QueuedWorkload) *server {
	s := &server{stored: map[types.NamespacedName]*v1alpha1.QueuedWorkload{}, cached: map[types.NamespacedName]*v1alpha1.QueuedWorkload{}}
	for _, qw := range workloads {
		s.put(qw)
	}
	return s
}

// put stores an object as the next version.
func (s *server) put(qw *v1alpha1.QueuedWorkload) {
	key := client.ObjectKeyFromObject(qw)
	version := 1
	if old := s.stored[key]; old != nil {
		version, _ = strconv.Atoi(old.ResourceVersion) // it is a number of ours
		version++
	}
	qw.ResourceVersion = strconv.Itoa(version)
	s.stored[key] = qw.DeepCopy()
	if !s.behind {
		s.cached[key] = qw.DeepCopy()
	}
}

// edit is somebody else's write.
func (s *server) edit(name string, edit func(*v1alpha1.QueuedWorkload)) {
	qw := s.stored[types.NamespacedName{Namespace: "lab", Name: name}].DeepCopy()
	edit(qw)
	s.put(qw)
}

// remove deletes a workload; the cache hears of it unless it is behind.
func (s *server) remove(name string) {
	key := types.NamespacedName{Namespace: "lab", Name: name}
	delete(s.stored, key)
	if !s.behind {
		delete(s.cached, key)
	}
}

func (s *server) status(name string) v1alpha1.QueuedWorkloadStatus {
	return s.stored[types.NamespacedName{Namespace: "lab", Name: name}].Status
}

func get(from map[types.NamespacedName]*v1alpha1.QueuedWorkload, key types.NamespacedName, into client.Object) error {
	qw, ok := from[key]
	if !ok {
		return notFound(key.Name)
	}
	qw.DeepCopyInto(into.(*v1alpha1.QueuedWorkload))
	return nil
}

// Get reads from the cache.
func (s *server) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	return get(s.cached, key, into)
}

// Create takes Events.
func (s *server) Create(context.Context, client.Object, ...client.CreateOption) error { return nil }

// Status is how statuses are written.
func (s *server) Status() client.SubResourceWriter { return statusWriter{server: s} }

// live reads from the API server itself.
type live struct {
	client.Reader
	server *server
}

func (l live) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	return get(l.server.stored, key, into)
}

type statusWriter struct {
	client.SubResourceWriter
	server *server
}

// Patch writes a status, if it was computed from the version that is stored.
func (w statusWriter) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	s := w.server
	s.tries++
	if happens := s.during; happens != nil {
		s.during = nil
		happens()
	}
	if len(s.fail) > 0 {
		err := s.fail[0]
		s.fail = s.fail[1:]
		if err != nil {
			return err
		}
	}
	qw := object.(*v1alpha1.QueuedWorkload)
	stored, ok := s.stored[client.ObjectKeyFromObject(qw)]
	if !ok {
		return notFound(qw.Name)
	}
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	var from struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &from); err != nil {
		return err
	}
	if from.Metadata.ResourceVersion != stored.ResourceVersion {
		return apierrors.NewConflict(resource(), qw.Name, nil)
	}
	s.writes++
	after := stored.DeepCopy()
	after.Status = *qw.Status.DeepCopy()
	s.put(after)
	qw.ResourceVersion = after.ResourceVersion
	return nil
}

func resource() schema.GroupResource {
	return schema.GroupResource{Group: "berth.dev", Resource: "queuedworkloads"}
}

func notFound(name string) error { return apierrors.NewNotFound(resource(), name) }

// bench is an Applier whose work is done when the test says so.
type bench struct {
	*Applier
	*server
	t        *testing.T
	observed []batch.Event
}

func newBench(t *testing.T, workloads ...*v1alpha1.QueuedWorkload) *bench {
	t.Helper()
	b := &bench{server: newServer(workloads...), t: t}
	b.Applier = New(Options{
		Client: b.server, Reader: live{server: b.server}, Clock: clocktesting.NewFakePassiveClock(start), Metrics: Measures(),
		Observe: func(e batch.Event) { b.observed = append(b.observed, e) },
	})
	return b
}

// work does all that is queued, what has failed and is tried again included.
func (b *bench) work() {
	b.t.Helper()
	const patience = time.Second // a second try comes after 50 ms, a third after 100
	for begin := time.Now(); time.Since(begin) < patience; {
		switch {
		case b.queue.Len() > 0:
			b.next(b.t.Context())
		case len(b.pending) == 0:
			return
		default:
			time.Sleep(time.Millisecond)
		}
	}
	b.t.Fatalf("what is decided about %d workloads is not written", len(b.pending))
}

// told are the Events since the last time, as "Reason: note".
func (b *bench) told() []string {
	var out []string
	for {
		select {
		case event := <-b.herald.queue:
			out = append(out, event.Reason+": "+event.Note)
		default:
			return out
		}
	}
}

// nextEvent is the first Event that waits to be written.
func (b *bench) nextEvent() *eventsv1.Event {
	b.t.Helper()
	select {
	case event := <-b.herald.queue:
		return event
	default:
		b.t.Fatal("no Event is told")
		return nil
	}
}

func id(name string) batch.WorkloadID { return convert.WorkloadID("lab", name) }

// waiting is a workload that nothing has been said of, and the Job that owns it.
func waiting(name string) *v1alpha1.QueuedWorkload {
	return &v1alpha1.QueuedWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "lab", Name: name, UID: types.UID("uid-" + name),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: "job-of-" + name, UID: types.UID("job-" + name), Controller: new(true),
			}},
		},
		Spec: v1alpha1.QueuedWorkloadSpec{QueueName: "gpu", PodSets: []v1alpha1.PodSet{{Name: "main", Count: new(int32(1))}}},
	}
}

func wait(name string, verdict batch.Verdict) batch.WaitDecision {
	return batch.WaitDecision{ID: id(name), Verdict: verdict}
}

func starts(name string, run int) batch.StartDecision {
	return batch.StartDecision{ID: id(name), Run: run, Allocation: batch.Allocation{
		Queue: "gpu", Via: batch.ViaOrder, Start: at(1), Deadline: at(61),
		PodSets: []batch.Placement{{PodSet: "main", Hosts: []batch.NodeName{"n1"}}},
	}}
}
