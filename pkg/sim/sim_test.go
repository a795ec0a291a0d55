package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
)

// story is a file with nodes of 8 GPUs, a queue, and these jobs.
func story(nodes int, jobs ...scenario.Job) *scenario.File {
	f := &scenario.File{Name: "story", Start: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), Jobs: jobs}
	for i := range nodes {
		f.Nodes = append(f.Nodes, batch.Node{
			Name: batch.NodeName([]string{"n0", "n1", "n2", "n3"}[i]), Ready: true,
			Capacity: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 110},
		})
	}
	f.Objects = []scenario.Object{
		{Kind: "ClusterQueue", Name: "default", Seen: batch.QueueObserved{Queue: batch.Queue{Name: "default", State: batch.QueueUp, Tier: 1}}},
		{Kind: "LocalQueue", Namespace: "default", Name: "default", Seen: batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{
			Name: "default/default", Queues: []batch.QueueName{"default"},
		}}},
	}
	return f
}

func work(name string, at, walltime time.Duration) scenario.Job {
	id := scenario.JobID("default", name)
	return scenario.Job{At: at, Workload: batch.Workload{
		ID: id, UID: string(id), Namespace: "default", Name: name, LocalQueue: "default/default", Walltime: batch.Walltime(walltime),
		PodSets: []batch.PodSet{{Name: "main", Count: 1, Requests: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 1}}},
	}}
}

