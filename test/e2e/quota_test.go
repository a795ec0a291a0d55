package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// quotaOf is a quota of one resource.
func quotaOf(name, nominal string) v1alpha1.FlavorQuota {
	return v1alpha1.FlavorQuota{Name: name, NominalQuota: resource.MustParse(nominal)}
}

// with the team's own flavor, a queue has these quotas.
func quotas(list ...v1alpha1.FlavorQuota) option {
	return clusterQueue(func(s *v1alpha1.ClusterQueueSpec) { s.Flavors[0].Resources = list })
}

// setQuota gives the queue another quota of its first resource.
func (t *team) setQuota(queue, nominal string) {
	t.t.Helper()
	object := &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: queue}}
	t.edit(object, func() { object.Spec.Flavors[0].Resources[0].NominalQuota = resource.MustParse(nominal) })
}

// makeCohort makes a Cohort.
func (t *team) makeCohort(name, parent string) *v1alpha1.Cohort {
	t.t.Helper()
	cohort := &v1alpha1.Cohort{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.CohortSpec{ParentName: parent}}
	t.create(cohort)
	t.t.Cleanup(func() { t.remove(cohort) })
	return cohort
}

// makeMember makes a ClusterQueue of a cohort, with its door.
func (t *team) makeMember(door, cohort, nominal string) string {
	t.t.Helper()
	name := t.name + "-" + door
	t.makeQueue(name, func(s *v1alpha1.ClusterQueueSpec) {
		s.CohortName = cohort
		s.Flavors[0].Resources = []v1alpha1.FlavorQuota{quotaOf(gpu, nominal)}
	})
	t.makeDoor(door, name)
	return name
}

// mustStand waits until a ClusterQueue says how it stands in GPUs.
func (t *team) mustStand(queue string, want v1alpha1.QueueUsage) {
	t.t.Helper()
	want.Flavor, want.Resource = t.name, gpu
	t.eventually(soon, fmt.Sprintf("ClusterQueue %s stands at %+v", queue, want), func() (string, bool) {
		object := &v1alpha1.ClusterQueue{}
		if err := t.client.Get(t.t.Context(), client.ObjectKey{Name: queue}, object); err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%+v", object.Status.Usage), slices.Contains(object.Status.Usage, want)
	})
}

// mustSay waits until the Active condition of a ClusterQueue or Cohort says
// something.
func (t *team) mustSay(object client.Object, conditions func() []metav1.Condition, status metav1.ConditionStatus, parts ...string) {
	t.t.Helper()
	t.eventually(soon, fmt.Sprintf("%s %s is Active=%s and says %q", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), status, parts), func() (string, bool) {
		if err := t.client.Get(t.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err.Error(), false
		}
		c := meta.FindStatusCondition(conditions(), v1alpha1.ConditionActive)
		return fmt.Sprint(c), c != nil && c.Status == status && containsAll(c.Message, parts)
	})
}

// TestB04QuotaComesBackAcrossARestart: what has ended stays ended and is not
// charged after the controller was killed, five times; what runs goes on in the
// same pods, and the quota that is left is used.
func TestB04QuotaComesBackAcrossARestart(t *testing.T) {
	team := newTeam(t, nodes(2, 8), quotas(quotaOf(gpu, "4")))
	good := team.submit(job("good", gpus(1), walltime("1h"), runsFor(time.Second)))
	bad := team.submit(job("bad", gpus(1), walltime("1h"), runsFor(time.Second), exits(1)))
	runs := team.submit(job("runs", gpus(2), walltime("1h")))
	good.mustEnd("Completed")
	bad.mustEnd("Failed")
	runs.mustRun()
	before := runs.pods()
	team.mustUse(team.name, gpu, "2")
	for range 5 {
		team.controllerDies()
		team.controllerStarts()
		team.controllerDecides()
		team.mustUse(team.name, gpu, "2")
	}
	next := team.submit(job("next", gpus(2), walltime("1h")))
	next.mustRun()
	over := team.submit(job("over", gpus(1), walltime("1h")))
	over.mustWait("QuotaExceeded", "uses 4 of 4", "0 left, 1 asked")
	if after := runs.pods(); len(after) != len(before) || after[0].Name != before[0].Name {
		t.Errorf("what ran has other pods after the restarts: %v, and before %v", after, before)
	}
	for _, w := range []*work{good, bad} {
		if n := len(w.pods()); n != 1 {
			t.Errorf("%s has had %d pods", w.what(), n)
		}
	}
}

