package quota

// Ends is when the last of some charges is over, of each quota that they take of.
type Ends struct {
	tree *Tree
	last []Time // by root, then cell
}

// Ends looks through charges.
func (t *Tree) Ends(charges []Charge) *Ends {
	e := &Ends{tree: t, last: make([]Time, len(t.nodes)*len(t.cells))}
	for _, c := range charges {
		for _, is := range c.items {
			last := e.of(c.node, is.cell)
			*last = max(*last, c.Till)
		}
	}
	return e
}

func (e *Ends) of(node, cell int) *Time { return &e.last[e.tree.root(node)*len(e.tree.cells)+cell] }

// Last is when the last of the charges is over that a bill meets; zero: it meets
// none.
func (e *Ends) Last(b Bill) (last Time) {
	for _, is := range b.items {
		last = max(last, *e.of(b.node, is.cell))
	}
	return last
}
