package convert

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// Account converts an Account.
func Account(account *v1alpha1.Account) batch.Account {
	out := batch.Account{Name: batch.AccountName(account.Name), Parent: batch.AccountName(account.Spec.ParentName)}
	for _, user := range account.Spec.Users {
		out.Users = append(out.Users, user.Name)
	}
	slices.Sort(out.Users)
	return out
}

func accountNames(names []string) []batch.AccountName {
	var out []batch.AccountName
	for _, name := range names {
		out = append(out, batch.AccountName(name))
	}
	return out
}

// noShares is what has no effect, and is told where it is set.
const noShares = "shares have no effect: this version does not have fair share yet"

// AccountActive is the condition of an Account among all: whether work may be
// charged to it.
func AccountActive(account *v1alpha1.Account, all batch.Accounts) metav1.Condition {
	out := metav1.Condition{
		Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue, Reason: "Active",
		ObservedGeneration: account.Generation,
	}
	line, circle := all.Line(batch.AccountName(account.Name))
	_, parent := all[batch.AccountName(account.Spec.ParentName)]
	switch {
	case circle:
		names := make([]string, len(line))
		for i, name := range line {
			names[i] = string(name)
		}
		out.Status, out.Reason = metav1.ConditionFalse, "AccountCircle"
		out.Message = "the accounts above it form a circle (" + strings.Join(names, " below ") +
			"); work charged to it waits until one of them has another spec.parentName"
	case account.Spec.ParentName != "" && !parent:
		out.Reason = "ParentNotFound"
		out.Message = fmt.Sprintf("%s; Account %s does not exist, and nothing that is said of it holds for this one; %s", may(account), account.Spec.ParentName, noShares)
	default:
		out.Message = may(account) + "; " + noShares
	}
	return out
}

// may says how many may have work charged to an account.
func may(account *v1alpha1.Account) string {
	switch n := len(account.Spec.Users); n {
	case 0:
		return "nobody may name it (spec.users is empty)"
	case 1:
		return "1 user may name it"
	default:
		return fmt.Sprintf("%d users may name it", n)
	}
}
