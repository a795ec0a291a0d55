package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/quota"
)

// law is what quotas say of a contender's rights: over the work of which queues
// it may reclaim, and over which it may borrow.
type law struct {
	reclaim, borrow map[batch.QueueName]bool
}

// footing is what the laws of a scene rest on, as long as what is taken of quotas is the
// same: until one more deal is made.
type footing struct {
	reckoned int // hunt.reckoned, when it was made
	after    *quota.Usage
	others   []*batch.Queue // whose work the victims are, but for the scene's own
	// lawless are requests that quotas give no right at all.
	lawless map[ask]bool
}

// ask is a request in one of its options.
type ask struct {
	shape  *shape
	option int
}

// lawFor works out what holds for an option of a contender if all victims of its
// own queue were gone: the most that there can be.
func (h *hunt) lawFor(c *contender, option int, s *scene) law {
	if h.usage == nil || !s.byQuota {
		return law{}
	}
	l := law{reclaim: map[batch.QueueName]bool{}, borrow: map[batch.QueueName]bool{}}
	bill := c.options[option].bill
	var after *quota.Usage
	for _, q := range s.rests().others {
		name := q.Name
		if !h.usage.AboveNominal(name, bill) {
			continue
		}
		if after == nil {
			after = h.withoutOwn(c, option, s)
		}
		l.borrow[name], l.reclaim[name] = true, after.WithinNominal(bill, name)
	}
	return l
}

// rests is what the laws of a scene rest on now.
func (s *scene) rests() *footing {
	h, b := s.hunt, &s.footing
	if b.after != nil && b.reckoned == h.reckoned {
		return b
	}
	*b = footing{reckoned: h.reckoned, after: h.most.Clone(), lawless: map[ask]bool{}}
	for _, all := range [][]*victim{s.expiring, s.victims} {
		for _, v := range all {
			switch {
			case v.gone:
			case v.queue == s.queue:
				h.lookUp(v)
				removePaid(b.after, v)
			case !slices.Contains(b.others, v.queue):
				b.others = append(b.others, v.queue)
			}
		}
	}
	return b
}

// withoutOwn is the most that may be used with a contender in, and all victims of its own queue gone.
func (h *hunt) withoutOwn(c *contender, option int, s *scene) *quota.Usage {
	after := s.rests().after.Clone()
	after.Add(c.options[option].bill)
	return after
}

// grants says whether a right over a victim holds.
func (l *law) grants(r right, v *victim) bool {
	return r.higher || (r.reclaim && l.reclaim[v.queue.Name]) || (r.borrow && l.borrow[v.queue.Name])
}

// none says whether it gives a scene no right at all.
func (s *scene) none(l law) bool {
	rules := &s.queue.Preemption
	may := func(whom batch.PreemptWhom) bool { return whom != "" && whom != batch.WhomNever }
	for _, q := range s.rests().others {
		if may(rules.ReclaimWithinCohort) && l.reclaim[q.Name] || may(rules.BorrowWithinCohort) && l.borrow[q.Name] {
			return false
		}
	}
	return true
}

// noteLawless notes that a request has no right at all.
func (s *scene) noteLawless(c *contender, option int) {
	s.rests().lawless[ask{shape: c.key.shape, option: option}] = true
}

// lawlessClass says whether that is known of a record that has not been looked at, in
// all of its options.
func (s *scene) lawlessClass(is *class) bool {
	if is.shape == nil || !s.byQuota {
		return false
	}
	known := s.rests().lawless
	for option := range is.shape.options {
		if !known[ask{shape: is.shape, option: option}] {
			return false
		}
	}
	return len(is.shape.options) > 0
}

// text tells laws apart.
func (l *law) text() string {
	var b strings.Builder
	for _, all := range []map[batch.QueueName]bool{l.reclaim, l.borrow} {
		var names []string
		for name, holds := range all { //order:any sorted below
			if holds {
				names = append(names, string(name))
			}
		}
		slices.Sort(names)
		fmt.Fprintf(&b, "%q/", names)
	}
	return b.String()
}
