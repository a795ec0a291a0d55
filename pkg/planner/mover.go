package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/timeline"
)

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
	if c.turnedBy != nil {
		return text + ": " + nameOf(c.turnedBy) + " could take it back"
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
		if other.at != nil && v.displaced(other) != "" && v.meets(c, other) {
			return v.displaced(other)
		}
	}
	return ""
}

// displaced says what has become of the nodes of one that may be asked about for each
// behind it: one is lost, or something is over its time there; empty: neither.
func (v *verdicts) displaced(c *contender) string {
	by, known := v.lost[c]
	if !known {
		if by = v.lostNode(c, c.waiting.Held); by == "" {
			by = v.overrunOn(c.waiting.Held)
		}
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
	for set, placement := range held.PodSets {
		for _, host := range placement.Hosts {
			i, ok := v.p.fleet.index[host]
			switch {
			case !ok:
				return "node " + string(host) + " is gone"
			case !v.p.Nodes[i].Node.Ready:
				return "node " + string(host) + " is not ready"
			case !v.p.takes(i, c, set, held.Flavor):
				return "node " + string(host) + " takes no new work"
			}
		}
	}
	return ""
}

// takes says whether a node takes new work of a pod set in a flavor.
func (p *pass) takes(node int, c *contender, set int, flavor batch.FlavorName) bool {
	if sets := c.workload().PodSets; c.key.shape.absent && set < len(sets) {
		_, usable := slices.BinarySearch(p.mask(&sets[set], p.Flavors[flavor]).usable, int32(node))
		return usable
	}
	return slices.ContainsFunc(c.options, func(o option) bool { return o.has(int32(node)) })
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
	if by := v.overrunOn(c.waiting.Held); by != "" {
		return by
	}
	if c.waiting.Held == nil {
		for i := range v.p.Nodes {
			if by := v.overrunAt(i); by != "" && slices.ContainsFunc(c.options, func(o option) bool { return o.has(int32(i)) }) {
				return by
			}
		}
	}
	if charge := v.p.quotaOverrun(c); charge != nil {
		return overrunOf(charge)
	}
	return ""
}

// overrunOn finds what should have ended on the nodes of a placement; empty: nothing.
func (v *verdicts) overrunOn(held *batch.Allocation) string {
	if held == nil {
		return ""
	}
	for _, placement := range held.PodSets {
		for _, host := range placement.Hosts {
			if i, known := v.p.fleet.index[host]; known {
				if by := v.overrunAt(i); by != "" {
					return by
				}
			}
		}
	}
	return ""
}

// overrunAt finds what should have ended on a node; empty: nothing.
func (v *verdicts) overrunAt(node int) string {
	charges := v.p.Nodes[node].Charges
	for i := range charges {
		if charge := &charges[i]; charge.Overdue(v.p.now) && !v.p.leaving[charge.By] {
			return overrunOf(charge)
		}
	}
	return ""
}

func overrunOf(charge *batch.Charge) string {
	if charge.Until.Equal(batch.AnyMoment()) {
		return "pods of " + charge.Name + " that are not gone yet"
	}
	return "overrun of " + charge.Name
}

// meets says whether a higher-ranked one holds a node that the contender could
// use.
func (v *verdicts) meets(c, other *contender) bool {
	onNodes := other.placed() && slices.ContainsFunc(other.place.Seats, func(s timeline.Seat) bool {
		return slices.ContainsFunc(c.options, func(o option) bool { return o.has(int32(s.Node)) })
	})
	return onNodes || v.p.meetsQuota(c, other)
}
