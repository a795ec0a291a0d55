package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// toleranceDefault is how far a time may lie from what is expected.
const toleranceDefault = time.Second

// The metrics of a run.
const (
	MetricUtilization         = "utilization"
	MetricMeanWait            = "meanWait"
	MetricP95Wait             = "p95Wait"
	MetricMeanBoundedSlowdown = "meanBoundedSlowdown"
	MetricMakespan            = "makespan"
	MetricLostGPUSeconds      = "lostGpuSeconds"
)

// Metrics are the names of all metrics.
func Metrics() []string {
	return []string{MetricUtilization, MetricMeanWait, MetricP95Wait, MetricMeanBoundedSlowdown, MetricMakespan, MetricLostGPUSeconds}
}

// The states that a job can be expected in.
const (
	StatePending = "Pending"
	StateRunning = "Running"
)

func states() []string {
	return []string{string(batch.Completed), string(batch.Failed), string(batch.Timeout), string(batch.Cancelled), string(batch.Preempted), string(batch.NodeFailed), StatePending, StateRunning}
}

func reasons() []batch.Reason {
	return []batch.Reason{
		batch.ReasonPriority, batch.ReasonResources, batch.ReasonTopology, batch.ReasonPreempting, batch.ReasonQuotaExceeded, batch.ReasonBorrowingLimit,
		batch.ReasonNodesUnavailable, batch.ReasonHeld, batch.ReasonRequeued,
		batch.ReasonNotPlanned, batch.ReasonQueueStopped, batch.ReasonQueueNotFound, batch.ReasonAccessDenied, batch.ReasonNeverFits,
		batch.ReasonWalltimeLimit, batch.ReasonInvalidSpec, batch.ReasonBeginTime, batch.ReasonDependency, batch.ReasonArrayLimit,
		batch.ReasonDependencyNeverSatisfied, batch.ReasonDeadlineMissed,
	}
}

func (l *loader) expectation(out *Expectation, in *v1alpha1.Expectation) {
	path := out.Path
	out.Tolerance = toleranceDefault
	if in.Tolerance != nil {
		out.Tolerance = l.offset(path+".tolerance", *in.Tolerance)
	}
	out.At = l.moment(path+".at", in.At)
	l.subject(path, in)
	switch {
	case in.Job != "":
		out.Job = l.jobNamed(path+".job", in.Job)
		l.ofJob(out, in)
	case in.Queue != "":
		out.Queue = l.queueNamed(path+".queue", in.Queue)
		l.ofQueue(out, in)
	case in.FreeNodes != nil || in.FreeGPUs != nil:
		out.FreeNodes, out.FreeGPUs = l.count(path+".freeNodes", in.FreeNodes), l.count(path+".freeGpus", in.FreeGPUs)
		if in.At == nil {
			l.wrong(path, "freeNodes and freeGpus are of a moment: add at")
		}
	case in.Metric != "":
		l.ofMetric(out, in)
	default:
		l.overTime(out, in)
	}
}

func (l *loader) moment(path string, text *v1alpha1.Offset) *time.Duration {
	if text == nil {
		return nil
	}
	at := l.offset(path, *text)
	return &at
}

// subject checks that an expectation is about one thing and expects something
// of it.
func (l *loader) subject(path string, in *v1alpha1.Expectation) {
	var about []string
	for _, s := range []struct {
		name  string
		given bool
	}{
		{"job", in.Job != ""},
		{"queue", in.Queue != ""},
		{"freeNodes/freeGpus", in.FreeNodes != nil || in.FreeGPUs != nil},
		{"neverAbove", in.NeverAbove != nil},
		{"evictionsTotal", in.EvictionsTotal != nil},
		{"startsTotal", in.StartsTotal != nil},
		{"before", in.Before != nil},
		{"metric", in.Metric != ""},
	} {
		if s.given {
			about = append(about, s.name)
		}
	}
	if len(about) != 1 {
		l.wrong(path, "is about %d things (%s); an expectation is about one of job, queue, freeNodes/freeGpus, neverAbove, evictionsTotal, startsTotal, before, metric",
			len(about), strings.Join(about, ", "))
	}
}

