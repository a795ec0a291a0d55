package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// checkWhole looks at what is expected of the whole run, and of moments that
// it never reached.
func (w *world) checkWhole() {
	for _, c := range w.checks {
		// Where all jobs have ended and nothing is to come, it stays as it is.
		if w.breach == nil && !w.cut && (w.file.Until == 0 || *c.At <= w.file.Until) {
			w.checkMoment(c)
			continue
		}
		c.miss("the run stopped at %s", offsetText(w.now))
	}
	w.checks = nil
	metrics := w.meter.metrics()
	for _, c := range w.results {
		switch {
		case c.At != nil || c.NeverAbove != nil:
		case c.Job != "":
			w.checkJob(c)
		case c.Metric != "":
			c.metric(metrics[c.Metric])
		case c.EvictionsTotal != nil:
			compare(c, "evictionsTotal", *c.EvictionsTotal, w.meter.evictions)
		case c.StartsTotal != nil:
			compare(c, "startsTotal", *c.StartsTotal, w.meter.startCount)
		case c.Before[0] != "":
			w.checkBefore(c)
		}
	}
}

func (c *check) metric(got float64) {
	if (c.Min != nil && got < *c.Min) || (c.Max != nil && got > *c.Max) {
		c.miss("%s is %g", c.Metric, got)
	}
}

func (w *world) checkBefore(c *check) {
	var at [2]time.Duration
	for i, id := range c.Before {
		j := w.find(id)
		if j == nil || j.starts == 0 {
			c.miss("%s did not start", id)
			return
		}
		at[i] = j.firstStart
	}
	if at[0] > at[1] {
		c.miss("%s started at %s, %s at %s", c.Before[0], offsetText(at[0]), c.Before[1], offsetText(at[1]))
	}
}

func (w *world) checkJob(c *check) {
	j := w.find(c.Job)
	if j == nil {
		c.miss("the job was never submitted")
		return
	}
	if c.State != "" {
		compare(c, "state", c.State, j.state)
	}
	if c.Starts != nil {
		compare(c, "starts", *c.Starts, j.starts)
	}
	if c.Evictions != nil {
		compare(c, "evictions", *c.Evictions, j.evictions)
	}
	w.checkEvictions(c, j)
	if c.NonIncreasing && j.later {
		var all []string
		for _, at := range j.planned {
			all = append(all, offsetText(at))
		}
		c.miss("planned starts were %s", strings.Join(all, ", "))
	}
	if c.End != nil {
		if j.ended {
			compareTime(c, "end", *c.End, j.lastEnd)
		} else {
			c.miss("it has not ended (%s)", j.state)
		}
	}
	w.checkFirstRun(c, j)
}

// checkEvictions looks at what is expected of the evictions of a job.
func (w *world) checkEvictions(c *check, j *job) {
	if c.EvictedAt != nil && !slices.EqualFunc(c.EvictedAt, j.notices, func(a, b time.Duration) bool { return (a - b).Abs() <= c.Tolerance }) {
		var all []string
		for _, at := range j.notices {
			all = append(all, offsetText(at))
		}
		c.miss("evictedAt is [%s]", strings.Join(all, ", "))
	}
	if c.Cause != "" {
		compare(c, "cause", orNone(string(c.Cause)), orNone(string(j.cause)))
	}
	if c.By != "" {
		compare(c, "by", orNone(string(c.By)), orNone(string(j.by)))
	}
	if c.Lost != nil {
		compareTime(c, "lost", *c.Lost, j.lost)
	}
}

// checkFirstRun looks at what is expected of the first run.
func (w *world) checkFirstRun(c *check, j *job) {
	asks := c.Start != nil || c.Via != "" || c.Pods != nil || c.NodeCount != nil || c.Nodes != nil || c.Order != nil || c.Domains != nil
	if !asks {
		return
	}
	if j.starts == 0 {
		c.miss("it did not start%s", whyNot(j))
		return
	}
	if c.Start != nil {
		compareTime(c, "start", *c.Start, j.firstStart)
	}
	if c.Via != "" {
		compare(c, "via", c.Via, j.first.Via)
	}
	w.checkPlaces(c, hosts(j.first))
}

// checkPlaces looks at where its pods lay.
func (w *world) checkPlaces(c *check, order []batch.NodeName) {
	if c.Pods != nil {
		compare(c, "pods", *c.Pods, len(order))
	}
	on := distinct(order)
	if c.NodeCount != nil {
		compare(c, "nodeCount", *c.NodeCount, len(on))
	}
	if c.Nodes != nil {
		want, got := slices.Sorted(slices.Values(c.Nodes)), slices.Sorted(maps.Keys(on))
		if !slices.Equal(want, words(got)) {
			c.miss("nodes are %s", strings.Join(words(got), ", "))
		}
	}
	if c.Order != nil && !slices.Equal(c.Order, words(order)) {
		c.miss("order is %s", strings.Join(words(order), ", "))
	}
	w.checkDomains(c, on)
}

func (w *world) checkDomains(c *check, on map[batch.NodeName]int) {
	for _, label := range slices.Sorted(maps.Keys(c.Domains)) {
		values := map[string]bool{}
		for name := range on { //order:any a set
			if n, ok := w.nodes[name]; ok {
				values[n.Labels[label]] = true
			}
		}
		compare(c, fmt.Sprintf("domains of %s", label), c.Domains[label], len(values))
	}
}

func words(names []batch.NodeName) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = string(name)
	}
	return out
}

func whyNot(j *job) string {
	if v := j.workload.LastVerdict; v != nil && !j.ended {
		return fmt.Sprintf(" (%s: %s)", v.Reason, v.Message)
	}
	return ""
}
