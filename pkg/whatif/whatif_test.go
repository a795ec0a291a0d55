package whatif_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/whatif"
)

var zero = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

func at(minute int) time.Time { return zero.Add(time.Duration(minute) * time.Minute) }

func minutes(n int) batch.Walltime { return batch.Walltime(time.Duration(n) * time.Minute) }

// world has nodes n1..nN of 8 GPUs, two queues of which one is in front, and
// LocalQueues to them.
func world(nodes ...string) *whatif.World {
	w := whatif.New(zero)
	for _, name := range nodes {
		w.Observe(batch.NodeObserved{Node: batch.Node{Name: batch.NodeName(name), Ready: true, Capacity: batch.Resources{
			batch.ResourceGPU: 8, batch.ResourcePods: 110,
		}}})
	}
	for name, tier := range map[batch.QueueName]int32{"slow": 1, "fast": 5} {
		w.Observe(batch.QueueObserved{Queue: batch.Queue{Name: name, State: batch.QueueUp, Tier: tier}})
		w.Observe(batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{
			Name: "ns/" + batch.LocalQueueName(name), Queues: []batch.QueueName{name},
		}})
	}
	return w
}

func workload(name string, pods int, walltime batch.Walltime) batch.Workload {
	return batch.Workload{
		ID: batch.WorkloadID("ns/" + name), UID: name, Namespace: "ns", Name: name, LocalQueue: "ns/slow", Walltime: walltime, QueuedAt: zero,
		PodSets: []batch.PodSet{{Name: "main", Count: pods, Requests: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 1}}},
	}
}

func runs(w *whatif.World, name string, until int, hosts ...batch.NodeName) {
	is := workload(name, len(hosts), minutes(until))
	is.Allocation = &batch.Allocation{Queue: "slow", Start: zero, PodSets: []batch.Placement{{PodSet: "main", Hosts: hosts}}}
	if until > 0 {
		is.Allocation.Deadline = at(until)
	}
	ready := true
	is.PodsReady = &ready
	w.Observe(batch.OwnerObserved{ID: is.ID, Owner: batch.Owner{Started: true}})
	w.Observe(batch.WorkloadObserved{Workload: is})
}

func waits(w *whatif.World, is batch.Workload) {
	w.Observe(batch.OwnerObserved{ID: is.ID, Owner: batch.Owner{Suspended: true}})
	w.Observe(batch.WorkloadObserved{Workload: is})
}

func ask(t *testing.T, w *whatif.World, id batch.WorkloadID) whatif.Answer {
	t.Helper()
	answer, ok := w.Ask(id)
	if !ok {
		t.Fatalf("%s does not wait", id)
	}
	return answer
}

func TestItSaysForWhomAndUntilWhen(t *testing.T) {
	t.Parallel()
	w := world("n1", "n2")
	runs(w, "short", 30, "n1")
	runs(w, "long", 90, "n2")
	waits(w, workload("gang", 2, minutes(60)))
	answer := ask(t, w, "ns/gang")
	want := []whatif.Obstacle{{Kind: whatif.Runs, Name: "ns/short", Until: at(30)}, {Kind: whatif.Runs, Name: "ns/long", Until: at(90)}}
	if diff := cmp.Diff(want, answer.Waits); diff != "" {
		t.Errorf("waits for (-want +got):\n%s", diff)
	}
	if v := answer.Verdict; v.Reason != batch.ReasonResources || !v.PlannedStart.Equal(at(90)) || v.Position != 1 {
		t.Errorf("verdict %+v", v)
	}
}

func TestAShorterWalltimeIsTheLongestThatFitsTheGap(t *testing.T) {
	t.Parallel()
	w := world("n1", "n2")
	runs(w, "r", 45, "n1")
	gang := workload("gang", 2, minutes(60))
	gang.Priority = 10
	waits(w, gang)
	waits(w, workload("single", 1, minutes(60)))
	answer := ask(t, w, "ns/single")
	want := []whatif.Change{
		{Kind: whatif.ShorterWalltime, Walltime: minutes(45), Start: zero},
		{Kind: whatif.OtherQueue, Queue: "ns/fast", Start: zero},
	}
	if diff := cmp.Diff(want, answer.Sooner); diff != "" {
		t.Errorf("sooner (-want +got):\n%s", diff)
	}
	if len(answer.Waits) != 2 || answer.Waits[1].Kind != whatif.Planned || answer.Waits[1].Name != "ns/gang" {
		t.Errorf("waits for %+v, the last of them the planned gang", answer.Waits)
	}
}

