package explain

import (
	"fmt"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
)

// denied says whose rule keeps work out, and who can change that.
func denied(f batch.Facts) string {
	switch batch.Turned(f.Bound) {
	case batch.TurnedMissing:
		return fmt.Sprintf("Account %s does not exist; it starts by itself once an admin makes it, or its author names another in berth.dev/account", f.Account)
	case batch.TurnedCircle:
		return fmt.Sprintf("the accounts above Account %s form a circle (%s); it starts by itself once an admin gives one of them another spec.parentName", f.Account, f.Text)
	case batch.TurnedUser:
		return fmt.Sprintf("%s is no user of Account %s (spec.users); it starts by itself once an admin adds the user, or its author names another account in berth.dev/account",
			user(f.User), f.Account)
	case batch.TurnedDenied:
		below := ""
		if f.Text != string(f.Account) {
			below = ", which is below " + f.Text
		}
		return fmt.Sprintf("ClusterQueue %s keeps Account %s out%s (access.denyAccounts); it starts by itself once an admin lets the account in, or its author names another in berth.dev/account",
			f.Queue, f.Account, below)
	case batch.TurnedOther:
		return fmt.Sprintf("ClusterQueue %s lets in %s (access.allowAccounts), and not %s; it starts by itself once an admin lets the account in, or its author names another in berth.dev/account",
			f.Queue, family(f.Text), f.Account)
	case batch.TurnedNone:
		return fmt.Sprintf("ClusterQueue %s lets in %s (access.allowAccounts), and no account is named; it starts by itself once its author names one in berth.dev/account",
			f.Queue, family(f.Text))
	}
	return Refused(f.Text, f.Queue, f.Selector) + "; it starts by itself once an admin lets the namespace in"
}

// family are accounts with all that are below them.
func family(names string) string {
	if strings.Contains(names, ", ") {
		return "Accounts " + names + " and those below them"
	}
	return "Account " + names + " and those below it"
}

// user is who asked, as a person is told.
func user(name string) string {
	if name == "" {
		return "its submitter, who is not known,"
	}
	return "user " + name
}
