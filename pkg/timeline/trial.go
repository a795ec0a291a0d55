package timeline

import "slices"

// trial is what a timeline was before a trial began: nodes that were written since,
// with the lines that they had, in turn.
type trial struct {
	owner  *owner // of what is written in it; nil: there is none
	before []kept
}

// kept is the line that a node had.
type kept struct {
	node int
	line line
}

// keep keeps a line that is about to be written, unless it was in this trial.
func (t *trial) keep(node int, l *line) {
	if t.owner != nil && l.owner != t.owner {
		t.before = append(t.before, kept{node: node, line: *l})
	}
}

// Try begins a trial: what is written until Undo is undone by it. It costs less than a
// clone, since nothing but the lines that are written is copied. There may be one at a
// time.
func (t *Timeline) Try() {
	if t.trial.owner != nil {
		panic("timeline: a trial begins in another")
	}
	t.trial.owner = &owner{}
}

// Undo ends a trial: each node is as it was.
func (t *Timeline) Undo() {
	before := t.trial.before
	t.trial = trial{before: before[:0]}
	for _, was := range slices.Backward(before) { // a node may have been kept twice, the first is what it was
		*t.replace(was.node) = was.line
		t.written = append(t.written, int32(was.node))
	}
	clear(before)
}
