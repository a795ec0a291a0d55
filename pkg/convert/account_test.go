package convert_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

func TestAnAccountSaysWhetherWorkMayBeChargedToIt(t *testing.T) {
	t.Parallel()
	all := batch.Accounts{}
	account := func(name, parent string, users ...string) *v1alpha1.Account {
		out := &v1alpha1.Account{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.AccountSpec{ParentName: parent}}
		for _, user := range users {
			out.Spec.Users = append(out.Spec.Users, v1alpha1.AccountUser{Name: user})
		}
		converted := convert.Account(out)
		all[converted.Name] = &converted
		return out
	}
	const shares = "shares have no effect: this version does not have fair share yet"
	tests := []struct {
		account      *v1alpha1.Account
		status       metav1.ConditionStatus
		reason, want string
	}{
		{account("root", ""), "True", "Active", "nobody may name it (spec.users is empty); " + shares},
		{account("lab", "root", "ann"), "True", "Active", "1 user may name it; " + shares},
		{account("orphan", "gone", "ann", "bob"), "True", "ParentNotFound", "2 users may name it; Account gone does not exist, and nothing that is said of it holds for this one; " + shares},
		{account("a", "b", "ann"), "False", "AccountCircle", "the accounts above it form a circle (a below b below a); work charged to it waits until one of them has another spec.parentName"},
		{account("below", "a", "ann"), "False", "AccountCircle", "the accounts above it form a circle (below below a below b below a); work charged to it waits until one of them has another spec.parentName"},
	}
	account("b", "a")
	for _, test := range tests {
		got := convert.AccountActive(test.account, all)
		want := metav1.Condition{Type: v1alpha1.ConditionActive, Status: test.status, Reason: test.reason, Message: test.want}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.account.Name, diff)
		}
	}
}

func TestWhatIsSaidOfAccountsIsRead(t *testing.T) {
	t.Parallel()
	queue, err := convert.Queue(&v1alpha1.ClusterQueue{Spec: v1alpha1.ClusterQueueSpec{
		Access: &v1alpha1.QueueAccess{AllowAccounts: []string{"lab", "office"}, DenyAccounts: []string{"guests"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]batch.AccountName{{"lab", "office"}, {"guests"}}, [][]batch.AccountName{queue.AllowAccounts, queue.DenyAccounts}); diff != "" || queue.Access != nil {
		t.Errorf("namespaces %v, accounts (-want +got):\n%s", queue.Access, diff)
	}
	account := convert.Account(&v1alpha1.Account{Spec: v1alpha1.AccountSpec{Users: []v1alpha1.AccountUser{{Name: "bob"}, {Name: "ann"}}}})
	if diff := cmp.Diff([]string{"ann", "bob"}, account.Users); diff != "" {
		t.Errorf("users, ascending (-want +got):\n%s", diff)
	}
	door := convert.LocalQueue(&v1alpha1.LocalQueue{Spec: v1alpha1.LocalQueueSpec{AccountName: "lab"}})
	workload := convert.Workload(&v1alpha1.QueuedWorkload{Spec: v1alpha1.QueuedWorkloadSpec{AccountName: "office", Submitter: "ann"}})
	if door.Account != "lab" || workload.Account != "office" || workload.Submitter != "ann" {
		t.Errorf("LocalQueue %q, workload %q of %q", door.Account, workload.Account, workload.Submitter)
	}
}
