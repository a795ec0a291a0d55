package planner

import (
	"slices"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
)

// admit says whether a queue lets a claimant in, and starts work at all.
func (p *pass) admit(who batch.Claimant, c *contender) batch.Verdict {
	if why, by := c.queue.Turn(who, p.Accounts); why != "" {
		return p.turned(who, why, c.queue, by)
	}
	return p.gate(c.workload(), c.queue)
}

// turned says why an account, or work without one, is not let in. By is the
// account that the rule names.
func (p *pass) turned(who batch.Claimant, why batch.Turned, queue *batch.Queue, by batch.AccountName) batch.Verdict {
	facts := batch.Facts{Bound: string(why), Account: who.Account, User: who.User, Queue: queue.Name}
	switch why {
	case batch.TurnedMissing, batch.TurnedUser:
		facts.Queue = ""
	case batch.TurnedCircle:
		facts.Queue = ""
		line, _ := p.Accounts.Line(who.Account)
		facts.Text = accountNames(line, " below ")
	case batch.TurnedDenied:
		facts.Text = string(by)
	case batch.TurnedOther, batch.TurnedNone:
		facts.Text = accountNames(slices.Sorted(slices.Values(queue.AllowAccounts)), ", ")
	}
	return verdictOf(batch.ReasonAccessDenied, facts)
}

// accountsMax bounds how many accounts an answer names.
const accountsMax = 10

func accountNames(accounts []batch.AccountName, between string) string {
	var out []string
	for i, name := range accounts {
		if i == accountsMax {
			out = append(out, "…")
			break
		}
		out = append(out, string(name))
	}
	return strings.Join(out, between)
}
