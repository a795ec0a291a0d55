package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// liveTolerance is by how much a real time may differ from that of a scenario,
// on a machine that has time.
const liveTolerance = 3 * time.Second

// TestScenario plays the scenarios that are marked live: the same file, the same
// expectations, on a real control plane with the time scaled down. What the
// simulator evicts for whom, and nothing else, must be evicted there.
func TestScenario(t *testing.T) {
	t.Parallel()
	admitter, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob("../scenarios/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, path := range found {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := scenario.Load(path, content, scenario.Options{Admitter: admitter})
		if err != nil {
			t.Fatal(err)
		}
		if !file.Live {
			continue
		}
		played++
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			newShow(t, file).play()
		})
	}
	if played == 0 {
		t.Error("no scenario is marked live")
	}
}

// show is a scenario that is played.
type show struct {
	*team
	file  *scenario.File
	scale float64 // seconds of the scenario in a real one
	nodes map[string]batch.NodeName
	works map[batch.WorkloadID]*work
	began time.Time
}

// newShow makes the cluster of a scenario: its nodes, queues and classes, with
// names that are the team's.
func newShow(t *testing.T, file *scenario.File) *show {
	t.Helper()
	s := &show{
		team: newTeam(t), file: file, scale: file.LiveScale.Seconds(),
		nodes: map[string]batch.NodeName{}, works: map[batch.WorkloadID]*work{},
	}
	for i := range file.Nodes {
		node := &file.Nodes[i]
		amounts := map[string]string{}
		for name, amount := range node.Capacity {
			amounts[string(name)] = fmt.Sprint(amount)
			if name == batch.ResourceCPU {
				amounts[string(name)] += "m"
			}
		}
		s.nodes[s.addNodes(nodeGroup(1, amounts))[0]] = node.Name
	}
	for _, object := range file.Objects {
		s.apply(object)
	}
	if len(file.Events) > 0 || file.Trace != nil {
		t.Fatalf("%s has events or a trace, which are not played live", file.Path)
	}
	return s
}

// apply makes an object of the scenario.
func (s *show) apply(object scenario.Object) {
	s.t.Helper()
	if object.Kind == "LocalQueue" && !s.file.LocalQueues {
		return // the doors that each ClusterQueue has
	}
	if object.Kind != "ClusterQueue" {
		s.t.Fatalf("%s has a %s, which is not played live", s.file.Path, object.Kind)
	}
	queue := &v1alpha1.ClusterQueue{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Raw, queue); err != nil {
		s.t.Fatal(err)
	}
	if len(queue.Spec.Flavors) > 0 || queue.Spec.CohortName != "" || s.file.LocalQueues {
		s.t.Fatalf("%s has flavors, cohorts or LocalQueues, which are not played live", s.file.Path)
	}
	name := s.name + "-" + object.Name
	s.makeQueue(name, func(spec *v1alpha1.ClusterQueueSpec) {
		flavors := spec.Flavors
		*spec = queue.Spec
		spec.Flavors = flavors
		if p := spec.Preemption; p != nil {
			p.Grace, p.Exempt = s.duration(p.Grace), s.duration(p.Exempt)
		}
		if w := spec.Walltime; w != nil {
			w.Default, w.Max, w.Overrun = s.duration(w.Default), s.duration(w.Max), s.duration(w.Overrun)
		}
	})
	s.makeDoor(object.Name, name)
}

// real is a length of time of the scenario as it is played.
func (s *show) real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.scale)
}

func (s *show) duration(text v1alpha1.Duration) v1alpha1.Duration {
	long, err := batch.ParseDuration(string(text))
	if text == "" || err != nil {
		return text
	}
	return v1alpha1.Duration(fmt.Sprintf("%ds", int(math.Ceil(s.real(long).Seconds()))))
}

// job is a job of the scenario as a Job.
func (s *show) job(j *scenario.Job) *work {
	s.t.Helper()
	w := &j.Workload
	if len(w.PodSets) != 1 || w.PodSets[0].MinCount > 0 || len(w.PodSets[0].Selector.Labels)+len(w.PodSets[0].Selector.AnyOf) > 0 || j.Saves != nil || j.CancelAt > 0 || w.Held {
		s.t.Fatalf("%s: job %s has something that is not played live", s.file.Path, w.Name)
	}
	_, door, _ := strings.Cut(string(w.LocalQueue), "/")
	traits := []trait{pods(w.PodSets[0].Count), through(door), exits(map[bool]int{true: 1}[j.Fails])}
	for name, amount := range w.PodSets[0].Requests {
		switch name {
		case batch.ResourcePods:
		case batch.ResourceCPU:
			traits = append(traits, requests("cpu", fmt.Sprintf("%dm", amount)))
		default:
			traits = append(traits, requests(corev1.ResourceName(name), fmt.Sprint(amount)))
		}
	}
	if w.Walltime > 0 {
		traits = append(traits, walltime(fmt.Sprintf("%ds", int(s.real(time.Duration(w.Walltime)).Seconds()))))
	}
	if w.Priority != 0 {
		traits = append(traits, class(s.priorityClass(fmt.Sprintf("p%d", w.Priority), w.Priority)))
	}
	// Who ends at his limit ends by himself, just before it.
	runs := j.Runtime
	if runs == 0 && !j.Instant {
		runs = time.Duration(w.Walltime) - time.Duration(s.scale*float64(time.Second))
	}
	if runs >= 0 {
		traits = append(traits, runsFor(max(s.real(runs), 100*time.Millisecond)))
	}
	if j.Ignores {
		traits = append(traits, ignoresTerm(s.graceOf(door)))
	} else {
		traits = append(traits, stopsIn(max(s.real(j.ExitsAfter), 50*time.Millisecond), 30*time.Second))
	}
	return s.submit(job(w.Name, traits...))
}

