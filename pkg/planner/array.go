package planner

import (
	"cmp"
	"slices"

	"github.com/berth-dev/berth/pkg/batch"
)

// arrayKey names an array.
type arrayKey struct{ namespace, name string }

// slots are how many members of each array may still take part, besides those
// that hold an allocation.
type slots map[arrayKey]int

func arrayOf(w *batch.Workload) (key arrayKey, limited bool) {
	if w.Array == nil || w.Array.Limit <= 0 {
		return arrayKey{}, false
	}
	return arrayKey{namespace: w.Namespace, name: w.Array.Name}, true
}

// heldSlots is by how many members the limit of each array is used already: those
// that run, and those that were taken back and wait until they may run again. They
// exist all the while, and nobody is let in for them who would have to go again.
func (p *pass) heldSlots() slots {
	used := slots{}
	for _, s := range p.Started {
		key, limited := arrayOf(s.Workload)
		if limited && (s.Owner == nil || s.Owner.End == nil) && !p.leaving[s.Workload.ID] {
			used[key]++
		}
	}
	for _, w := range p.waiting {
		if key, limited := arrayOf(w.Workload); limited && w.Workload.RequeueAfter.After(p.now) {
			used[key]++
		}
	}
	return used
}

// throttle lets as many members of each array take part as may run: first those
// that a place is kept for, as others were told to go for them, and then in the
// order of their index. The others are refused.
func (p *pass) throttle(claims []*claim) []*claim {
	if p.used == nil {
		p.used = p.heldSlots()
	}
	members := map[arrayKey][]*claim{}
	for _, k := range claims {
		if key, limited := arrayOf(k.workload()); limited {
			members[key] = append(members[key], k)
		}
	}
	if len(members) == 0 {
		return claims
	}
	out := map[*claim]bool{}
	for key, of := range members { //order:any each array by itself
		slices.SortStableFunc(of, func(a, b *claim) int {
			kept := func(k *claim) int {
				if k.workload().Nomination != nil {
					return 0
				}
				return 1
			}
			return cmp.Or(cmp.Compare(kept(a), kept(b)), cmp.Compare(a.workload().Array.Index, b.workload().Array.Index))
		})
		for _, k := range of {
			if p.used[key] < k.workload().Array.Limit {
				p.used[key]++
			} else {
				out[k] = true
			}
		}
	}
	return slices.DeleteFunc(claims, func(k *claim) bool {
		if out[k] {
			p.refused = append(p.refused, refusal{waiting: k.waiting, verdict: verdictOf(batch.ReasonArrayLimit, batch.Facts{
				Limit: batch.Amount(k.workload().Array.Limit), Text: k.workload().Array.Name,
			})})
		}
		return out[k]
	})
}

// withRivals adds to claims that come late the members of their arrays that
// have not started: which of them take part is decided anew.
func (p *pass) withRivals(claims []*claim) []*claim {
	if len(p.order) == 0 {
		return claims
	}
	late := map[arrayKey]bool{}
	for _, k := range claims {
		if key, limited := arrayOf(k.workload()); limited {
			late[key] = true
		}
	}
	rivals := map[*claim]bool{}
	p.order = slices.DeleteFunc(p.order, func(c *contender) bool {
		key, limited := arrayOf(c.workload())
		if !limited || !late[key] || c.started {
			return false
		}
		if !rivals[c.claim] {
			rivals[c.claim] = true
			p.used[key]--
			claims = append(claims, c.claim)
		}
		return true
	})
	return claims
}
