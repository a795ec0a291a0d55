package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
	"github.com/berth-dev/berth/pkg/topology"
)

// A gang whose pods must all lie under one domain of a level has an option for
// each domain of each flavor: the nodes of a domain are asked like those of a
// flavor, for a start now, a planned one, and a place that others must give up.

// domainsMax bounds how many domains of a flavor a gang may be tried in.
const domainsMax = 1000

// Why a flavor has no domain of a level. It is a bound in a verdict.
const (
	astrayTopology = "topology"      // the flavor's Topology does not exist
	astrayLevel    = "level"         // it has no such level
	astrayNone     = "domain labels" // no node has the labels of the level
	astrayMany     = "domains"       // there are more than are tried
)

// boundDomain says that all pods must lie under one domain.
const boundDomain = "domain"

// domainKey tells apart what the nodes were asked.
type domainKey struct {
	topology batch.TopologyName
	level    string
}

// tryIn tries a request in a flavor, or in each domain of it that could do.
// Without a topology all nodes are one domain.
func (p *pass) tryIn(r request, flavor *batch.Flavor) []*attempt {
	level := r.sets[0].Domain
	if level == "" || flavor == nil || flavor.Topology == "" {
		return []*attempt{p.tryOnce(r, flavor, nil)}
	}
	domains, astray := p.domainsOf(domainKey{topology: flavor.Topology, level: level})
	if astray != "" {
		return []*attempt{{flavor: flavor.Name, astray: astray}}
	}
	all := make([]*attempt, len(domains))
	for i := range domains {
		all[i] = p.tryOnce(r, flavor, &domains[i])
	}
	return all
}

// domainsOf are the domains of a level, by path, or why there are none.
func (p *pass) domainsOf(key domainKey) (domains []topology.Domain, astray string) {
	tree, ok := p.Topologies[key.topology]
	if !ok {
		return nil, astrayTopology
	}
	if !slices.ContainsFunc(tree.Levels, func(l batch.TopologyLevel) bool { return l.Name == key.level }) {
		return nil, astrayLevel
	}
	domains, ok = again(p.fleet.domains, p.fleet.before.domains, key)
	if !ok {
		domains, _ = topology.Domains(tree, key.level, p.Nodes)
		p.fleet.own()
		p.fleet.domains[key] = domains
	}
	switch {
	case len(domains) == 0:
		return nil, astrayNone
	case len(domains) > domainsMax:
		return nil, astrayMany
	}
	return domains, ""
}

// asksDomain says whether all pods of a contender must lie under one domain.
func (c *contender) asksDomain() bool {
	sets := c.workload().PodSets
	return len(sets) > 0 && sets[0].Domain != ""
}

// looseIn is what keeps nothing together of a contender in a flavor that has no
// topology.
func (c *contender) looseIn(flavor batch.FlavorName) batch.Loose {
	if !c.asksDomain() {
		return batch.Loose{}
	}
	for i := range c.options {
		if c.options[i].flavor == flavor && c.options[i].domain == "" {
			return batch.Loose{Level: c.workload().PodSets[0].Domain, Queue: c.queue.Name, Flavor: flavor}
		}
	}
	return batch.Loose{}
}

// widen tells each option that is a domain of all domains of its flavor.
func widen(options []option) {
	for i := 0; i < len(options); {
		end := endOfGroup(options, i)
		if options[i].domain != "" {
			wide := slices.Clone(options[i].sets)
			for k := range wide {
				wide[k].Nodes = nil
				for _, o := range options[i:end] {
					wide[k].Nodes = append(wide[k].Nodes, o.sets[k].Nodes...)
				}
				slices.Sort(wide[k].Nodes)
			}
			for k := i; k < end; k++ {
				options[k].wide = wide
			}
		}
		i = end
	}
}

// endOfGroup is the index after the last option that is a domain of the same
// flavor as the one at an index, or of no domain at all.
func endOfGroup(options []option, i int) int {
	end := i + 1
	for options[i].domain != "" && end < len(options) && options[end].domain != "" && options[end].flavor == options[i].flavor {
		end++
	}
	return end
}

// wideNeed is what a contender needs of all domains of an option's flavor taken
// together.
func (c *contender) wideNeed(option int) timeline.Need {
	need := c.demand(option).Need
	if wide := c.options[option].wide; wide != nil {
		need.Sets = wide
	}
	return need
}

