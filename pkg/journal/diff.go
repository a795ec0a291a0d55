package journal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// Difference is a workload about which two plans decide otherwise. An empty
// text: nothing is decided about it.
type Difference struct {
	ID            batch.WorkloadID
	Recorded, Now string
}

// Differences are the decisions in which two plans differ, by workload.
func Differences(recorded, now batch.Plan) []Difference {
	a, b := decisions(recorded), decisions(now)
	ids := map[batch.WorkloadID]bool{}
	for id := range a { //order:any a set
		ids[id] = true
	}
	for id := range b { //order:any a set
		ids[id] = true
	}
	var out []Difference
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		x, y := strings.Join(a[id], ", then "), strings.Join(b[id], ", then ")
		if x != y {
			out = append(out, Difference{ID: id, Recorded: x, Now: y})
		}
	}
	return out
}

// decisions are those of a plan in words, by workload.
func decisions(p batch.Plan) map[batch.WorkloadID][]string {
	out := map[batch.WorkloadID][]string{}
	say := func(id batch.WorkloadID, format string, args ...any) {
		out[id] = append(out[id], fmt.Sprintf(format, args...))
	}
	for _, d := range p.Evict {
		say(d.ID, "evicted (%s)", d.Eviction.Cause)
	}
	for _, d := range p.Relimit {
		say(d.ID, "walltime edited while it runs%s", until(d.Deadline))
	}
	for _, d := range p.Requeue {
		say(d.ID, "waits again")
	}
	for _, d := range p.Finish {
		say(d.ID, "finished (%s)", d.End.State)
	}
	for _, d := range p.Start {
		say(d.ID, "starts in %s on %s (%s)%s", d.Allocation.Queue, places(d.Allocation), d.Allocation.Via, until(d.Allocation.Deadline))
	}
	for _, d := range p.Wait {
		say(d.ID, "waits (%s)%s", d.Verdict.Reason, planned(d.Verdict.PlannedStart))
	}
	for _, d := range p.Ready {
		say(d.ID, "ready: %t", d.Ready)
	}
	for _, d := range p.Remember {
		for _, o := range d.Outcomes {
			say(d.ID, "remembers %s: %s", o.Name, cmp.Or(string(o.State), "started"))
		}
	}
	return out
}

func places(a batch.Allocation) string {
	counts := map[batch.NodeName]int{}
	for _, placement := range a.PodSets {
		for _, host := range placement.Hosts {
			counts[host]++
		}
	}
	var parts []string
	for _, host := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s×%d", host, counts[host]))
	}
	return strings.Join(parts, " ")
}

func until(t time.Time) string {
	if t.IsZero() {
		return ", without a limit"
	}
	return ", until " + t.UTC().Format(time.RFC3339)
}

func planned(t time.Time) string {
	if t.IsZero() {
		return ", no start planned"
	}
	return ", planned for " + t.UTC().Format(time.RFC3339)
}
