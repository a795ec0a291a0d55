//go:build linux

package kubelet

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-dev/berth/test/kubelet/node"
)

// TestNodeThatShutsDown: its kubelet ends the pods there, each with its own
// grace, and says so when their processes are dead; then the rest of each gang
// is told to end. It waits again, runs elsewhere, and its Job counts nothing if
// it ignores what others do to its pods. When the node has booted it is used
// again.
func TestNodeThatShutsDown(t *testing.T) {
	unhurried(t)
	t.Parallel()
	team, own := newTeamWithOneNode(t)
	const patient = 5 * time.Second
	saver := &gang{work: team.submit(team.job("saver", ignoring, args("--on", "terminated=leave", "--save", saving.String(), "--code", interrupted)))}
	stubbornly := team.beside("stubborn")
	deaf := &gang{work: stubbornly.submit(stubbornly.job("stubborn", ignoring, stubborn, grace(patient)))}
	ends := team.endsOn(own)
	gangs := []*gang{saver, deaf}
	for _, g := range gangs {
		g.pods = g.mustRun()
	}

	at := time.Now()
	team.must(own.Shutdown(t.Context()))
	off := time.Now()
	for _, g := range gangs {
		there, elsewhere := g.split(own.Name)
		g.mustGetSIGTERM(there, at)
		g.mustGetSIGTERMWithin(handOver, elsewhere, team.mustDie(there))
		g.mustHaveRun("Requeued", "NodeLost", fmt.Sprintf("pod %s/%s on node %s was ended by its node, which shuts down or is short of something", team.name, there[0].Name, own.Name))
		if end := team.mustDie(there); end.After(off) {
			t.Errorf("%s was alive at %s; its node was off at %s", there[0].Name, end.Format(clock), off.Format(clock))
		}
	}
	team.mustSave(saver.pods)
	last := team.mustBeKilled(deaf.pods, patient)
	ends.mustBeSo(func(e end) string { return e.shutDown })
	team.must(own.KillKubelet())

	beside := team.beside("next") // or those that were there before would go first
	next := beside.submit(beside.job("next", pods(1), on(own.Name)))
	stubbornly.useSpare()
	if deaf.mustRunAgainWithout(own, deaf.pods).Before(last) {
		t.Errorf("%s was started again before its last process was dead", deaf.job.Name)
	}
	next.mustWait("NodesUnavailable", "not ready")
	beside.boot(own)
	next.mustRun()
}

// end is a Job of one pod, which is ended by others: how it ends, and what its
// workload is then.
type end struct {
	name     string
	traits   []trait
	evicted  string // by kubectl drain, say
	shutDown string // with its node
}

// allEnds are those of the table in site/concepts/done-interrupted-failed.md.
var allEnds = []end{
	{name: "ignores-75", traits: []trait{ignoring, exitsWith(interrupted)}, evicted: "Pending", shutDown: "Pending"},
	{name: "ignores-0", traits: []trait{ignoring}, evicted: "Completed", shutDown: "Completed"},
	{name: "counts-75", traits: []trait{exitsWith(interrupted)}, evicted: "Failed", shutDown: "Failed"},
	{name: "counts-0", evicted: "Failed", shutDown: "Completed"},
}

// running are Jobs that run, by how they will end.
type running map[*work]end

// endsOn has all of them run on a node.
func (t *team) endsOn(n *node.Node) running {
	t.t.Helper()
	all, side := running{}, t.beside("ends")
	for _, e := range allEnds {
		traits := append([]trait{pods(1), side.asks(unitsPerNode / len(allEnds)), on(n.Name)}, e.traits...)
		all[side.submit(side.job(e.name, traits...))] = e
	}
	for w := range all { //order:any all of them
		w.mustRun()
	}
	return all
}

// mustBeSo says what the workloads are in the end.
func (r running) mustBeSo(want func(end) string) {
	for w, e := range r { //order:any each by itself
		w.t.Helper()
		w.mustCountAs(want(e))
	}
}
