package planner

import (
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

func bound(sets []batch.PodSet, q *batch.Queue, name string, need, limit int) batch.Verdict {
	return verdictOf(batch.ReasonNeverFits, batch.Facts{
		Queue: q.Name, Asked: asks(sets), Bound: name, Need: batch.Amount(need), Limit: batch.Amount(limit),
	})
}

// neverFits says what is missing, in the flavor that is listed first.
func (p *pass) neverFits(sets []batch.PodSet, q *batch.Queue, a *attempt) batch.Verdict {
	facts := batch.Facts{Queue: q.Name, Asked: asks(sets)}
	if a == nil {
		facts.Bound = "flavors"
		return verdictOf(batch.ReasonNeverFits, facts)
	}
	facts.Flavor = a.flavor
	if a.astray != "" {
		return p.noDomain(sets, q, a)
	}
	for i := range sets {
		if unknown := p.fleet.catalog.Unknown(sets[i].Requests); unknown != "" {
			facts.Bound, facts.Resource, facts.Need = "resource", unknown, sets[i].Requests[unknown]
			return verdictOf(batch.ReasonNeverFits, facts)
		}
		if len(a.all[i].Nodes) == 0 {
			facts.Bound = "selector"
			return verdictOf(batch.ReasonNeverFits, facts)
		}
		if r, limit, ok := p.tooLarge(&a.all[i]); ok {
			facts.Bound, facts.Resource, facts.Need, facts.Limit = "pod", p.fleet.catalog.Name(r), a.all[i].Each[r], limit
			return verdictOf(batch.ReasonNeverFits, facts)
		}
		pods, _ := p.fleet.vacant().Room(&a.all[i], timeline.Forever, p.from)
		if least := sets[i].Least(); pods < least {
			facts.Bound, facts.Need, facts.Limit = "gang", batch.Amount(least), batch.Amount(pods)
			if a.domain != nil {
				facts.Bound, facts.Level, facts.Text = boundDomain, sets[0].Domain, a.domain.Name()
			}
			facts.FreeNodes = len(a.all[i].Nodes)
			facts.Resource = p.fleet.catalog.Name(p.shortest(&a.all[i]))
			return verdictOf(batch.ReasonNeverFits, facts)
		}
	}
	facts.Bound = "together"
	return verdictOf(batch.ReasonNeverFits, facts)
}

// tooLarge finds the resource of which one pod asks more than any node has.
func (p *pass) tooLarge(set *timeline.Set) (resource int, limit batch.Amount, ok bool) {
	for r, need := range set.Each {
		limit = 0
		for _, node := range set.Nodes {
			limit = max(limit, p.fleet.capacity[node][r])
		}
		if need > limit {
			return r, limit, true
		}
	}
	return 0, 0, false
}

// shortest is the resource that runs out first when pods of a set fill the
// empty nodes.
func (p *pass) shortest(set *timeline.Set) (resource int) {
	least := batch.Amount(-1)
	for r, need := range set.Each {
		if need <= 0 {
			continue
		}
		room := batch.Amount(0)
		for _, node := range set.Nodes {
			room += p.fleet.capacity[node][r] / need
		}
		if least < 0 || room < least {
			resource, least = r, room
		}
	}
	return resource
}

func asks(sets []batch.PodSet) []batch.Ask {
	out := make([]batch.Ask, len(sets))
	for i := range sets {
		out[i] = batch.Ask{Pods: sets[i].Count, Least: sets[i].Least(), Requests: sets[i].Requests}
	}
	return out
}
