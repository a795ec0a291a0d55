//go:build linux

package kubelet

import "time"

// around is how much before and after counts for how slow the machine was: a second
// has five samples, and what waits for several programs one after another may find
// each of them in a worse moment than they did.
const around = 5 * time.Second

// mustBeSoon says that something took no longer than it may. On a machine that is
// busy with other things all of it is slow, and what several programs do in turn is
// slow by more than each of them, as it waits for the others' waits: so it may take
// the square of how many times as long as by itself things took just then, or around
// that time.
func (t *team) mustBeSoon(what string, from, till time.Time, limit time.Duration) {
	t.t.Helper()
	took := till.Sub(from)
	if took <= limit {
		return
	}
	slowness := max(t.pace.Slowness(from, till), t.pace.Slowness(from.Add(-around), till.Add(around)))
	say := t.t.Logf
	if took > time.Duration(slowness*slowness*float64(limit)) {
		say = t.t.Errorf
	}
	say("%s: after %s, want %s at most on a machine that has nothing else to do; this one was %.1f times as slow", what, took.Round(time.Millisecond), limit, slowness)
}