// TestB07WhatNeverFitsBlocksNobody: a request above all that its queue could
// have takes no part, and does without being touched when it could.
func TestB07WhatNeverFitsBlocksNobody(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8), quotas(quotaOf(gpu, "3")))
	four := team.submit(job("four", gpus(4), walltime("1h")))
	four.mustWait("NeverFits", "4 nvidia.com/gpu", "could have 3 at most")
	three := team.submit(job("three", gpus(3), walltime("1h")))
	three.mustRun()
	team.setQuota(team.name, "4")
	four.mustWait("QuotaExceeded", "uses 3 of 4", "1 left, 4 asked")
	three.finish()
	four.mustRun()
}

// TestB34QuotaLoweredUnderRunningWork: nothing stops, nothing is borrowed where
// there is no cohort, nothing new starts until use is below the quota again.
func TestB34QuotaLoweredUnderRunningWork(t *testing.T) {
	team := newTeam(t, nodes(2, 8), quotas(quotaOf(gpu, "8")))
	var all []*work
	for i := range 4 {
		all = append(all, team.submit(job(fmt.Sprint("two-", i), gpus(2), walltime("1h"))))
	}
	for _, w := range all {
		w.mustRun()
	}
	team.setQuota(team.name, "4")
	fresh := team.submit(job("new", gpus(1), walltime("1h")))
	fresh.mustWait("QuotaExceeded", "uses 8 of 4", "0 left")
	team.mustStand(team.name, v1alpha1.QueueUsage{Used: "8", Nominal: "4"})
	team.controllerDies()
	team.controllerStarts()
	team.controllerDecides()
	team.mustStand(team.name, v1alpha1.QueueUsage{Used: "8", Nominal: "4"})
	all[0].finish()
	all[1].finish()
	team.mustStand(team.name, v1alpha1.QueueUsage{Used: "4", Nominal: "4"})
	fresh.mustWait("QuotaExceeded")
	fresh.mustHaveNoPods()
	team.setQuota(team.name, "6")
	fresh.mustRun()
	for _, w := range all[2:] {
		if n := len(w.pods()); n != 1 {
			t.Errorf("%s has had %d pods: a lowered quota stops nothing", w.what(), n)
		}
	}
}

// TestB64AMissingFlavorLeaksNothing: while one of a queue's flavors is away,
// work on another ends and gives its quota back, round for round.
func TestB64AMissingFlavorLeaksNothing(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8), clusterQueue(func(s *v1alpha1.ClusterQueueSpec) {
		s.Flavors[0].Resources = []v1alpha1.FlavorQuota{quotaOf(gpu, "2")}
		s.Flavors = append(s.Flavors, v1alpha1.QueueFlavor{Name: s.Flavors[0].Name + "-2", Resources: []v1alpha1.FlavorQuota{quotaOf(gpu, "2")}})
	}))
	queue := &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: team.name}}
	conditions := func() []metav1.Condition { return queue.Status.Conditions }
	second := team.name + "-2"
	for round := range 5 {
		flavor := &v1alpha1.ResourceFlavor{
			ObjectMeta: metav1.ObjectMeta{Name: second},
			Spec:       v1alpha1.ResourceFlavorSpec{NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{teamLabel: second}}},
		}
		team.create(flavor)
		w := team.submit(job(fmt.Sprint("round-", round), gpus(2), walltime("1h")))
		w.mustRun()
		team.mustUse(team.name, gpu, "2")
		team.remove(flavor)
		team.mustSay(queue, conditions, metav1.ConditionTrue, "these ResourceFlavors do not exist: "+second)
		w.finish()
		w.mustEnd("Completed")
		w.mustBeDeleted()
		team.mustUse(team.name, gpu, "")
	}
	last := team.submit(job("last", gpus(2), walltime("1h")))
	last.mustRun() // while the second flavor is away
}

