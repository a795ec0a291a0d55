package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
)

func queueSeen(q batch.Queue) scenario.Object {
	return scenario.Object{Kind: "ClusterQueue", Name: string(q.Name), Seen: batch.QueueObserved{Queue: q}, Gone: batch.QueueGone{Name: q.Name}}
}

func cohortSeen(c batch.Cohort) scenario.Object {
	return scenario.Object{Kind: "Cohort", Name: string(c.Name), Seen: batch.CohortObserved{Cohort: c}, Gone: batch.CohortGone{Name: c.Name}}
}

// bounded is a queue of the flavor f with a quota of GPUs.
func bounded(name batch.QueueName, cohort batch.CohortName, q batch.Quota) batch.Queue {
	return batch.Queue{
		Name: name, State: batch.QueueUp, Tier: 1, Flavors: []batch.FlavorName{"f"}, Cohort: cohort,
		Quotas: batch.Quotas{"f": {batch.ResourceGPU: q}},
	}
}

func TestAStartBeyondQuotaIsNoticed(t *testing.T) {
	t.Parallel()
	file := story(2, work("a", 0, time.Hour), work("b", 0, time.Hour))
	file.Objects = append(file.Objects, queueSeen(bounded("default", "", batch.Quota{Nominal: 12})))
	w := newWorld(file, Options{})
	w.begin()
	w.takeIn()
	for i, name := range []batch.WorkloadID{"default/a", "default/b"} {
		w.start(batch.StartDecision{ID: name, Allocation: batch.Allocation{
			Queue: "default", Flavor: "f", Start: file.Start,
			PodSets: []batch.Placement{{PodSet: "main", Hosts: []batch.NodeName{file.Nodes[i].Name}}},
		}})
	}
	want := "nvidia.com/gpu of flavor f that ClusterQueue default takes for default/b: want at most 4 more, got 8"
	if w.breach == nil || !strings.Contains(w.breach.String(), want) {
		t.Errorf("noticed %v, want %s", w.breach, want)
	}
}

// drawStory draws a cluster of queues and cohorts with quotas, work for them,
// and admins who change them, delete them, move them, and restart the
// controller.
func drawStory(t *rapid.T) *scenario.File {
	f := story(rapid.IntRange(1, 4).Draw(t, "nodes"))
	f.Seed, f.Until = 1, 10*24*time.Hour
	limit := func(label string) batch.Limit {
		if rapid.Bool().Draw(t, label+"?") {
			return batch.Limit{}
		}
		return batch.LimitOf(batch.Amount(rapid.IntRange(0, 12).Draw(t, label)))
	}
	cohorts := []batch.CohortName{"", "all", "team"}
	queue := func() scenario.Object {
		name := batch.QueueName(rapid.SampledFrom([]string{"default", "other", "third"}).Draw(t, "queue"))
		q := bounded(name, rapid.SampledFrom(cohorts).Draw(t, "cohort"), batch.Quota{
			Nominal: batch.Amount(rapid.IntRange(0, 16).Draw(t, "nominal")), Borrow: limit("borrow"), Lend: limit("lend"),
		})
		q.Tier = int32(rapid.IntRange(1, 2).Draw(t, "tier"))
		q.Preemption = batch.Preemption{
			Mode:                rapid.SampledFrom([]batch.PreemptionMode{batch.PreemptNever, batch.PreemptRequeue}).Draw(t, "mode"),
			ReclaimWithinCohort: rapid.SampledFrom([]batch.PreemptWhom{batch.WhomNever, batch.WhomAny}).Draw(t, "reclaim"),
		}
		return queueSeen(q)
	}
	cohort := func(name batch.CohortName) scenario.Object {
		return cohortSeen(batch.Cohort{Name: name, Parent: rapid.SampledFrom(cohorts).Draw(t, "parent"), Quotas: batch.Quotas{
			"f": {batch.ResourceGPU: {Nominal: batch.Amount(rapid.IntRange(0, 8).Draw(t, "own")), Borrow: limit("borrow"), Lend: limit("lend")}},
		}})
	}
	f.Objects = append(f.Objects,
		scenario.Object{Kind: "ResourceFlavor", Name: "f", Seen: batch.FlavorObserved{Flavor: batch.Flavor{Name: "f"}}, Gone: batch.FlavorGone{Name: "f"}},
		cohort("all"), cohort("team"), queue(), queue(), queue())
	for _, name := range []string{"other", "third"} {
		local := batch.LocalQueue{Name: batch.LocalQueueName("default/" + name), Queues: []batch.QueueName{batch.QueueName(name)}}
		f.Objects = append(f.Objects, scenario.Object{Kind: "LocalQueue", Namespace: "default", Name: name, Seen: batch.LocalQueueObserved{LocalQueue: local}})
	}
	for i := range rapid.IntRange(5, 25).Draw(t, "jobs") {
		at := time.Duration(rapid.IntRange(0, 300).Draw(t, "at")) * time.Minute
		j := work(fmt.Sprint("j", i), at, time.Duration(rapid.IntRange(5, 120).Draw(t, "walltime"))*time.Minute)
		set := &j.Workload.PodSets[0]
		set.Count = rapid.IntRange(1, 4).Draw(t, "pods")
		if rapid.IntRange(0, 3).Draw(t, "elastic") == 0 {
			set.MinCount = 1
		}
		set.Requests = batch.Resources{batch.ResourceGPU: batch.Amount(rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "gpus")), batch.ResourcePods: 1}
		j.Workload.LocalQueue = batch.LocalQueueName("default/" + rapid.SampledFrom([]string{"default", "other", "third"}).Draw(t, "door"))
		f.Jobs = append(f.Jobs, j)
	}
	for range rapid.IntRange(0, 8).Draw(t, "events") {
		e := scenario.Event{At: time.Duration(rapid.IntRange(1, 400).Draw(t, "event at")) * time.Minute}
		switch rapid.IntRange(0, 4).Draw(t, "event") {
		case 0:
			e.Restart = true
		case 1:
			e.Down = time.Duration(rapid.IntRange(1, 30).Draw(t, "down")) * time.Minute
		case 2:
			e.Apply = []scenario.Object{cohort(rapid.SampledFrom(cohorts[1:]).Draw(t, "edited"))}
		case 3:
			gone := cohort("team")
			e.Delete = &gone
		default:
			e.Apply = []scenario.Object{queue()}
		}
		f.Events = append(f.Events, e)
	}
	slices.SortStableFunc(f.Events, func(a, b scenario.Event) int { return int(a.At - b.At) })
	return f
}

// plansOfOneInstant are more plans than a few dozen jobs give reason for.
const plansOfOneInstant = 300

// Whatever admins do to queues and cohorts, and whenever the controller is
// restarted: nothing starts beyond quota at any level, and no other invariant
// breaks either.
func TestQuotasHoldWhateverAdminsDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		file := drawStory(t)
		var at time.Time
		var plans []batch.Plan
		result, err := Run(file, Options{Pass: func(p Pass) {
			if !p.Plan.At.Equal(at) {
				at, plans = p.Plan.At, nil
			}
			if plans = append(plans, p.Plan); len(plans) > plansOfOneInstant {
				t.Fatalf("the plans of %s do not come to an end; the last ones:\n%+v", at.Sub(file.Start), plans[len(plans)-3:])
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if result.Breach != nil {
			t.Fatal(result.Breach)
		}
	})
}
