package planner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

// verdicts says of each contender why it waits. Answers are the same for equal
// requests, and are worked out once: beside what runs alone, room only grows,
// so that the time for which it is asked makes no difference.
type verdicts struct {
	p      *pass
	known  map[*shape]*batch.Verdict
	moved  map[*contender]string
	lost   map[*contender]string
	crowds map[*shape]*crowd
	heads  map[batch.QueueName]*contender // the first of each queue that waits; nil: some may overtake
}

func newVerdicts(p *pass) *verdicts {
	v := &verdicts{p: p, known: map[*shape]*batch.Verdict{}, moved: map[*contender]string{}, lost: map[*contender]string{}, crowds: map[*shape]*crowd{}}
	if p.Policy.Backfill == batch.BackfillStrict {
		v.heads = map[batch.QueueName]*contender{}
	}
	return v
}

// place is where a contender stands: its index in the order, and its position
// among those of it that still wait, from 1.
type place struct{ index, position int }

// unchanged says whether the answer is the one that was given before: of most
// that wait nothing else need be worked out.
func (v *verdicts) unchanged(c *contender) bool {
	last := c.workload().LastVerdict
	if last == nil {
		return false
	}
	promise := c.workload().Promise
	if c.asksDomain() && last.Facts.Loose != c.looseIn(last.Facts.Flavor) {
		return false
	}
	if c.nomination != nil {
		return last.Reason == batch.ReasonPreempting && timeOf(c.start()).Equal(last.PlannedStart)
	}
	if c.at == nil {
		if !promise.IsZero() || !last.PlannedStart.IsZero() {
			return false
		}
		if last.Facts.InTurn != v.behind(c) {
			return false
		}
		if c.bound != "" {
			return last.Reason == batch.ReasonNotPlanned
		}
		return v.sameGround(c, last)
	}
	start := timeOf(c.start())
	return start.Equal(last.PlannedStart) && !start.After(promise) && !start.After(v.p.now.Add(v.p.window())) &&
		v.sameGround(c, last)
}

// sameGround says whether a contender waits for the reason that it was told, by
// the same quotas or for the same nodes.
func (v *verdicts) sameGround(c *contender, last *batch.Verdict) bool {
	is := v.ofShape(c)
	return last.Reason == is.Reason && last.Facts.Terms == is.Facts.Terms &&
		last.Facts.NotReady == is.Facts.NotReady && last.Facts.Tainted == is.Facts.Tainted
}

// pass notes, on the way through the order, that a record has been looked at.
func (v *verdicts) pass(c *contender) {
	if v.heads != nil && v.heads[c.queue.Name] == nil && !c.starts(v.p) {
		v.heads[c.queue.Name] = c
	}
}

// behind says whether others of its queue wait before a contender that has no
// planned start, where nothing overtakes.
func (v *verdicts) behind(c *contender) bool {
	head := v.heads[c.queue.Name]
	return head != nil && head.claim != c.claim
}

// ofShape is the answer for all that ask for the same.
func (v *verdicts) ofShape(c *contender) *batch.Verdict {
	known, ok := v.known[c.key.shape]
	if !ok {
		judged := v.judge(c)
		known = &judged
		v.known[c.key.shape] = known
	}
	return known
}

func (v *verdicts) verdict(c *contender, at place) batch.Verdict {
	if c.nomination != nil {
		return v.preempting(c, at)
	}
	verdict := *v.ofShape(c)
	verdict.Facts.Queue = c.queue.Name
	verdict.Position = at.position
	if c.at != nil {
		verdict.PlannedStart = timeOf(c.start())
	}
	if verdict.PlannedStart.After(v.p.now.Add(v.p.window())) {
		verdict.PlannedStart = time.Time{}
		verdict.Facts.Window = v.p.window()
	}
	verdict.MovedBy = v.movedBy(c, at)
	if c.bound != "" && c.at == nil {
		verdict.Reason = batch.ReasonNotPlanned
		verdict.Facts.Bound = c.bound
		verdict.Facts.Limit = batch.Amount(limitOf(v.p.Policy, c.bound))
	}
	verdict.Facts.InTurn = c.at == nil && v.behind(c)
	verdict.Facts.Loose = c.looseIn(verdict.Facts.Flavor)
	if last := c.workload().LastVerdict; last != nil && verdict.SameAnswer(*last) {
		return verdict // nobody will read the rest
	}
	verdict.Facts.Asked = asks(c.workload().PodSets)
	if verdict.Reason == batch.ReasonPriority {
		v.ahead(c, at.index, &verdict.Facts)
	}
	if c.at == nil && verdict.Reason.TakesPart() {
		verdict.Facts.Until = c.workload().EndBefore
		if c.long == timeline.Forever {
			verdict.Facts.Walltime = batch.Unlimited
		}
	}
	return verdict
}

