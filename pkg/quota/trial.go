package quota

// trial is what a ledger was before a trial began: lines that were written since, as
// they were.
type trial struct {
	number int // of this one, or of the last
	begun  bool
	before []kept
}

// kept is the line that was at an index.
type kept struct {
	at   int
	line line
}

// keep keeps a line that is about to be written, unless it was in this trial.
func (l *Ledger) keep(at int, is *line) {
	if !l.trial.begun || is.trial == l.trial.number {
		return
	}
	l.trial.before = append(l.trial.before, kept{at: at, line: *is})
	is.trial, is.shared = l.trial.number, true
}

// Try begins a trial: what is written until Undo is undone by it. There may be one at a
// time.
func (l *Ledger) Try() {
	if l == nil {
		return
	}
	if l.trial.begun {
		panic("quota: a trial begins in another")
	}
	l.trial.begun = true
	l.trial.number++
}

// Undo ends a trial: all is as it was.
func (l *Ledger) Undo() {
	if l == nil {
		return
	}
	l.trial.begun = false
	for _, was := range l.trial.before {
		l.lines[was.at] = was.line
	}
	clear(l.trial.before)
	l.trial.before = l.trial.before[:0]
}