// leftIn is how much is free in a domain over a span, of the resource that the
// request asks most of what there is. Where the same gang goes, the domain that
// has least free is left with least.
func (b *board) leftIn(o *option, span timeline.Span) batch.Amount {
	sum := batch.Amount(0)
	seen := map[int32]bool{}
	for i := range o.sets {
		for _, node := range o.sets[i].Nodes {
			if !seen[node] {
				seen[node] = true
				sum += max(0, b.nodes.Free(int(node), span)[o.decides])
			}
		}
	}
	return sum
}

// mostIn is how many pods of an elastic gang could start in a domain beyond the
// fewest; 0 for a gang that is not elastic.
func (b *board) mostIn(o *option, sets []batch.PodSet, span timeline.Span) (more int) {
	for i := range sets {
		if sets[i].Least() == sets[i].Count {
			continue
		}
		grown := o.sets[i]
		grown.Pods = sets[i].Count
		pods, _ := b.nodes.Room(&grown, timeline.Long(span.Till-span.From), span.From)
		more += min(pods, sets[i].Count) - sets[i].Least()
	}
	return more
}

// tightest is, of the domains of one flavor in which a stay of the same start is
// found, the one with the least free; of equal ones the first by path. An elastic
// gang goes where most of it can start.
func (b *board) tightest(c *contender, first int, found stay, find func(option int) (stay, bool)) (option int, s stay) {
	option, s = first, found
	end := endOfGroup(c.options, first)
	if end == first+1 {
		return option, s
	}
	sets := c.workload().PodSets
	most, least := b.mostIn(&c.options[first], sets, found.Span), b.leftIn(&c.options[first], found.Span)
	for i := first + 1; i < end; i++ {
		other, ok := find(i)
		if !ok || other.Span != found.Span || b.borrows(other) != b.borrows(found) {
			continue
		}
		more, left := b.mostIn(&c.options[i], sets, other.Span), b.leftIn(&c.options[i], other.Span)
		if more > most || more == most && left < least {
			option, s, most, least = i, other, more, left
		}
	}
	return option, s
}

// decides is the resource by which domains are compared: GPUs, where pods ask for
// them, else the first that they ask for.
func (p *pass) decides(sets []timeline.Set) int {
	first := -1
	for i := range sets {
		for r, amount := range sets[i].Each {
			name := p.fleet.catalog.Name(r)
			switch {
			case amount <= 0 || name == batch.ResourcePods || name == resourceWhole:
			case name == batch.ResourceGPU:
				return r
			case first < 0:
				first = r
			}
		}
	}
	return max(first, 0)
}

// closer is the attempt that tells best why a request never fits: the first,
// but of the domains of one flavor the one with the most room.
func (p *pass) closer(a, b *attempt) *attempt {
	if a == nil || b == nil || a.flavor != b.flavor || a.domain == nil || b.domain == nil {
		return first(a, b)
	}
	if p.vacancy(b) > p.vacancy(a) {
		return b
	}
	return a
}

// vacancy is for how many pods there is room in an attempt when all is empty.
func (p *pass) vacancy(a *attempt) (pods int) {
	for i := range a.all {
		n, _ := p.fleet.vacant().Room(&a.all[i], timeline.Forever, p.from)
		pods += min(n, a.all[i].Pods)
	}
	return pods
}

// noDomain says why there is no domain for a request.
func (p *pass) noDomain(sets []batch.PodSet, q *batch.Queue, a *attempt) batch.Verdict {
	facts := batch.Facts{Queue: q.Name, Asked: asks(sets), Flavor: a.flavor, Bound: a.astray, Level: sets[0].Domain}
	name := p.Flavors[a.flavor].Topology
	facts.Text = string(name)
	switch a.astray {
	case astrayLevel:
		var levels []string
		for _, l := range p.Topologies[name].Levels {
			levels = append(levels, l.Name)
		}
		facts.Text = fmt.Sprintf("%s: %s", name, strings.Join(levels, ", "))
	case astrayMany:
		facts.Limit = domainsMax
	}
	return verdictOf(batch.ReasonNeverFits, facts)
}