// judge says why a request does not start now: it fits beside what runs, and
// planned starts are in the way; or it does not.
func (v *verdicts) judge(c *contender) batch.Verdict {
	p := v.p
	if c.key.shape.absent {
		return verdictOf(batch.ReasonNodesUnavailable, c.key.shape.facts)
	}
	if v, refused := p.unaffordable(c); refused {
		return v
	}
	facts := batch.Facts{}
	inTotal, first := false, true
	for i := range c.options {
		d := c.demand(i)
		need := d.Need
		if !p.line.pays(d.bill, timeline.SpanOf(p.from, d.Long)) {
			continue
		}
		if _, ok := p.line.nodes.At(need, p.from); ok {
			facts.Flavor = c.options[i].flavor
			return verdictOf(batch.ReasonPriority, facts)
		}
		pods, nodes := p.room(need)
		if first || pods > facts.FreeNow {
			first, facts.Flavor, facts.FreeNow, facts.FreeNodes = false, c.options[i].flavor, pods, nodes
		}
		inTotal = inTotal || p.enoughInTotal(c.wideNeed(i))
	}
	v.scarce(c, &facts)
	if c.key.shape.whole {
		facts.Bound = boundWhole
	}
	if domain := c.workload().PodSets[0].Domain; domain != "" && c.options[0].wide != nil {
		facts.Level = domain
	}
	if inTotal {
		return verdictOf(batch.ReasonTopology, facts)
	}
	return verdictOf(batch.ReasonResources, facts)
}

// boundWhole says that whole nodes were asked for.
const boundWhole = "exclusive"

// room is for how many pods of a gang there is room now, and on how many nodes.
func (p *pass) room(need timeline.Need) (pods, nodes int) {
	for i := range need.Sets {
		m, n := p.line.nodes.Room(&need.Sets[i], need.Long, p.from)
		pods += min(m, need.Sets[i].Pods)
		nodes = max(nodes, n)
	}
	return pods, nodes
}

// enoughInTotal says whether the nodes that would do have, taken together, all
// that the gang asks for.
func (p *pass) enoughInTotal(need timeline.Need) bool {
	free, asked := p.totals(need)
	return free.Pods(asked) > 0
}

// totals are what is free of the nodes that would do, and what is asked for.
// Nodes that are not shared, or where whole ones are asked for are not empty,
// have nothing free.
func (p *pass) totals(need timeline.Need) (free, asked batch.Vector) {
	asked = make(batch.Vector, p.fleet.catalog.Len())
	for i := range need.Sets {
		asked.Sub(need.Sets[i].Each, -need.Sets[i].Pods)
	}
	if w := p.fleet.whole; w >= 0 {
		asked[w] = 0
	}
	if len(need.Sets) != 1 || len(need.Sets[0].Nodes) == 0 {
		return p.freeOf(need), asked
	}
	set := &need.Sets[0]
	key := nodesKey{first: &set.Nodes[0], nodes: len(set.Nodes), whole: set.Spare != nil}
	free, ok := p.free[key]
	if !ok {
		free = p.freeOf(need)
		p.free[key] = free
	}
	return free, asked
}

// nodesKey tells apart lists of nodes that one mask has made.
type nodesKey struct {
	first *int32
	nodes int
	whole bool
}

// freeOf is what is free of the nodes that would do.
func (p *pass) freeOf(need timeline.Need) batch.Vector {
	free := make(batch.Vector, p.fleet.catalog.Len())
	seen := make([]bool, len(p.Nodes))
	for i := range need.Sets {
		set := &need.Sets[i]
		for _, node := range set.Nodes {
			if seen[node] {
				continue
			}
			seen[node] = true
			has := p.line.nodes.FreeAt(int(node), p.from)
			if w := p.fleet.whole; w >= 0 && (has[w] <= 0 || (set.Spare != nil && has[w] < wholeNode)) {
				continue
			}
			for r, amount := range has {
				free[r] += max(amount, 0)
			}
		}
	}
	if w := p.fleet.whole; w >= 0 {
		free[w] = 0
	}
	return free
}