// TestB73NotFullIsNotRoom: what asks for more than is left waits, and of many
// that come at once exactly as many run as there is quota for, in each resource
// by itself.
func TestB73NotFullIsNotRoom(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodesWith(4, map[string]string{"cpu": "64", "memory": "256Gi"}), quotas(quotaOf("cpu", "50"), quotaOf("memory", "100Gi")))
	team.submit(job("nine", requests("cpu", "40"), requests("memory", "10Gi"), walltime("1h"))).mustRun()
	ten := team.submit(job("ten", requests("cpu", "11"), requests("memory", "1Gi"), walltime("1h")))
	ten.mustWait("QuotaExceeded", "uses 40 of 50 cpu", "10 left, 11 asked")
	ten.mustBeDeleted()
	wide := team.submit(job("wide", requests("cpu", "1"), requests("memory", "91Gi"), walltime("1h")))
	wide.mustWait("QuotaExceeded", "uses 10Gi of 100Gi memory")
	wide.mustBeDeleted()
	const many = 40
	works := make([]*work, many)
	for i := range works {
		works[i] = team.submit(job(fmt.Sprint("one-", i), requests("cpu", "1"), requests("memory", "1Gi"), walltime("1h")))
	}
	count := func() (running, waiting int) {
		for _, w := range works {
			switch state(w.record()) {
			case "Running":
				running++
			case "Pending":
				waiting++
			}
		}
		return running, waiting
	}
	team.eventually(patience, "10 run and 30 wait", func() (string, bool) {
		running, waiting := count()
		return fmt.Sprintf("%d run, %d wait", running, waiting), running == 10 && waiting == many-10
	})
	team.mustUse(team.name, "cpu", "50")
	for _, w := range works {
		if state(w.record()) == "Running" {
			w.finish()
			break
		}
	}
	team.eventually(patience, "one has ended and one more runs", func() (string, bool) {
		running, waiting := count()
		return fmt.Sprintf("%d run, %d wait", running, waiting), running == 10 && waiting == many-11
	})
}

// TestMembersOfACohortLendEachOther: what is used, borrowed and lent is told of
// each queue and of the cohort, a borrowing limit by its name, and promises
// beyond what the nodes have as a warning (B77).
func TestMembersOfACohortLendEachOther(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	cohort := team.makeCohort(team.name, "")
	left, right := team.makeMember("left", cohort.Name, "4"), team.makeMember("right", cohort.Name, "4")
	loan := team.submit(job("loan", through("left"), gpus(6), walltime("1h")))
	loan.mustRun()
	team.mustStand(left, v1alpha1.QueueUsage{Used: "6", Nominal: "4", Borrowed: "2", Lent: "0"})
	team.mustStand(right, v1alpha1.QueueUsage{Used: "0", Nominal: "4", Borrowed: "0", Lent: "2"})
	own := team.submit(job("own", through("right"), gpus(3), walltime("1h")))
	own.mustWait("QuotaExceeded", "uses 0 of 4", "has lent 2", "2 left, 3 asked", "Cohort "+cohort.Name)
	team.eventually(soon, "the Cohort says that 6 are used", func() (string, bool) {
		if err := team.client.Get(t.Context(), client.ObjectKeyFromObject(cohort), cohort); err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%+v", cohort.Status.Usage), len(cohort.Status.Usage) == 1 && cohort.Status.Usage[0].Used == "6"
	})
	loan.finish()
	own.mustRun()
	team.setQuota(left, "6")
	queue := &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: right}}
	team.mustSay(queue, func() []metav1.Condition { return queue.Status.Conditions }, metav1.ConditionTrue,
		"nominal quotas of flavor "+team.name+" add up to 10 nvidia.com/gpu and its nodes have 8")
}

