package e2e

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// makeAccount makes an Account with users.
func (t *team) makeAccount(name, parent string, users ...string) *v1alpha1.Account {
	t.t.Helper()
	account := &v1alpha1.Account{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.AccountSpec{ParentName: parent}}
	for _, user := range users {
		account.Spec.Users = append(account.Spec.Users, v1alpha1.AccountUser{Name: user})
	}
	t.create(account)
	t.t.Cleanup(func() { t.remove(account) })
	return account
}

// TestB24AccountsAreADoor: who names an account must be its user, and the queue
// must let it in; each cause says so, and its remedy is enough.
func TestB24AccountsAreADoor(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 8))
	user := team.name + "-ann"
	ann := team.as(user)
	lab, guests := team.name+"-lab", team.name+"-guests"
	members := team.makeQueue(team.name+"-members", func(s *v1alpha1.ClusterQueueSpec) {
		s.Access = &v1alpha1.QueueAccess{AllowAccounts: []string{team.name + "-root"}}
	})
	team.makeDoor("members", members.Name)
	charged := func(name, account string) *work {
		return team.submitAs(ann, job(name, gpus(1), walltime("10m"), through("members"), annotated(v1alpha1.AccountAnnotation, account)))
	}

	early := charged("early", lab)
	early.mustWait("AccessDenied", "Account "+lab+" does not exist")
	account := team.makeAccount(lab, team.name+"-root", "somebody")
	early.mustWait("AccessDenied", "user "+user+" is no user of Account "+lab)
	team.edit(account, func() { account.Spec.Users = append(account.Spec.Users, v1alpha1.AccountUser{Name: user}) })
	early.mustWait("AccessDenied", "lets in Account "+team.name+"-root and those below it", "and not "+lab)
	team.mustShow([]string{"get", "accounts", lab}, lab, team.name+"-root", "True", "Account "+team.name+"-root does not exist", "shares have no effect")
	team.makeAccount(team.name+"-root", "")
	early.mustRun()
	team.mustShow([]string{"get", "accounts", lab}, lab, team.name+"-root", "True", "2 users may name it; shares have no effect")

	team.makeAccount(guests, "", user)
	guest := charged("guest", guests)
	guest.mustWait("AccessDenied", "and not "+guests)
	team.edit(members, func() { members.Spec.Access.AllowAccounts = append(members.Spec.Access.AllowAccounts, guests) })
	guest.mustRun()

	nobody := team.submitAs(ann, job("nobody", gpus(1), walltime("10m"), through("members")))
	nobody.mustWait("AccessDenied", "no account is named", "berth.dev/account")
	nobody.change(func(j *batchv1.Job) { annotated(v1alpha1.AccountAnnotation, lab)(j) })
	nobody.mustRun()

	silent := team.submitAs(ann, job("silent", gpus(1), walltime("10m"), through("members")))
	silent.mustWait("AccessDenied", "no account is named")
	door := &v1alpha1.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: "members"}}
	team.edit(door, func() { door.Spec.AccountName = lab })
	silent.mustRun()

	// The members of an array are made by the Job controller; who submitted the
	// array counts.
	array := team.submitAs(ann, job("sweep", throttled(2, 2), gpus(1), walltime("10m"), through("members"), annotated(v1alpha1.AccountAnnotation, guests)))
	array.bound(2, patience)
	for _, w := range []*work{early, guest, nobody, silent} {
		if got := w.record().Status.Restarts; got != nil && *got > 0 {
			t.Errorf("%s was started again", w.what())
		}
	}
}

// TestAccountOfARunIsLeftAlone: who is shut out while he runs runs on, and what
// he is charged to can't be changed.
func TestAccountOfARunIsLeftAlone(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	user := team.name + "-ann"
	ann := team.as(user)
	lab := team.makeAccount(team.name+"-lab", "", user)
	runs := team.submitAs(ann, job("runs", gpus(8), walltime("10m"), annotated(v1alpha1.AccountAnnotation, lab.Name)))
	runs.mustRun()
	waits := team.submitAs(ann, job("waits", gpus(8), walltime("10m"), annotated(v1alpha1.AccountAnnotation, lab.Name)))
	waits.mustWait("Resources")
	team.edit(lab, func() { lab.Spec.Users = nil })
	waits.mustWait("AccessDenied", "is no user of Account "+lab.Name)
	if err := runs.tryChange(ann, func(j *batchv1.Job) { j.Annotations[v1alpha1.AccountAnnotation] = "other" }); err == nil {
		t.Error("the account of a running Job could be changed")
	}
	// That answer was given in a plan that would have evicted it too.
	if qw := runs.record(); state(qw) != "Running" || len(qw.Status.Runs) > 1 {
		t.Errorf("the run was touched: %s", describe(qw))
	}
}