// scarce names the resource that is short in total, GPUs before others; if none
// is, the one that is asked for, likewise.
func (v *verdicts) scarce(c *contender, facts *batch.Facts) {
	p := v.p
	i := slices.IndexFunc(c.options, func(o option) bool { return o.flavor == facts.Flavor })
	need := c.wideNeed(max(i, 0))
	free, asked := p.totals(need)
	best, short := -1, false
	for r := range asked {
		if asked[r] <= 0 {
			continue
		}
		lacks := asked[r] > free[r]
		better := lacks && !short || lacks == short && p.fleet.catalog.Name(r) == batch.ResourceGPU
		if best < 0 || better {
			best, short = r, lacks
		}
	}
	if best < 0 {
		return
	}
	facts.Resource, facts.Need, facts.Free = p.fleet.catalog.Name(best), asked[best], free[best]
	seen := make([]bool, len(p.Nodes))
	for i := range need.Sets {
		for _, node := range need.Sets[i].Nodes {
			if !seen[node] {
				seen[node] = true
				facts.Limit += p.fleet.capacity[node][best]
			}
		}
	}
}

// ahead counts the higher-ranked planned starts on nodes that the contender
// could use.
func (v *verdicts) ahead(c *contender, index int, facts *batch.Facts) {
	for _, other := range v.p.order[:index] {
		if v.heads == nil {
			break
		}
		if v.inTurn(c, other) && !other.starts(v.p) {
			facts.Bound, facts.First = boundTurn, nameOf(other.workload())
			return
		}
	}
	crowd := v.crowdBefore(c, index)
	if facts.Ahead = crowd.size; crowd.size > 0 {
		facts.First, facts.FirstAt = nameOf(crowd.first.workload()), timeOf(crowd.first.start())
	}
	if crowd.byQuota {
		facts.Bound = boundQuota // on others
	}
}

// crowd is who of the order, up to an index, has a planned start on nodes that
// a request could use, or by the quotas that it needs.
type crowd struct {
	index   int
	mine    []bool // the nodes
	size    int
	first   *contender
	byQuota bool
}

// crowdBefore is the crowd before a contender. Equal requests have the same, and
// are asked for in order: only those in between are looked at.
func (v *verdicts) crowdBefore(c *contender, index int) *crowd {
	known := v.crowds[c.key.shape]
	if known == nil || known.index > index {
		known = &crowd{mine: make([]bool, len(v.p.Nodes))}
		v.crowds[c.key.shape] = known
		for _, o := range c.options {
			for _, s := range o.sets {
				for _, node := range s.Nodes {
					known.mine[node] = true
				}
			}
		}
	}
	for _, other := range v.p.order[known.index:index] {
		if !other.placed() || other.starts(v.p) {
			continue
		}
		onNodes := slices.ContainsFunc(other.place.Seats, func(s timeline.Seat) bool { return known.mine[s.Node] })
		if !onNodes && !v.p.meetsQuota(c, other) {
			continue
		}
		if known.size++; known.first == nil {
			known.first = other
		}
		known.byQuota = known.byQuota || !onNodes
	}
	known.index = index
	return known
}

// boundTurn says that nothing overtakes.
const boundTurn = "Strict"

// inTurn says whether one waits for the turn of another before it in its queue.
func (v *verdicts) inTurn(c, other *contender) bool {
	return v.p.Policy.Backfill == batch.BackfillStrict && c.queue == other.queue && c.claim != other.claim
}

func nameOf(w *batch.Workload) string { return w.Namespace + "/" + w.Name }

// movedBy names what made a planned start later than it was promised.
func (v *verdicts) movedBy(c *contender, at place) string {
	promise, revoked := c.workload().Promise, c.workload().Revoked
	if promise.IsZero() && !revoked.IsZero() && (c.at == nil || timeOf(c.start()).After(revoked)) {
		v.moved[c] = "edit of " + cmp.Or(c.workload().RevokedBy, nameOf(c.workload()))
		return v.moved[c]
	}
	if promise.IsZero() || (c.at != nil && !timeOf(c.start()).After(promise)) {
		return ""
	}
	by := v.mover(c, at)
	v.moved[c] = by
	return by
}

func (v *verdicts) mover(c *contender, at place) string {
	if by := v.loss(c); by != "" {
		return by
	}
	if by := v.p.lengthened(c); by != "" {
		return "edit of " + by
	}
	if by := v.pushed(c, at); by != "" {
		return by
	}
	if c.bound != "" {
		return fmt.Sprintf("%d higher-ranked workloads", at.position-1)
	}
	if c.waiting.Held == nil {
		return "a restart of Berth: where it was planned is not known any more"
	}
	return "a change of the workload, its queue or the nodes"
}

