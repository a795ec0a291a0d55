package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

// charge has a workload charged to an account, by ann.
func charge(account batch.AccountName) func(*batch.Workload) {
	return func(w *batch.Workload) { w.Account, w.Submitter = account, "ann" }
}

// What is wrong with the workload itself, and what its author keeps it from, is
// told before what an admin could change.
func TestAccessIsToldAfterTheWorkloadsOwnState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.queue("down", func(q *batch.Queue) { q.State, q.DenyAccounts = batch.QueueDown, []batch.AccountName{"lab"} })
	w.step(batch.AccountObserved{Account: batch.Account{Name: "lab", Users: []string{"ann"}}})
	w.submit(
		job{name: "huge", gpu: 9, walltime: 5, edit: charge("missing")},
		job{name: "held", walltime: 5, edit: func(w *batch.Workload) { charge("missing")(w); w.Held = true }},
		job{name: "missing", walltime: 5, edit: charge("missing")},
		job{name: "denied", walltime: 5, queue: "down", edit: charge("lab")},
		job{name: "stopped", walltime: 5, queue: "down"},
	)
	w.until(0)
	w.reason("huge", batch.ReasonNeverFits, "largest node has 8")
	w.reason("held", batch.ReasonHeld, "held by its author")
	w.reason("missing", batch.ReasonAccessDenied, "Account missing does not exist")
	w.reason("denied", batch.ReasonAccessDenied, "keeps Account lab out")
	w.reason("stopped", batch.ReasonQueueStopped, "set to Down")
}

// Another cause of the same refusal is another answer.
func TestEachCauseOfADeniedAccessIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "a", walltime: 5, edit: charge("lab")})
	lab := func(users ...string) {
		w.step(batch.AccountObserved{Account: batch.Account{Name: "lab", Users: users}})
		w.until(0)
	}
	w.until(0)
	w.reason("a", batch.ReasonAccessDenied, "Account lab does not exist")
	lab("bob")
	w.reason("a", batch.ReasonAccessDenied, "user ann is no user of Account lab")
	w.editQueue("main", func(q *batch.Queue) { q.AllowAccounts = []batch.AccountName{"office"} })
	lab("ann", "bob")
	w.reason("a", batch.ReasonAccessDenied, "lets in Account office")
	w.editQueue("main", func(q *batch.Queue) { q.AllowAccounts = []batch.AccountName{"office", "shop"} })
	w.until(0)
	w.reason("a", batch.ReasonAccessDenied, "lets in Accounts office, shop")
	w.editQueue("main", func(q *batch.Queue) { q.AllowAccounts = nil })
	w.until(0)
	w.want("a=0")
}

// A journal begins with an image: accounts are part of it.
func TestAccountsAreInTheImage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.step(batch.AccountObserved{Account: batch.Account{Name: "lab", Parent: "root", Users: []string{"ann"}}})
	w.step(batch.AccountObserved{Account: batch.Account{Name: "gone"}})
	w.step(batch.AccountGone{Name: "gone"})
	restored := core.Restore(w.core.Image())
	if diff := cmp.Diff(batch.Accounts{"lab": {Name: "lab", Parent: "root", Users: []string{"ann"}}}, restored.Snapshot().Accounts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
