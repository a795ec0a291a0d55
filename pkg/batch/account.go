package batch

import "slices"

// Account is who is charged for work, and who may have it charged.
type Account struct {
	Name   AccountName
	Parent AccountName // the account above it; empty: none
	Users  []string    // who may name it, as the API server knows them; ascending
}

// Accounts are all accounts, by name.
type Accounts map[AccountName]*Account

// Line is an account with those above it, from itself on. A parent that does
// not exist ends it. Circle says that it comes back to itself: then nobody can
// tell what is above what.
func (a Accounts) Line(name AccountName) (line []AccountName, circle bool) {
	for at, ok := a[name]; ok; at, ok = a[at.Parent] {
		if slices.Contains(line, at.Name) {
			return append(line, at.Name), true
		}
		line = append(line, at.Name)
	}
	return line, false
}

// Turned is why work may not be charged as it asks to be; empty: it may.
type Turned string

// The ways to be turned away at the door of a queue, or of an account.
const (
	TurnedMissing Turned = "Account"                // the account does not exist
	TurnedCircle  Turned = "Account.parentName"     // the account is above itself
	TurnedUser    Turned = "Account.users"          // its submitter is no user of the account
	TurnedDenied  Turned = "denyAccounts"           // the queue keeps the account, or one above it, out
	TurnedOther   Turned = "allowAccounts"          // the queue lets others in
	TurnedNone    Turned = "allowAccounts, account" // the queue lets accounts in, and no account is named
)

// Claimant is who asks to be let in: the account to be charged, empty for none,
// and the user who asks.
type Claimant struct {
	Account AccountName
	User    string
}

// ClaimantOf is whom a workload is charged to. Its own word counts, then that of
// its LocalQueue (nil: there is none).
func ClaimantOf(w *Workload, local *LocalQueue) Claimant {
	who := Claimant{Account: w.Account, User: w.Submitter}
	if who.Account == "" && local != nil {
		who.Account = local.Account
	}
	return who
}

// Turn says whether a claimant is turned away wherever it goes: who is not of
// an account may not have it charged.
func (a Accounts) Turn(who Claimant) Turned {
	if who.Account == "" {
		return ""
	}
	account, ok := a[who.Account]
	if !ok {
		return TurnedMissing
	}
	if _, circle := a.Line(who.Account); circle {
		return TurnedCircle
	}
	if _, is := slices.BinarySearch(account.Users, who.User); !is {
		return TurnedUser
	}
	return ""
}

// Turn says whether a queue turns a claimant away. What is said of an account is
// said of all below it, and who is kept out is kept out whatever else lets him
// in. By is the account that is named in denyAccounts.
func (q *Queue) Turn(who Claimant, accounts Accounts) (why Turned, by AccountName) {
	line, _ := accounts.Line(who.Account)
	for _, name := range line {
		if slices.Contains(q.DenyAccounts, name) {
			return TurnedDenied, name
		}
	}
	if len(q.AllowAccounts) == 0 || slices.ContainsFunc(line, func(n AccountName) bool { return slices.Contains(q.AllowAccounts, n) }) {
		return "", ""
	}
	if who.Account == "" {
		return TurnedNone, ""
	}
	return TurnedOther, ""
}