// loss is what has become of the place that was promised; empty: nothing.
func (v *verdicts) loss(c *contender) string {
	if c.fell {
		return v.lostPlace(c)
	}
	if by := v.p.ousted[c.workload().ID]; by != nil {
		return "a place that is made for " + nameOf(by)
	}
	if by := v.lostNode(c, c.waiting.Held); by != "" {
		return by
	}
	return v.overrun(c)
}

// lostPlace says what has become of a place that was kept.
func (v *verdicts) lostPlace(c *contender) string {
	const text = "its place, which can't be kept for it any more"
	n := v.p.nominationOf(c.workload())
	if n == nil {
		return text
	}
	if node := v.lostNode(c, &n.Allocation); node != "" {
		return text + ": " + node
	}
	return text
}

// pushed names what made those before a contender take its place; empty: nothing
// that is known.
func (v *verdicts) pushed(c *contender, at place) string {
	for _, other := range v.p.order[:at.index] {
		if _, fresh := v.p.named[other.workload().ID]; fresh && v.meets(c, other) {
			return "a place that is made for " + nameOf(other.workload())
		}
		if other.arrived && (v.meets(c, other) || v.inTurn(c, other)) {
			return came(other.workload())
		}
		if by := v.moved[other]; by != "" && (v.meets(c, other) || v.inTurn(c, other)) {
			return by
		}
		// It starts no later itself, as it took the place of this one.
		if other.at != nil && v.lostBefore(other) != "" && v.meets(c, other) {
			return v.lostBefore(other)
		}
	}
	return ""
}

// lostBefore is lostNode of one that may be asked about for each behind it.
func (v *verdicts) lostBefore(c *contender) string {
	by, known := v.lost[c]
	if !known {
		by = v.lostNode(c, c.waiting.Held)
		v.lost[c] = by
	}
	return by
}

// came says how higher-ranked work came to be before another.
func came(w *batch.Workload) string {
	switch {
	case w.RevokedBy != "":
		return "edit of " + w.RevokedBy + ", higher-ranked " + nameOf(w)
	case !w.Revoked.IsZero():
		return "edit of higher-ranked " + nameOf(w)
	}
	return "higher-ranked arrival " + nameOf(w)
}

// lostNode finds a node of a placement that would not do any more.
func (v *verdicts) lostNode(c *contender, held *batch.Allocation) string {
	if held == nil {
		return ""
	}
	for _, placement := range held.PodSets {
		for _, host := range placement.Hosts {
			i, ok := v.p.fleet.index[host]
			switch {
			case !ok:
				return "node " + string(host) + " is gone"
			case !v.p.Nodes[i].Node.Ready:
				return "node " + string(host) + " is not ready"
			case c.key.shape.absent || !slices.ContainsFunc(c.options, func(o option) bool { return o.has(int32(i)) }):
				return "node " + string(host) + " takes no new work"
			}
		}
	}
	return ""
}

func (o option) has(node int32) bool {
	return slices.ContainsFunc(o.sets, func(s timeline.Set) bool {
		_, ok := slices.BinarySearch(s.Nodes, node)
		return ok
	})
}

// overrun finds what should have ended on the nodes that were promised; after a
// restart these are unknown, and any that would do counts.
func (v *verdicts) overrun(c *contender) string {
	for i, view := range v.p.Nodes {
		if !v.promised(c, view.Node.Name, int32(i)) {
			continue
		}
		for k := range view.Charges {
			if charge := &view.Charges[k]; charge.Overdue(v.p.now) && !v.p.leaving[charge.By] {
				return overrunOf(charge)
			}
		}
	}
	if charge := v.p.quotaOverrun(c); charge != nil {
		return overrunOf(charge)
	}
	return ""
}

func overrunOf(charge *batch.Charge) string {
	if charge.Until.Equal(batch.AnyMoment()) {
		return "pods of " + charge.Name + " that are not gone yet"
	}
	return "overrun of " + charge.Name
}

func (v *verdicts) promised(c *contender, name batch.NodeName, index int32) bool {
	held := c.waiting.Held
	if held == nil {
		return slices.ContainsFunc(c.options, func(o option) bool { return o.has(index) })
	}
	return slices.ContainsFunc(held.PodSets, func(p batch.Placement) bool { return slices.Contains(p.Hosts, name) })
}

// meets says whether a higher-ranked one holds a node that the contender could
// use.
func (v *verdicts) meets(c, other *contender) bool {
	onNodes := other.placed() && slices.ContainsFunc(other.place.Seats, func(s timeline.Seat) bool {
		return slices.ContainsFunc(c.options, func(o option) bool { return o.has(int32(s.Node)) })
	})
	return onNodes || v.p.meetsQuota(c, other)
}