func TestFewerPodsAreAsManyAsFit(t *testing.T) {
	t.Parallel()
	w := world("n1", "n2", "n3", "n4")
	runs(w, "r", 45, "n1")
	waits(w, workload("gang", 4, minutes(60)))
	answer := ask(t, w, "ns/gang")
	want := []whatif.Change{{Kind: whatif.FewerPods, Pods: 3, Start: zero}}
	if diff := cmp.Diff(want, answer.Sooner); diff != "" {
		t.Errorf("sooner (-want +got):\n%s", diff)
	}
}

// What is too large for the cluster is told the largest size that is not, though
// a smaller one would start before that.
func TestWhatNeverFitsIsToldTheLargestThatDoes(t *testing.T) {
	t.Parallel()
	w := world("n1", "n2", "n3")
	runs(w, "run", 60, "n1")
	waits(w, workload("large", 5, minutes(30)))
	want := []whatif.Change{{Kind: whatif.FewerPods, Pods: 3, Start: at(60)}}
	if diff := cmp.Diff(want, ask(t, w, "ns/large").Sooner); diff != "" {
		t.Errorf("what would let it start (-want +got):\n%s", diff)
	}
}

func TestBehindEndlessWorkNothingHelps(t *testing.T) {
	t.Parallel()
	w := world("n1")
	runs(w, "endless", 0, "n1")
	waits(w, workload("next", 1, minutes(60)))
	answer := ask(t, w, "ns/next")
	if diff := cmp.Diff([]whatif.Obstacle{{Kind: whatif.Runs, Name: "ns/endless"}}, answer.Waits); diff != "" {
		t.Errorf("waits for (-want +got):\n%s", diff)
	}
	if len(answer.Sooner) != 0 || !answer.Verdict.PlannedStart.IsZero() {
		t.Errorf("%+v", answer)
	}
}

func TestWhatRunsOrIsGoneDoesNotWait(t *testing.T) {
	t.Parallel()
	w := world("n1")
	runs(w, "r", 30, "n1")
	for _, id := range []batch.WorkloadID{"ns/r", "ns/nobody"} {
		if answer, waits := w.Ask(id); waits {
			t.Errorf("%s: %+v", id, answer)
		}
	}
}

// Asking changes nothing: the same question has the same answer.
func TestAskingChangesNothing(t *testing.T) {
	t.Parallel()
	w := world("n1", "n2")
	runs(w, "r", 45, "n1")
	waits(w, workload("gang", 2, minutes(60)))
	waits(w, workload("single", 1, minutes(60)))
	once, twice := ask(t, w, "ns/single"), ask(t, w, "ns/single")
	if diff := cmp.Diff(once, twice); diff != "" {
		t.Errorf("(-once +twice):\n%s", diff)
	}
}

// stops is a run that is being taken back.
func stops(w *whatif.World, name string, grace int, hosts ...batch.NodeName) {
	is := workload(name, len(hosts), minutes(90))
	is.Allocation = &batch.Allocation{
		Queue: "slow", Start: zero.Add(-time.Minute), Deadline: at(90), PodSets: []batch.Placement{{PodSet: "main", Hosts: hosts}},
	}
	is.Eviction = &batch.Eviction{Notice: batch.Notice{Cause: batch.CausePreempted, By: "ns/high", Time: zero, Until: at(grace)}, For: "ns/high"}
	w.Observe(batch.OwnerObserved{ID: is.ID, Owner: batch.Owner{Started: true}})
	w.Observe(batch.WorkloadObserved{Workload: is})
	for i, host := range hosts {
		w.Observe(batch.PodObserved{Pod: batch.Pod{
			UID: batch.PodUID(name + string(host)), Name: "ns/" + name + "-" + string(rune('0'+i)), Workload: is.ID, Node: host,
			Requests: is.PodSets[0].Requests, Phase: batch.PodReady,
		}})
	}
}