func TestWhatHappensAtOneInstantHappensInOrder(t *testing.T) {
	t.Parallel()
	var a agenda
	var got []string
	say := func(word string) func() { return func() { got = append(got, word) } }
	a.add(2, causeEnd, say("later"))
	a.add(1, causeEdit, say("edit"))
	a.add(1, causeSubmit, say("submit 1"))
	a.add(1, causeEvent, say("event"))
	a.add(1, causeSubmit, say("submit 2"))
	a.add(1, causeEnd, say("end"))
	for {
		item, ok := a.take(1)
		if !ok {
			break
		}
		item.do()
	}
	if diff := cmp.Diff([]string{"end", "event", "submit 1", "submit 2", "edit"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at, more := a.next(); !more || at != 2 {
		t.Errorf("next is %s, %t", at, more)
	}
}

func TestTheEventLogIsOneObjectALine(t *testing.T) {
	t.Parallel()
	var got []string
	long := work("a", 0, time.Hour)
	long.Runtime = 30 * time.Minute
	_, err := Run(story(1, long, work("b", time.Minute, time.Hour)), Options{Log: func(e Entry) {
		text, err := json.Marshal(e)
		if err != nil {
			t.Error(err)
		}
		got = append(got, string(text))
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"t":0,"event":"submit","job":"default/a"}`,
		`{"t":0,"event":"start","job":"default/a","run":1,"via":"Order","nodes":{"n0":1},"order":["n0"],"until":3600,"queue":"default"}`,
		`{"t":60,"event":"submit","job":"default/b"}`,
		`{"t":60,"event":"plan","job":"default/b","plannedStart":"1h"}`,
		`{"t":60,"event":"wait","job":"default/b","reason":"Resources",`,
		`{"t":1800,"event":"end","job":"default/a","state":"Completed"}`,
		`{"t":1800,"event":"start","job":"default/b","run":1,"via":"Order","nodes":{"n0":1},"order":["n0"],"until":5400,"queue":"default"}`,
		`{"t":5400,"event":"end","job":"default/b","state":"Completed"}`,
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines:\n%s", len(got), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("line %d is\n%s, want\n%s", i, got[i], want[i])
		}
	}
}

// A detail that a field of the log can be null must say so.
func TestNoLimitAndNoPlanAreNull(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		entry Entry
		want  string
	}{
		{Entry{At: 1500 * time.Millisecond, Event: EventPlan, Job: "a/b", Detail: PlanDetail{}}, `{"t":1.5,"event":"plan","job":"a/b","plannedStart":null}`},
		{Entry{Event: EventNode, Detail: NodeDetail{Node: "n", Change: "added"}}, `{"t":0,"event":"node","node":"n","change":"added"}`},
		{Entry{Event: EventStart, Job: "a/b", Detail: StartDetail{Run: 1}}, `{"t":0,"event":"start","job":"a/b","run":1,"via":"","nodes":null,"order":null,"until":null,"queue":""}`},
	} {
		text, err := json.Marshal(test.entry)
		if err != nil || string(text) != test.want {
			t.Errorf("%s, %v, want %s", text, err, test.want)
		}
	}
}

// The invariants are worth nothing if they never fire.
func TestBreachesAreNoticed(t *testing.T) {
	t.Parallel()
	decision := func(j *job, nodes ...batch.NodeName) batch.StartDecision {
		return batch.StartDecision{ID: j.workload.ID, Allocation: batch.Allocation{
			Queue: "default", Start: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), PodSets: []batch.Placement{{PodSet: "main", Hosts: nodes}},
		}}
	}
	for _, test := range []struct {
		name string
		do   func(w *world, a, b *job)
		want string
	}{
		{"a node is given twice", func(w *world, a, b *job) {
			w.start(decision(a, "n0"))
			w.start(decision(b, "n0"))
		}, "nvidia.com/gpu on node n0: want at most 8, got 16"},
		{"a gang is started in part", func(w *world, a, _ *job) {
			a.workload.PodSets[0].Count = 2
			w.start(decision(a, "n0"))
		}, "pods of default/a in pod set main: want 2 to 2, got 1"},
		{"a workload is started twice", func(w *world, a, _ *job) {
			w.start(decision(a, "n0"))
			w.start(decision(a, "n1"))
		}, "start of default/a: want one allocation, got a second one"},
		{"finished work is started", func(w *world, a, _ *job) {
			w.start(decision(a, "n0"))
			w.end(a, batch.Completed)
			w.start(decision(a, "n0"))
		}, "start of default/a: want work that waits, got work that has ended or is gone"},
		{"a promise is broken", func(w *world, a, _ *job) {
			a.workload.Promise = w.time().Add(-time.Minute)
			w.down = -time.Hour
			w.start(decision(a, "n0"))
		}, "start of default/a by its planned start"},
		{"a planned start moves later for no reason", func(w *world, a, _ *job) {
			w.wait(batch.WaitDecision{ID: a.workload.ID, Verdict: batch.Verdict{Reason: batch.ReasonResources, PlannedStart: w.time().Add(time.Hour)}})
			w.wait(batch.WaitDecision{ID: a.workload.ID, Verdict: batch.Verdict{Reason: batch.ReasonResources, PlannedStart: w.time().Add(2 * time.Hour)}})
		}, "planned start of default/a, which nothing is said to have moved: want 1h, got 2h"},
		{"a wait has no reason", func(w *world, a, _ *job) {
			w.wait(batch.WaitDecision{ID: a.workload.ID})
		}, "reason of default/a: want one of the closed set, got none"},
		{"one plan starts and ends a workload", func(w *world, a, _ *job) {
			w.checkBuckets(batch.Plan{
				Start:  []batch.StartDecision{decision(a, "n0")},
				Finish: []batch.FinishDecision{{ID: a.workload.ID}},
			})
		}, "buckets of default/a in one plan: want one, got finished and started"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := story(2, work("a", 0, time.Hour), work("b", 0, time.Hour))
			file.Jobs[0].Workload.PodSets[0].Requests = batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 1}
			w := newWorld(file, Options{})
			w.begin()
			w.takeIn()
			test.do(w, w.jobs["default/a"], w.jobs["default/b"])
			if w.breach == nil {
				t.Fatal("nothing is noticed")
			}
			if got := w.breach.String(); !strings.Contains(got, test.want) {
				t.Errorf("noticed %s\nwant    %s", got, test.want)
			}
		})
	}
}

// With a breach a run does not hold, whatever was expected of it.
func TestABreachFailsTheRun(t *testing.T) {
	t.Parallel()
	r := Result{Outcomes: []Outcome{{Hold: true}}}
	if !r.Held() {
		t.Error("a run that holds does not")
	}
	r.Breach = &Breach{At: time.Hour, Event: "end of default/a", Text: "gpus on node n0", Want: "at most 8", Got: "16"}
	if r.Held() {
		t.Error("a run with a breach holds")
	}
	if got, want := r.Breach.String(), "at 1h, after end of default/a: gpus on node n0: want at most 8, got 16"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatCannotBePlayedIsRefusedWhileItIsPlayed(t *testing.T) {
	t.Parallel()
	other := batch.LocalQueueName("default/other")
	for _, test := range []struct {
		name  string
		event scenario.Event
		want  string
	}{
		{"running work is sent to another queue", scenario.Event{Set: &scenario.Edit{Job: "default/a", Queue: &other}}, "job default/a runs"},
		{"a job is edited that was not submitted", scenario.Event{Hold: "default/late"}, "job default/late cannot be edited"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := story(1, work("a", 0, time.Hour), work("late", time.Hour, time.Hour))
			test.event.At = 10 * time.Minute
			file.Events = []scenario.Event{test.event}
			_, err := Run(file, Options{})
			if err == nil || !strings.HasPrefix(err.Error(), "at 10m: "+test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestAnEditThatChangesNothingIsTold: what a cluster refuses, or lets stand without an
// effect, is in the event log and in the notes, and the job goes on as it was.
func TestAnEditThatChangesNothingIsTold(t *testing.T) {
	t.Parallel()
	longer := batch.Walltime(5 * time.Hour)
	for _, test := range []struct {
		name  string
		event scenario.Event
		want  string // empty: it changes something
	}{
		{
			"a walltime above the queue's",
			scenario.Event{Set: &scenario.Edit{Job: "default/a", Walltime: &longer}},
			"default/a: its walltime was edited, and it runs until 2026-01-05T02:00:00Z at the latest all the same: its walltime of 5h is above the 4h that ClusterQueue default allows",
		},
		{"a hold while it runs", scenario.Event{Hold: "default/a"}, "default/a: it can't be held while it runs: it was planned, and started, as it stands; cancel it to end it sooner"},
		{"the walltime of an array", scenario.Event{Set: &scenario.Edit{Job: "default/s-0", Walltime: &longer}}, "default/s-0: its walltime can't be edited: it is of an array, which runs from its release on; submit another"},
		{"a hold while it waits", scenario.Event{Hold: "default/w"}, ""},
		{"the walltime of an array that is held", scenario.Event{Set: &scenario.Edit{Job: "default/held-0", Walltime: &longer}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			member, held := work("s-0", 0, time.Hour), work("held-0", 0, time.Hour)
			member.Workload.Array, held.Workload.Array = &batch.ArrayMember{Name: "s"}, &batch.ArrayMember{Name: "held"}
			held.Workload.Held = true
			file := story(1, work("a", 0, 2*time.Hour), work("w", time.Minute, time.Hour), member, held)
			file.Objects[0].Seen = batch.QueueObserved{Queue: batch.Queue{Name: "default", State: batch.QueueUp, Tier: 1, WalltimeMax: batch.Walltime(4 * time.Hour)}}
			test.event.At = 10 * time.Minute
			file.Events = []scenario.Event{test.event}
			var want, logged []string
			result, err := Run(file, Options{Log: func(e Entry) {
				if e.Event == EventReject {
					logged = append(logged, fmt.Sprintf("at %s, job %s: %s", offsetText(e.At), e.Job, e.Detail.(RejectDetail).Message))
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if test.want != "" {
				want = []string{"at 10m, job " + test.want}
			}
			if diff := cmp.Diff(want, result.Notes) + cmp.Diff(want, logged); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if end := result.Jobs[0].Ended; end == nil || *end != 2*time.Hour {
				t.Errorf("a has ended at %v", end)
			}
		})
	}
}

// Each run of a job is told of once, those that are not over included.
func TestRunsAreToldOf(t *testing.T) {
	t.Parallel()
	endless := work("endless", 0, 0)
	endless.Runtime = scenario.Never
	cancelled := work("cancelled", 0, time.Hour)
	cancelled.CancelAt = 10 * time.Minute
	file := story(2, endless, cancelled, work("next", time.Minute, time.Hour))
	file.Until = 3 * time.Hour
	got := map[string]string{}
	waiting := 0
	_, err := Run(file, Options{
		Ran: func(r Ran) {
			got[string(r.Job)] = r.State + " " + offsetText(r.Start) + "-" + offsetText(r.End)
		},
		Sample: func(s Sample) { waiting = max(waiting, s.Waiting) },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"default/endless": "Running 0s-3h", "default/cancelled": "Cancelled 0s-10m", "default/next": "Completed 10m-1h10m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if waiting != 1 {
		t.Errorf("%d waited at most, want 1", waiting)
	}
}