// given names the fields that are there and belong elsewhere.
func (l *loader) misplaced(path, why string, fields map[string]bool) {
	for _, name := range slices.Sorted(keys(fields)) {
		if fields[name] {
			l.wrong(path+"."+name, "%s", why)
		}
	}
}

func keys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m { //order:any sorted by the caller
			if !yield(name) {
				return
			}
		}
	}
}

func (l *loader) ofJob(out *Expectation, in *v1alpha1.Expectation) {
	path := out.Path
	whole := map[string]bool{
		"start": in.Start != nil, "end": in.End != nil, "starts": in.Starts != nil, "evictions": in.Evictions != nil,
		"nodes": in.Nodes != nil, "nodeCount": in.NodeCount != nil, "domains": in.Domains != nil, "order": in.Order != nil,
		"evictedAt": in.EvictedAt != nil, "cause": in.Cause != "", "by": in.By != "", "lost": in.Lost != nil,
		"via": in.Via != "", "plannedStarts": in.PlannedStarts != "", "pods": in.Pods != nil,
	}
	moment := map[string]bool{
		"reason": in.Reason != "", "message": in.Message != "", "plannedStart": in.PlannedStart != nil, "position": in.Position != nil,
	}
	l.misplaced(path, "is not about a job", map[string]bool{
		"used": in.Used != nil, "borrowed": in.Borrowed != nil, "lent": in.Lent != nil, "pending": in.Pending != nil, "min": in.Min != "", "max": in.Max != "",
	})
	if in.At != nil {
		l.misplaced(path, "is of the whole run, not of a moment: leave at out", whole)
	} else {
		l.misplaced(path, "is of a moment: add at", moment)
	}
	if in.State == "" && !anyTrue(whole) && !anyTrue(moment) {
		l.wrong(path, "expects nothing of the job")
	}
	out.State = l.oneOf(path+".state", in.State, states())
	out.Start, out.End = l.moment(path+".start", in.Start), l.moment(path+".end", in.End)
	out.PlannedStart = l.moment(path+".plannedStart", in.PlannedStart)
	out.Starts, out.Evictions = l.count(path+".starts", in.Starts), l.count(path+".evictions", in.Evictions)
	out.NodeCount, out.Pods, out.Position = l.count(path+".nodeCount", in.NodeCount), l.count(path+".pods", in.Pods), l.count(path+".position", in.Position)
	out.Nodes, out.Order, out.Domains = in.Nodes, in.Order, in.Domains
	out.Via = batch.Via(l.oneOf(path+".via", in.Via, []string{string(batch.ViaOrder), string(batch.ViaBackfill), string(batch.ViaPreemption)}))
	out.NonIncreasing = l.oneOf(path+".plannedStarts", in.PlannedStarts, []string{"nonIncreasing"}) != ""
	out.Message = in.Message
	l.ofEviction(out, in)
	var names []string
	for _, r := range reasons() {
		names = append(names, string(r))
	}
	out.Reason = batch.Reason(l.oneOf(path+".reason", in.Reason, names))
}

// ofEviction is what is expected of the evictions of a job.
func (l *loader) ofEviction(out *Expectation, in *v1alpha1.Expectation) {
	out.Lost = l.moment(out.Path+".lost", in.Lost)
	out.Cause = batch.Cause(l.oneOf(out.Path+".cause", in.Cause, []string{string(batch.CausePreempted), string(batch.CauseReclaimed), string(batch.CauseNodeLost)}))
	if in.By != "" {
		out.By = l.jobNamed(out.Path+".by", in.By)
	}
	if in.EvictedAt == nil {
		return
	}
	out.EvictedAt = []time.Duration{}
	for i, at := range in.EvictedAt {
		out.EvictedAt = append(out.EvictedAt, l.offset(fmt.Sprintf("%s.evictedAt[%d]", out.Path, i), at))
	}
}