// nominated waits for a place that others give up.
func nominated(w *whatif.World, victims []batch.WorkloadID, start, until int, hosts ...batch.NodeName) {
	is := workload("high", len(hosts), minutes(60))
	is.LocalQueue = "ns/fast"
	is.Nomination = &batch.Nomination{
		Allocation: batch.Allocation{
			Queue: "fast", Via: batch.ViaPreemption, Start: at(start), Deadline: at(until), PodSets: []batch.Placement{{PodSet: "main", Hosts: hosts}},
		},
		Victims: victims, Cause: batch.CausePreempted, Since: zero,
	}
	waits(w, is)
}

// Whoever has victims waits for them, until each one's grace is over, and no
// advice is given: its place is made already. Whoever stands behind it waits
// for it as for any that is planned before.
func TestVictimsAndTheirPreemptorAreNamed(t *testing.T) {
	t.Parallel()
	w := world("n1", "n2")
	stops(w, "low-a", 2, "n1")
	stops(w, "low-b", 4, "n2")
	nominated(w, []batch.WorkloadID{"ns/low-a", "ns/low-b", "ns/gone"}, 4, 64, "n1", "n2")
	waits(w, workload("behind", 2, minutes(30)))
	high := ask(t, w, "ns/high")
	want := []whatif.Obstacle{
		{Kind: whatif.GivesWay, Name: "ns/low-a", Until: at(2)},
		{Kind: whatif.GivesWay, Name: "ns/low-b", Until: at(4)},
	}
	if diff := cmp.Diff(want, high.Waits); diff != "" {
		t.Errorf("the preemptor waits for (-want +got):\n%s", diff)
	}
	if high.Verdict.Reason != batch.ReasonPreempting || len(high.Nodes) != 2 || high.Tried != nil || high.Sooner != nil {
		t.Errorf("%+v", high)
	}
	behind := ask(t, w, "ns/behind")
	want = append(want, whatif.Obstacle{Kind: whatif.Nominated, Name: "ns/high", From: at(4), Until: at(64)})
	if diff := cmp.Diff(want, behind.Waits); diff != "" {
		t.Errorf("the next waits for (-want +got):\n%s", diff)
	}
}

// A pod that was removed by force takes its place until its node has ended it,
// whether its workload is known or not.
func TestPodsThatWereRemovedByForceAreWaitedFor(t *testing.T) {
	t.Parallel()
	w := world("n1")
	for _, uid := range []batch.PodUID{"a", "b"} {
		w.Observe(batch.PodObserved{Pod: batch.Pod{
			UID: uid, Name: "ns/was-" + string(uid), Workload: "ns/was", Node: "n1", Phase: batch.PodBound, GoneBy: at(9),
			Requests: batch.Resources{batch.ResourceGPU: 4, batch.ResourcePods: 1},
		}})
		w.Observe(batch.PodGone{UID: uid, By: at(9)})
	}
	waits(w, workload("next", 1, minutes(60)))
	answer := ask(t, w, "ns/next")
	want := []whatif.Obstacle{{Kind: whatif.Removed, Name: "ns/was-a", Until: at(9)}, {Kind: whatif.Removed, Name: "ns/was-b", Until: at(9)}}
	if diff := cmp.Diff(want, answer.Waits); diff != "" || !answer.Verdict.PlannedStart.Equal(at(9)) {
		t.Errorf("planned %v, waits for (-want +got):\n%s", answer.Verdict.PlannedStart, diff)
	}
}

// Advice is given where it can help alone.
func TestNothingIsAdvisedThatCannotHelp(t *testing.T) {
	t.Parallel()
	w := world("n1", "n2")
	runs(w, "r", 45, "n1", "n2")
	held := workload("held", 1, minutes(60))
	held.Held = true
	waits(w, held)
	waits(w, workload("single", 1, minutes(60)))
	if answer := ask(t, w, "ns/held"); answer.Tried != nil || answer.Sooner != nil {
		t.Errorf("who is held is advised: %+v", answer)
	}
	if diff := cmp.Diff([]whatif.ChangeKind{whatif.ShorterWalltime, whatif.OtherQueue}, ask(t, w, "ns/single").Tried); diff != "" {
		t.Errorf("of one pod is tried (-want +got):\n%s", diff)
	}
}