// graceOf is the grace of a queue as it is played: a pod that ignores its notice
// has that, and nothing after it.
func (s *show) graceOf(door string) time.Duration {
	for _, object := range s.file.Objects {
		if observed, ok := object.Seen.(batch.QueueObserved); ok && object.Name == door {
			return max(s.real(observed.Queue.Preemption.Grace), time.Second)
		}
	}
	return time.Second
}

// play submits what the scenario submits, waits for the end, and compares.
func (s *show) play() {
	s.t.Helper()
	inOrder := slices.Clone(s.file.Jobs)
	slices.SortStableFunc(inOrder, func(a, b scenario.Job) int { return int(a.At - b.At) })
	s.began = time.Now()
	for i := range inOrder {
		j := &inOrder[i]
		if wait := time.Until(s.began.Add(s.real(j.At))); wait > 0 {
			select {
			case <-time.After(wait):
			case <-s.t.Context().Done():
			}
		}
		s.works[j.Workload.ID] = s.job(j)
	}
	for _, j := range inOrder {
		w := s.works[j.Workload.ID]
		eventually(s.t, 5*time.Minute, w.what()+" ends", func() (string, bool) {
			qw := w.record()
			return describe(qw), qw != nil && slices.Contains([]string{"Completed", "Failed", "Timeout", "Cancelled", "Preempted"}, state(qw))
		})
	}
	if diff := gocmp.Diff(s.simulated(), s.evictions()); diff != "" {
		s.t.Errorf("who was evicted for whom (-simulated +live):\n%s", diff)
	}
	slack := liveTolerance + slowness*s.pace()
	for i := range s.file.Expect {
		s.check(&s.file.Expect[i], slack)
	}
}

// simulated is whom the simulator evicts, and for whom.
func (s *show) simulated() map[string]int {
	s.t.Helper()
	out := map[string]int{}
	_, err := sim.Run(s.file, sim.Options{Log: func(e sim.Entry) {
		if detail, is := e.Detail.(sim.EvictDetail); is {
			out[fmt.Sprintf("%s for %s", e.Job, detail.By)]++
		}
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// evictions is whom the controller has evicted, and for whom, in the names of
// the scenario.
func (s *show) evictions() map[string]int {
	s.t.Helper()
	out := map[string]int{}
	for id, w := range s.works {
		for _, run := range w.record().Status.Runs {
			if run.Cause != "" {
				out[fmt.Sprintf("%s for %s", id, strings.Replace(run.By, s.name+"/", "default/", 1))]++
			}
		}
	}
	return out
}

// check compares what came of it with an expectation.
func (s *show) check(e *scenario.Expectation, slack time.Duration) {
	s.t.Helper()
	say := func(what string, want, got any) {
		s.t.Helper()
		s.t.Errorf("%s, line %d: %s: %s is %v, want %v", s.file.Path, e.Line, e.Text, what, got, want)
	}
	total := 0
	for _, n := range s.evictions() {
		total += n
	}
	if e.EvictionsTotal != nil && *e.EvictionsTotal != total {
		say("evictionsTotal", *e.EvictionsTotal, total)
	}
	if e.Job == "" || e.At != nil {
		return // what is so at a moment is the simulator's to say
	}
	qw := s.works[e.Job].record()
	runs := qw.Status.Runs
	near := func(what string, want *time.Duration, got time.Time) {
		s.t.Helper()
		// The API's times are whole seconds.
		if at := got.Sub(s.began.Truncate(time.Second)); want != nil && (at-s.real(*want)).Abs() > slack+time.Second {
			say(what, s.real(*want), at)
		}
	}
	near("start", e.Start, runs[0].Start.Time)
	near("end", e.End, runs[len(runs)-1].End.Time)
	if e.State != "" && e.State != state(qw) {
		say("state", e.State, state(qw))
	}
	if e.Starts != nil && *e.Starts != len(runs) {
		say("starts", *e.Starts, len(runs))
	}
	taken := slices.DeleteFunc(slices.Clone(runs), func(r v1alpha1.WorkloadRun) bool { return r.Cause == "" })
	if e.Evictions != nil && *e.Evictions != len(taken) {
		say("evictions", *e.Evictions, len(taken))
	}
	if e.Cause != "" && (len(taken) == 0 || taken[len(taken)-1].Cause != string(e.Cause)) {
		say("cause", e.Cause, taken)
	}
	if via := qw.Status.Allocation.Via; e.Via != "" && len(runs) == 1 && via != string(e.Via) {
		say("via", e.Via, via)
	}
	if len(e.Nodes) > 0 && len(runs) == 1 {
		s.checkNodes(e, hostsOf(qw), say)
	}
}

func (s *show) checkNodes(e *scenario.Expectation, hosts []string, say func(what string, want, got any)) {
	s.t.Helper()
	var got []string
	for _, host := range hosts {
		got = append(got, string(s.nodes[host]))
	}
	slices.Sort(got)
	got = slices.Compact(got)
	want := slices.Sorted(slices.Values(e.Nodes))
	if !slices.Equal(want, got) {
		say("nodes", want, got)
	}
}
