package cli

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/explain"
	"github.com/berth-dev/berth/pkg/whatif"
)

// obstaclesMax bounds how many of those that are waited for are listed.
const obstaclesMax = 20

func clockText(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return explain.Clock(at, now)
}

func orNever(text string) string {
	if text == "" {
		return "it ends by itself"
	}
	return text
}

func printAnswer(out io.Writer, a whatif.Answer) {
	w := a.Workload
	fmt.Fprintf(out, "%s/%s waits in %s%s\n", w.Namespace, w.Name, w.LocalQueue, place(a.Verdict))
	if a.StartsNow {
		fmt.Fprintln(out, "It can start now: the next plan starts it.")
		return
	}
	fmt.Fprintf(out, "%s: %s\n", a.Verdict.Reason, a.Verdict.Message)
	switch start := a.Verdict.PlannedStart; {
	case !start.IsZero() && len(a.Nodes) > 0:
		fmt.Fprintf(out, "It starts at %s at the latest (in %s), on %s or nodes like these.\n",
			clockText(start, a.Now), batch.FormatDuration(start.Sub(a.Now)), nodesText(a.Nodes))
	case !start.IsZero():
		fmt.Fprintf(out, "It starts at %s at the latest (in %s).\n", clockText(start, a.Now), batch.FormatDuration(start.Sub(a.Now)))
	case a.Verdict.Reason.TakesPart():
		fmt.Fprintln(out, "No start is known.")
	}
	printObstacles(out, a)
	printChanges(out, a)
}

func place(v batch.Verdict) string {
	if v.Position == 0 {
		return " and takes no part in the order"
	}
	return fmt.Sprintf(", as number %d in the order", v.Position)
}

func printObstacles(out io.Writer, a whatif.Answer) {
	if len(a.Waits) == 0 {
		return
	}
	fmt.Fprintln(out, "\nIt waits for:")
	t := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	for i, o := range a.Waits {
		if i == obstaclesMax {
			fmt.Fprintf(t, "  and %d more\n", len(a.Waits)-obstaclesMax)
			break
		}
		fmt.Fprintf(t, "  %s\t%s\n", o.Name, obstacleText(o, a.Now))
	}
	_ = t.Flush() // what it is written to is the user's terminal
}

func obstacleText(o whatif.Obstacle, now time.Time) string {
	switch {
	case o.Until.IsZero():
		return "runs without a limit: nobody knows until when"
	case o.Planned:
		return "is planned before it, until " + clockText(o.Until, now)
	case o.Overdue:
		return "should have ended, and is expected to end any moment"
	}
	return "runs until " + clockText(o.Until, now) + " at the latest"
}

func printChanges(out io.Writer, a whatif.Answer) {
	if len(a.Sooner) == 0 {
		fmt.Fprintln(out, "\nNeither a shorter walltime nor fewer pods nor another queue of the namespace would let it start sooner.")
		return
	}
	fmt.Fprintln(out, "\nIt would start sooner:")
	t := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	for _, c := range a.Sooner {
		fmt.Fprintf(t, "  %s\t%s\n", startText(c.Start, a.Now), changeText(c))
	}
	_ = t.Flush() // what it is written to is the user's terminal
}

func startText(start, now time.Time) string {
	if !start.After(now) {
		return "now"
	}
	return "at " + clockText(start, now)
}

func changeText(c whatif.Change) string {
	switch c.Kind {
	case whatif.ShorterWalltime:
		return fmt.Sprintf("with a walltime of %s or less", batch.FormatWalltime(c.Walltime))
	case whatif.FewerPods:
		if c.Pods == 1 {
			return "with 1 pod"
		}
		return fmt.Sprintf("with %d pods or fewer", c.Pods)
	case whatif.OtherQueue:
		return fmt.Sprintf("in LocalQueue %s", c.Queue)
	}
	return string(c.Kind)
}
