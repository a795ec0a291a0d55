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
	if not := file.NotLive(); len(not) > 0 {
		t.Fatalf("%s has what is not played live: %s", file.Path, strings.Join(not, "; "))
	}
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
	return s
}

// apply makes an object of the scenario.
func (s *show) apply(object scenario.Object) {
	s.t.Helper()
	if object.Kind != "ClusterQueue" {
		return // the doors that each ClusterQueue has
	}
	queue := &v1alpha1.ClusterQueue{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Raw, queue); err != nil {
		s.t.Fatal(err)
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
		// The pods' own grace counts like the queue's, so that it is as short as
		// time is played.
		traits = append(traits, stopsIn(max(s.real(j.ExitsAfter), 50*time.Millisecond), max(s.graceOf(door), time.Second)))
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
	if e.Job == "" {
		s.checkAll(e, slack, say)
		return
	}
	qw := s.works[e.Job].record()
	s.checkTimes(e, qw, slack, say)
	runs := qw.Status.Runs
	if e.State != "" && e.State != state(qw) {
		say("state", e.State, state(qw))
	}
	if e.Starts != nil && *e.Starts != len(runs) {
		say("starts", *e.Starts, len(runs))
	}
	taken := evicted(runs)
	if e.Evictions != nil && *e.Evictions != len(taken) {
		say("evictions", *e.Evictions, len(taken))
	}
	last := v1alpha1.WorkloadRun{}
	if len(taken) > 0 {
		last = taken[len(taken)-1]
	}
	if e.Cause != "" && last.Cause != string(e.Cause) {
		say("cause", e.Cause, last.Cause)
	}
	if by := strings.Replace(last.By, s.name+"/", "default/", 1); e.By != "" && by != string(e.By) {
		say("by", e.By, by)
	}
	s.checkPlace(e, qw, say)
}

// checkAll compares what is expected of all jobs together.
func (s *show) checkAll(e *scenario.Expectation, slack time.Duration, say func(what string, want, got any)) {
	s.t.Helper()
	evictions, starts := 0, 0
	for _, w := range s.works {
		runs := w.record().Status.Runs
		evictions, starts = evictions+len(evicted(runs)), starts+len(runs)
	}
	if e.EvictionsTotal != nil && *e.EvictionsTotal != evictions {
		say("evictionsTotal", *e.EvictionsTotal, evictions)
	}
	if e.StartsTotal != nil && *e.StartsTotal != starts {
		say("startsTotal", *e.StartsTotal, starts)
	}
	if a, b := s.works[e.Before[0]], s.works[e.Before[1]]; a != nil && b != nil {
		if first, then := a.record().Status.Runs[0].Start, b.record().Status.Runs[0].Start; first.After(then.Add(slack)) {
			say("before", then, first)
		}
	}
}

// evicted are the runs that were taken back.
func evicted(runs []v1alpha1.WorkloadRun) []v1alpha1.WorkloadRun {
	return slices.DeleteFunc(slices.Clone(runs), func(r v1alpha1.WorkloadRun) bool { return r.Cause == "" })
}

// checkTimes compares when it ran and was told, and what that has cost it. The
// API's times are whole seconds.
func (s *show) checkTimes(e *scenario.Expectation, qw *v1alpha1.QueuedWorkload, slack time.Duration, say func(what string, want, got any)) {
	s.t.Helper()
	runs := qw.Status.Runs
	near := func(what string, want *time.Duration, got time.Time) {
		s.t.Helper()
		if at := got.Sub(s.began.Truncate(time.Second)); want != nil && (at-s.real(*want)).Abs() > slack+time.Second {
			say(what, s.real(*want), at)
		}
	}
	near("start", e.Start, runs[0].Start.Time)
	near("end", e.End, runs[len(runs)-1].End.Time)
	taken := evicted(runs)
	if e.EvictedAt != nil && len(e.EvictedAt) != len(taken) {
		say("evictedAt", e.EvictedAt, taken)
		return
	}
	lost := time.Duration(0)
	for i, run := range taken {
		lost += run.End.Sub(run.Start.Time)
		if e.EvictedAt == nil {
			continue
		}
		if run.Notice == nil {
			say("evictedAt", e.EvictedAt[i], "a run that was told nothing")
			continue
		}
		near("evictedAt", &e.EvictedAt[i], run.Notice.Time)
	}
	if e.Lost != nil && (lost-s.real(*e.Lost)).Abs() > time.Duration(len(taken)+1)*(slack+time.Second) {
		say("lost", s.real(*e.Lost), lost)
	}
}

// checkPlace compares where and how its first run was started. Of several runs
// the record has the place of the last alone.
func (s *show) checkPlace(e *scenario.Expectation, qw *v1alpha1.QueuedWorkload, say func(what string, want, got any)) {
	s.t.Helper()
	if e.Via == "" && len(e.Nodes)+len(e.Order) == 0 && e.NodeCount == nil && e.Pods == nil {
		return
	}
	if n := len(qw.Status.Runs); n != 1 {
		say("the number of runs of a job whose place is expected", 1, n)
		return
	}
	if via := qw.Status.Allocation.Via; e.Via != "" && via != string(e.Via) {
		say("via", e.Via, via)
	}
	var order []string
	for _, host := range hostsOf(qw) {
		order = append(order, string(s.nodes[host]))
	}
	nodes := slices.Compact(slices.Sorted(slices.Values(order)))
	if want := slices.Sorted(slices.Values(e.Nodes)); len(want) > 0 && !slices.Equal(want, nodes) {
		say("nodes", want, nodes)
	}
	if len(e.Order) > 0 && !slices.Equal(e.Order, order) {
		say("order", e.Order, order)
	}
	if e.NodeCount != nil && *e.NodeCount != len(nodes) {
		say("nodeCount", *e.NodeCount, len(nodes))
	}
	if e.Pods != nil && *e.Pods != len(order) {
		say("pods", *e.Pods, len(order))
	}
}