// TestAQuotaTooLargeToCount is refused by the API server, which would show another to
// every client, and names what would do.
func TestAQuotaTooLargeToCount(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8), quotas(quotaOf(gpu, "8")))
	queue := &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: team.name}}
	patch := `[{"op": "replace", "path": "/spec/flavors/0/resources/0/nominalQuota", "value": "922337203685477580Gi"}]`
	err := team.client.Patch(t.Context(), queue, client.RawPatch(types.JSONPatchType, []byte(patch)))
	want := "nominalQuota of " + gpu + " in flavor " + team.name + " is 922337203685477580Gi: " + gpu + " is counted up to 9223372036854775807; write that, or less"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestB82ACircleOfCohorts: an edit that puts a cohort above itself stops the
// queues in it, says so, and stops nobody else; when it is undone the work
// starts that waited, and nobody touched.
func TestB82ACircleOfCohorts(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	a := team.makeCohort(team.name+"-a", "")
	b := team.makeCohort(team.name+"-b", a.Name)
	c := team.makeCohort(team.name+"-c", b.Name)
	name := team.makeMember("in", c.Name, "3")
	team.edit(a, func() { a.Spec.ParentName = c.Name })
	circle := "is above itself: " + a.Name
	queue := &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}}
	team.mustSay(queue, func() []metav1.Condition { return queue.Status.Conditions }, metav1.ConditionFalse, circle)
	team.mustSay(b, func() []metav1.Condition { return b.Status.Conditions }, metav1.ConditionFalse, circle)
	var waiting []*work
	for i := range 3 {
		waiting = append(waiting, team.submit(job(fmt.Sprint("j", i), through("in"), gpus(1), walltime("1h"))))
	}
	for _, w := range waiting {
		w.mustWait("QueueStopped", "Cohort "+c.Name, "breaks the circle")
	}
	team.submit(job("other", gpus(2), walltime("1h"))).mustRun() // in a queue of no cohort
	team.edit(a, func() { a.Spec.ParentName = "" })
	for _, w := range waiting {
		w.mustRun()
	}
	team.mustSay(queue, func() []metav1.Condition { return queue.Status.Conditions }, metav1.ConditionTrue, "work can start")
	if err := team.tryEdit(team.client, b, func() { b.Spec.ParentName = b.Name }); err == nil {
		t.Error("a Cohort that is its own parent is accepted")
	}
}

// TestB63AQueueDeletedWhileItIsUsed: nothing new starts, what runs goes on, the
// status counts what is left, and the queue is gone when that is.
func TestB63AQueueDeletedWhileItIsUsed(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8), quotas(quotaOf(gpu, "4")))
	queue := &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: team.name}}
	read := func() error { return team.client.Get(t.Context(), client.ObjectKeyFromObject(queue), queue) }
	runs := team.submit(job("runs", gpus(3), walltime("1h")))
	runs.mustRun()
	var waiting []*work
	for i := range 3 {
		waiting = append(waiting, team.submit(job(fmt.Sprint("waits-", i), gpus(2), walltime("1h"))))
	}
	for _, w := range waiting {
		w.mustWait("QuotaExceeded")
	}
	team.eventually(soon, "the queue is kept while it is used", func() (string, bool) {
		err := read()
		return fmt.Sprint(queue.Finalizers, err), len(queue.Finalizers) == 1
	})
	team.remove(queue)
	conditions := func() []metav1.Condition { return queue.Status.Conditions }
	team.mustSay(queue, conditions, metav1.ConditionFalse, "is being deleted", "1 still run and 3 still wait")
	for _, w := range waiting {
		w.mustWait("QueueStopped", "is being deleted and starts nothing")
	}
	for _, w := range waiting {
		w.mustHaveNoPods()
		w.mustBeDeleted()
	}
	team.mustSay(queue, conditions, metav1.ConditionFalse, "1 still run and 0 still wait")
	team.mustUse(team.name, gpu, "3")
	late := team.submit(job("late", gpus(1), walltime("1h")))
	late.mustWait("QueueStopped")
	runs.finish()
	runs.mustEnd("Completed")
	team.eventually(soon, "the queue is gone", func() (string, bool) {
		err := read()
		return fmt.Sprint(queue.Finalizers, err), apierrors.IsNotFound(err)
	})
	late.mustWait("QueueNotFound", "ClusterQueue "+team.name)
	late.mustHaveNoPods()
}
