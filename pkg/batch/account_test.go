package batch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
)

func accounts(list ...batch.Account) batch.Accounts {
	out := batch.Accounts{}
	for i := range list {
		out[list[i].Name] = &list[i]
	}
	return out
}

func TestALineOfAccountsEndsWhereItCannotGoOn(t *testing.T) {
	t.Parallel()
	all := accounts(
		batch.Account{Name: "root"}, batch.Account{Name: "lab", Parent: "root"}, batch.Account{Name: "group", Parent: "lab"},
		batch.Account{Name: "orphan", Parent: "gone"},
		batch.Account{Name: "a", Parent: "b"}, batch.Account{Name: "b", Parent: "a"}, batch.Account{Name: "below", Parent: "a"},
		batch.Account{Name: "self", Parent: "self"},
	)
	for _, test := range []struct {
		name   batch.AccountName
		want   []batch.AccountName
		circle bool
	}{
		{"root", []batch.AccountName{"root"}, false},
		{"group", []batch.AccountName{"group", "lab", "root"}, false},
		{"orphan", []batch.AccountName{"orphan"}, false},
		{"missing", nil, false},
		{"", nil, false},
		{"a", []batch.AccountName{"a", "b", "a"}, true},
		{"below", []batch.AccountName{"below", "a", "b", "a"}, true},
		{"self", []batch.AccountName{"self", "self"}, true},
	} {
		got, circle := all.Line(test.name)
		if diff := cmp.Diff(test.want, got); diff != "" || circle != test.circle {
			t.Errorf("%q: circle %v, want %v (-want +got):\n%s", test.name, circle, test.circle, diff)
		}
	}
}

func TestWhoIsTurnedAway(t *testing.T) {
	t.Parallel()
	all := accounts(
		batch.Account{Name: "lab", Users: []string{"ann"}}, batch.Account{Name: "group", Parent: "lab", Users: []string{"ann", "bob"}},
		batch.Account{Name: "guests", Users: []string{"eve"}}, batch.Account{Name: "orphan", Parent: "lost", Users: []string{"ann"}},
		batch.Account{Name: "a", Parent: "b", Users: []string{"ann"}}, batch.Account{Name: "b", Parent: "a"},
	)
	names := func(list ...batch.AccountName) []batch.AccountName { return list }
	for _, test := range []struct {
		name        string
		account     batch.AccountName
		user        string
		allow, deny []batch.AccountName
		want        batch.Turned
		by          batch.AccountName
	}{
		{name: "without rules anybody is let in", user: "eve"},
		{name: "a user of his account", account: "lab", user: "ann"},
		{name: "the user of an account below", account: "lab", user: "bob", want: batch.TurnedUser},
		{name: "the user of another account", account: "group", user: "eve", want: batch.TurnedUser},
		{name: "nobody", account: "lab", want: batch.TurnedUser},
		{name: "an account that does not exist", account: "x", user: "ann", want: batch.TurnedMissing},
		{name: "an account that does not exist is let in nowhere", account: "x", user: "ann", allow: names("x"), want: batch.TurnedMissing},
		{name: "a circle", account: "a", user: "ann", want: batch.TurnedCircle},
		{name: "allowed", account: "lab", user: "ann", allow: names("guests", "lab")},
		{name: "below an allowed one", account: "group", user: "ann", allow: names("lab")},
		{name: "above an allowed one", account: "lab", user: "ann", allow: names("group"), want: batch.TurnedOther},
		{name: "not allowed", account: "guests", user: "eve", allow: names("lab"), want: batch.TurnedOther},
		{name: "no account where one is asked for", user: "eve", allow: names("lab"), want: batch.TurnedNone},
		{name: "no account where one is denied", user: "eve", deny: names("lab")},
		{name: "denied", account: "lab", user: "ann", deny: names("lab"), want: batch.TurnedDenied, by: "lab"},
		{name: "below a denied one", account: "group", user: "ann", deny: names("lab"), want: batch.TurnedDenied, by: "lab"},
		{name: "denied and allowed", account: "group", user: "ann", allow: names("group"), deny: names("lab"), want: batch.TurnedDenied, by: "lab"},
		{name: "not denied, but not allowed", account: "guests", user: "eve", allow: names("lab"), deny: names("group"), want: batch.TurnedOther},
		{name: "below one that does not exist", account: "orphan", user: "ann", allow: names("lost"), want: batch.TurnedOther},
	} {
		who := batch.Claimant{Account: test.account, User: test.user}
		got, by := all.Turn(who), batch.AccountName("")
		if got == "" {
			got, by = (&batch.Queue{AllowAccounts: test.allow, DenyAccounts: test.deny}).Turn(who, all)
		}
		if got != test.want || by != test.by {
			t.Errorf("%s: %q by %q, want %q by %q", test.name, got, by, test.want, test.by)
		}
	}
}

func TestOwnWordBeatsThatOfTheLocalQueue(t *testing.T) {
	t.Parallel()
	local := &batch.LocalQueue{Account: "theirs"}
	for _, test := range []struct {
		own   batch.AccountName
		local *batch.LocalQueue
		want  batch.AccountName
	}{{"", nil, ""}, {"own", nil, "own"}, {"", local, "theirs"}, {"own", local, "own"}} {
		who := batch.ClaimantOf(&batch.Workload{Account: test.own, Submitter: "ann"}, test.local)
		if want := (batch.Claimant{Account: test.want, User: "ann"}); who != want {
			t.Errorf("own %q, LocalQueue %+v: %+v, want %+v", test.own, test.local, who, want)
		}
	}
}
