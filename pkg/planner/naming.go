package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-dev/berth/pkg/timeline"
)

// takeTogether makes the rounds count slots, where nodes have slots.
func (p *pass) takeTogether() {
	rows := p.findRows()
	if !rows.same(p.about) {
		p.forget()
	}
	p.rows, p.about = rows, rows
	p.sameLines = p.carried != nil && rows.same(p.carried.about)
	if rows == nil {
		return
	}
	p.onRows = p.onRows[:0]
	for _, c := range p.order[:p.reached] {
		p.ontoRows(c)
	}
	p.ofNodes, p.line = p.line.nodes, &board{nodes: rows.line(p), ledger: p.line.ledger}
}

// ontoRows makes a contender ask for rows. One that starts, or a place is kept
// for, asks for nothing: it has its nodes.
func (p *pass) ontoRows(c *contender) {
	if c.started {
		return
	}
	for _, record := range c.records {
		if record.onRows {
			continue
		}
		p.onRows = append(p.onRows, record)
		record.onRows, record.options = true, p.rows.options[record.key.shape]
		if k := record.claim; k.kept != nil && k.kept.record == record {
			k.toRows(p.rows)
		}
	}
}

// toRows makes the placement of the plan before one on rows.
func (k *claim) toRows(r *rows) {
	place, ok := r.place(k.kept.place.Place)
	if !ok {
		k.kept, k.left = nil, nil
		return
	}
	was := k.kept
	k.kept = &kept{record: was.record, option: was.option, place: stayOf(place, was.place.bill)}
	if k.left == was {
		k.left = k.kept
	}
}

// forget gives up what is known about other lines than these.
func (p *pass) forget() {
	p.trail, p.byStart, p.filled = trail{}, [ordersMax]trail{}, 0
	p.settled, p.searched, p.left = nil, nil, nil
	for _, c := range p.order[:p.reached] {
		c.seen, c.resettled, c.stuck = nil, [ordersMax]*seen{}, stuck{}
	}
}

// tellApart gives names to the nodes of all that were placed on rows.
func (p *pass) tellApart() {
	if p.rows == nil {
		return
	}
	var placed []*contender
	for _, c := range p.onRows {
		c.onRows, c.options = false, c.key.shape.options
		if c.placed() {
			placed = append(placed, c)
		} else if c.at == nil {
			c.kept, c.left = nil, nil
		}
	}
	slices.SortStableFunc(placed, func(a, b *contender) int { return cmp.Compare(a.start(), b.start()) })
	names := p.rows.naming(p.ofNodes)
	p.line = &board{nodes: p.ofNodes, ledger: p.line.ledger}
	p.full = &board{nodes: p.ofNodes.Clone(), ledger: p.full.ledger}
	for _, c := range placed {
		c.place = stayOf(names.name(c.place.Place), c.place.bill)
		p.full.nodes.Hold(c.place.Place)
		if c.started {
			p.line.nodes.Hold(c.place.Place)
		}
		k := &kept{record: c, option: c.option, place: c.place}
		if c.left != nil {
			c.left = k
		}
		c.kept = k
	}
	p.rows, p.ofNodes, p.left = nil, nil, nil
}

// nodesOf is how many nodes a place takes.
func (p *pass) nodesOf(place timeline.Place) int {
	if p.rows == nil {
		return nodesOf(place)
	}
	nodes := 0
	for _, seat := range place.Seats {
		nodes += seat.Pods
	}
	return nodes
}

// naming gives out nodes, to one start after another.
type naming struct {
	free [][]vacancy // of each row, those that become free last at the end
}

// vacancy is a node that nobody has from a time on.
type vacancy struct {
	since timeline.Time
	node  int32
}

func compareVacancies(a, b vacancy) int {
	return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(b.node, a.node))
}

func (r *rows) naming(line *timeline.Timeline) *naming {
	n := &naming{free: make([][]vacancy, len(r.nodes))}
	for row, nodes := range r.nodes {
		for _, node := range nodes {
			_, since := line.InTheEnd(int(node))
			n.free[row] = append(n.free[row], vacancy{since: since, node: node})
		}
		slices.SortFunc(n.free[row], compareVacancies)
	}
	return n
}

// name is a place on nodes for one on rows: on those that become free last, of
// equal ones the first.
func (n *naming) name(place timeline.Place) timeline.Place {
	named := timeline.Place{Span: place.Span}
	for _, seat := range place.Seats {
		for _, v := range n.take(seat, place.Span) {
			named.Seats = append(named.Seats, timeline.Seat{Set: seat.Set, Node: int(v.node), Pods: 1, Each: seat.Each})
		}
	}
	slices.SortFunc(named.Seats, compareSeats)
	return named
}

func (n *naming) take(seat timeline.Seat, span timeline.Span) []vacancy {
	free := n.free[seat.Node]
	end, _ := slices.BinarySearchFunc(free, span.From+1, func(v vacancy, from timeline.Time) int { return cmp.Compare(v.since, from) })
	if end < seat.Pods {
		panic(fmt.Sprintf("planner: %d pods on %d free nodes of row %d at %d", seat.Pods, end, seat.Node, span.From))
	}
	taken := slices.Clone(free[end-seat.Pods : end])
	free = slices.Delete(free, end-seat.Pods, end)
	if span.Till != timeline.Never {
		for _, v := range taken {
			v.since = span.Till
			i, _ := slices.BinarySearchFunc(free, v, compareVacancies)
			free = slices.Insert(free, i, v)
		}
	}
	n.free[seat.Node] = free
	return taken
}
