//go:build linux

package kubelet

import "time"

// mustBeSoon says that something took no longer than it may. On a machine that is
// busy with other things all of it is slow, so it may take as many times as long
// as the machine was slow just then.
func (t *team) mustBeSoon(what string, from, till time.Time, limit time.Duration) {
	t.t.Helper()
	took := till.Sub(from)
	if took <= limit {
		return
	}
	slowness := t.pace.Slowness(from, till)
	say := t.t.Logf
	if took > time.Duration(slowness*float64(limit)) {
		say = t.t.Errorf
	}
	say("%s: after %s, want %s at most on a machine that has nothing else to do; this one was %.1f times as slow", what, took.Round(time.Millisecond), limit, slowness)
}
