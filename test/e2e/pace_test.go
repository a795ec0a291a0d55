package e2e

import (
	"fmt"
	"time"
)

// slowness is how many times as long as the cluster itself takes for one pod we
// may take for an answer, where that is more than the answer's own limit.
const slowness = 20

// pace is how long the cluster takes now, without us, from the creation of a
// pod until it is bound.
func (t *team) pace() time.Duration {
	t.t.Helper()
	began := time.Now()
	probe := t.submitPod(unmanaged(fmt.Sprint("pace-", teams.Add(1)), t.nodes[0], 0))
	bound, _ := probe.bound(1, patience)
	probe.mustBeDeleted()
	return bound.Sub(began)
}

// mustTake says that something took no longer than its limit. The limit is that
// of a machine that has time: where the API server and kube-scheduler are slow
// because something else runs on it, so may we be.
func (t *team) mustTake(took, limit time.Duration, what string) {
	t.t.Helper()
	if took <= limit {
		t.t.Logf("%s: %s", what, took)
		return
	}
	if pace := t.pace(); took > slowness*pace {
		t.t.Errorf("%s: %s, want %s at most (the cluster itself takes %s for a pod)", what, took, limit, pace)
	} else {
		t.t.Logf("%s: %s, more than %s, but the cluster itself takes %s for a pod", what, took, limit, pace)
	}
}