// oneOf checks a word. Those that only later versions know are told apart from
// slips.
func (l *loader) oneOf(path, word string, words []string) string {
	if word == "" || slices.Contains(words, word) {
		return word
	}
	if what, later := laterWords()[word]; later {
		l.wrong(path, "%s", NotBuilt(what+" ("+word+")"))
		return ""
	}
	l.wrong(path, "%q is not one of %s", word, strings.Join(words, ", "))
	return ""
}

// laterWords are words of the format that this version can never show.
func laterWords() map[string]string {
	return map[string]string{
		"Drained": "drains", "Walltime": "notices before the deadline",
		"UserLimit": "limits", "AccountLimit": "limits", "QoSLimit": "limits",
		"BudgetExceeded": "budgets", "Reservation": "reservations",
	}
}

func anyTrue(m map[string]bool) bool {
	for _, given := range m { //order:any a disjunction
		if given {
			return true
		}
	}
	return false
}

func (l *loader) ofQueue(out *Expectation, in *v1alpha1.Expectation) {
	if in.At == nil {
		l.wrong(out.Path, "a queue is looked at at a moment: add at (or use neverAbove)")
	}
	if in.Used == nil && in.Borrowed == nil && in.Lent == nil && in.Pending == nil {
		l.wrong(out.Path, "expects nothing of the queue: give used, borrowed, lent or pending")
	}
	if in.Used != nil {
		out.Used = l.amountsOf(out.Path+".used", in.Used)
	}
	if in.Borrowed != nil {
		out.Borrowed = l.amountsOf(out.Path+".borrowed", in.Borrowed)
	}
	if in.Lent != nil {
		out.Lent = l.amountsOf(out.Path+".lent", in.Lent)
	}
	out.Pending = l.count(out.Path+".pending", in.Pending)
}

func (l *loader) ofMetric(out *Expectation, in *v1alpha1.Expectation) {
	out.Metric = l.oneOf(out.Path+".metric", in.Metric, Metrics())
	out.Min, out.Max = l.number(out.Path+".min", in.Min), l.number(out.Path+".max", in.Max)
	if in.Min == "" && in.Max == "" {
		l.wrong(out.Path, "expects nothing of the metric: give min, max or both")
	}
	if out.Min != nil && out.Max != nil && *out.Min > *out.Max {
		l.wrong(out.Path+".min", "is %s, above max, %s: nothing lies between them", in.Min, in.Max)
	}
}

func (l *loader) number(path string, text v1alpha1.Number) *float64 {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		l.wrong(path, "%q is not a number", string(text))
		return nil
	}
	return &n
}

func (l *loader) overTime(out *Expectation, in *v1alpha1.Expectation) {
	out.EvictionsTotal, out.StartsTotal = l.count(out.Path+".evictionsTotal", in.EvictionsTotal), l.count(out.Path+".startsTotal", in.StartsTotal)
	if in.NeverAbove != nil {
		where := out.Path + ".neverAbove"
		out.NeverAbove = &Bound{Queue: l.queueNamed(where+".queue", in.NeverAbove.Queue), Used: l.amountsOf(where+".used", in.NeverAbove.Used)}
		if len(in.NeverAbove.Used) == 0 {
			l.wrong(where, "bounds nothing: give used")
		}
	}
	if in.Before != nil {
		if len(in.Before) != 2 {
			l.wrong(out.Path+".before", "names %d jobs; it says of two that the first starts no later than the second", len(in.Before))
			return
		}
		for i, name := range in.Before {
			out.Before[i] = l.jobNamed(out.Path+".before", name)
		}
		if out.Before[0] == out.Before[1] && out.Before[0] != "" {
			l.wrong(out.Path+".before", "names %s twice: no job starts before itself, and none after", in.Before[0])
		}
	}
}
