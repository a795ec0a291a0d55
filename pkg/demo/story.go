package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/convert"
)

// story is what was seen of the jobs.
type story struct {
	began time.Time
	jobs  []string // in the order of submission
	lines map[string]*line
}

// line is one job's.
type line struct {
	job      string
	queued   time.Time
	planned  time.Time // the first planned start that it was told; zero: none
	workload v1alpha1.QueuedWorkload
	shown    string
}

// heading stands above the rows of news.
var heading = fmt.Sprintf("%8s  %-18s %-12s %-10s %-11s %4s %5s  %s", "TIME", "JOB", "QUEUE", "STATE", "REASON", "GPUS", "NODES", "START (~ planned)")

// follow prints each change of the queue, for a time or until all jobs have
// ended.
func (d Demo) follow(ctx context.Context, c client.Client, s *story, long time.Duration) error {
	for until := d.Clock.Now().Add(long); d.Clock.Now().Before(until); {
		if err := s.look(ctx, c); err != nil {
			return err
		}
		for _, row := range s.news(d.Clock.Since(s.began)) {
			fmt.Fprintln(d.Out, row)
		}
		if s.ended() {
			return nil
		}
		if err := d.pause(ctx, look); err != nil {
			return fmt.Errorf("not all jobs have ended after %s: %w", d.Clock.Since(s.began).Round(time.Second), err)
		}
	}
	return nil
}

func (s *story) look(ctx context.Context, c client.Client) error {
	list := &v1alpha1.QueuedWorkloadList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list queuedworkloads: %w", err)
	}
	for i := range list.Items {
		qw := &list.Items[i]
		owner := metav1.GetControllerOf(qw)
		if owner == nil || !slices.Contains(s.jobs, owner.Name) {
			continue
		}
		l := s.lines[owner.Name]
		if l == nil {
			l = &line{job: owner.Name, queued: qw.CreationTimestamp.Time}
			s.lines[owner.Name] = l
		}
		l.workload = *qw
		if at := qw.Status.PlannedStartTime; at != nil && l.planned.IsZero() {
			l.planned = at.Time
		}
	}
	return nil
}

// news are the rows of jobs that look different from when they were last shown.
func (s *story) news(passed time.Duration) []string {
	var rows []string
	for _, name := range s.jobs {
		l := s.lines[name]
		if l == nil || l.workload.Status.Summary == nil {
			continue
		}
		row := l.row()
		if row != l.shown {
			l.shown = row
			rows = append(rows, fmt.Sprintf("%7.1fs  %s", passed.Seconds(), row))
			if why := meta.FindStatusCondition(l.workload.Status.Conditions, v1alpha1.ConditionPending); why != nil && why.Status == metav1.ConditionTrue {
				rows = append(rows, fmt.Sprintf("%10s%s", "", "↳ "+why.Message))
			}
		}
	}
	return rows
}

func (l *line) row() string {
	sum := l.workload.Status.Summary
	nodes, start := "", sum.Start
	if sum.Nodes != nil {
		nodes = fmt.Sprint(*sum.Nodes)
	}
	if at, err := time.Parse(time.RFC3339, strings.TrimPrefix(start, "~")); err == nil {
		start = strings.Repeat("~", strings.Count(start, "~")) + at.Format(time.TimeOnly)
	}
	var gpus int64
	if sum.GPUs != nil {
		gpus = *sum.GPUs
	}
	return strings.TrimRight(fmt.Sprintf("%-18s %-12s %-10s %-11s %4d %5s  %s",
		l.job, l.workload.Spec.QueueName, sum.State, sum.Reason, gpus, nodes, start), " ")
}

func (s *story) ended() bool {
	for _, name := range s.jobs {
		if l := s.lines[name]; l == nil || !convert.Finished(&l.workload) {
			return false
		}
	}
	return true
}

// times are when a job started and ended; zero if it did not.
func (l *line) times() (start, end time.Time) {
	if held := l.workload.Status.Allocation; held != nil {
		start = held.StartTime.Time
	}
	if runs := l.workload.Status.Runs; len(runs) > 0 {
		end = runs[len(runs)-1].End.Time
	}
	return start, end
}

const drawingWidth = 60

// drawing shows each job's time: waiting as dots, running as blocks.
func (s *story) drawing() string {
	first, last := s.span()
	if !last.After(first) {
		return ""
	}
	column := func(at time.Time) int {
		return int(at.Sub(first) * drawingWidth / last.Sub(first))
	}
	var out strings.Builder
	for _, name := range s.jobs {
		l := s.lines[name]
		start, end := l.times()
		waits, runs := column(start)-column(l.queued), max(1, column(end)-column(start))
		fmt.Fprintf(&out, "  %-18s %s%s%s\n", name,
			strings.Repeat(" ", column(l.queued)), strings.Repeat("·", max(0, waits)), strings.Repeat("█", runs))
	}
	fmt.Fprintf(&out, "  %-18s %-*s%s\n", "", drawingWidth-1, "0s", last.Sub(first).Round(time.Second))
	out.WriteString("  · waits   █ runs\n")
	return out.String()
}

func (s *story) span() (first, last time.Time) {
	for _, l := range s.lines { //order:any a minimum and a maximum
		_, end := l.times()
		if first.IsZero() || l.queued.Before(first) {
			first = l.queued
		}
		if end.After(last) {
			last = end
		}
	}
	return first, last
}

// summary says of each job how long it waited, and how plan and reality compare.
func (s *story) summary() string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 2, 8, 2, ' ', 0)
	fmt.Fprintln(table, "  JOB\tWAITED\tSTARTED\tPLANNED\tREAL - PLANNED\tHOW\tENDED")
	for _, name := range s.jobs {
		l := s.lines[name]
		start, _ := l.times()
		planned, late := "at once", "-"
		if !l.planned.IsZero() {
			planned = l.planned.UTC().Format(time.TimeOnly)
			late = fmt.Sprintf("%+.0fs", start.Sub(l.planned).Seconds())
		}
		how := ""
		if held := l.workload.Status.Allocation; held != nil {
			how = held.Via
		}
		fmt.Fprintf(table, "  %s\t%.0fs\t%s\t%s\t%s\t%s\t%s\n", name, start.Sub(l.queued).Seconds(),
			start.UTC().Format(time.TimeOnly), planned, late, how, l.workload.Status.Summary.State)
	}
	table.Flush()
	out.WriteString("\n  A planned start is a promise: a job may start earlier when others end before their walltime, never later.\n")
	return out.String()
}

// verdict is an error if a promise was broken or a job did not complete.
func (s *story) verdict() error {
	var problems []error
	for _, name := range s.jobs {
		l := s.lines[name]
		start, _ := l.times()
		if !l.planned.IsZero() && start.After(l.planned) {
			problems = append(problems, fmt.Errorf("%s started %s after its planned start", name, start.Sub(l.planned)))
		}
		if state := l.workload.Status.Summary.State; state != "Completed" {
			problems = append(problems, fmt.Errorf("%s ended as %s", name, cmp.Or(state, "nothing")))
		}
	}
	return errors.Join(problems...)
}
