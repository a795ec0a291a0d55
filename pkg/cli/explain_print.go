package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/explain"
	"github.com/berth-dev/berth/pkg/whatif"
)

// obstaclesMax bounds how many of those that are waited for are listed.
const obstaclesMax = 20

// instantText is a time in a sentence; empty: there is none.
func instantText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return explain.Instant(at)
}

func orNever(text string) string {
	if text == "" {
		return "it ends by itself"
	}
	return text
}

func printAnswer(out io.Writer, a whatif.Answer) {
	w := a.Workload
	if a.StartsNow {
		fmt.Fprintf(out, "%s/%s waits in %s\n", w.Namespace, w.Name, w.LocalQueue)
		fmt.Fprintln(out, "It can start now: the next plan starts it.")
		return
	}
	fmt.Fprintf(out, "%s/%s waits in %s%s\n", w.Namespace, w.Name, w.LocalQueue, place(a.Verdict))
	fmt.Fprintf(out, "%s: %s\n", a.Verdict.Reason, a.Verdict.Message)
	printStart(out, a.Verdict.PlannedStart, a.Now, nodesOf(a))
	printObstacles(out, a)
	printChanges(out, a)
}

// printStart says of a planned start what the sentence before it does not, which
// has the time: how far away it is, and where.
func printStart(out io.Writer, start, now time.Time, where string) {
	if start.After(now) {
		fmt.Fprintf(out, "Its planned start is in %s%s.\n", batch.FormatDuration(start.Sub(now)), where)
	}
}

// nodesOf says on which nodes it will start, if that is known. A place that is
// made for it is that and no other.
func nodesOf(a whatif.Answer) string {
	switch {
	case len(a.Nodes) == 0:
		return ""
	case a.Verdict.Reason == batch.ReasonPreempting:
		return ", on " + nodesText(a.Nodes)
	}
	return ", on " + nodesText(a.Nodes) + " or nodes like these"
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
	lines := folded(a.Waits, a.Now)
	t := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	for i, line := range lines {
		if i == obstaclesMax {
			fmt.Fprintf(t, "  and %d more\n", len(lines)-obstaclesMax)
			break
		}
		fmt.Fprintf(t, "  %s\t%s\n", line.name, line.text)
	}
	_ = t.Flush() // what it is written to is the user's terminal
}

// obstacleLine is one line of those that are waited for.
type obstacleLine struct{ name, text string }

// foldedMin is how many of whom the same is said are told in one line.
const foldedMin = 3

// folded are obstacles in lines: those of whom the same is to be said, and whose
// names differ by a number that counts up without a gap, are one. Nobody stands
// in such a range who is not waited for.
func folded(all []whatif.Obstacle, now time.Time) []obstacleLine {
	var lines []obstacleLine
	for first := 0; first < len(all); {
		text, next := obstacleText(all[first], now), first+1
		for next < len(all) && batch.Follows(all[next-1].Name, all[next].Name) && obstacleText(all[next], now) == text {
			next++
		}
		if n := next - first; n >= foldedMin {
			lines = append(lines, obstacleLine{fmt.Sprintf("%s … %s (%d)", all[first].Name, all[next-1].Name, n), text})
			first = next
			continue
		}
		for ; first < next; first++ {
			lines = append(lines, obstacleLine{all[first].Name, text})
		}
	}
	return lines
}

func obstacleText(o whatif.Obstacle, now time.Time) string {
	until := instantText(o.Until)
	switch o.Kind {
	case whatif.Planned:
		return orForever("is planned before it, ", until)
	case whatif.Nominated:
		return orForever(fmt.Sprintf("is planned before it, in a place that others give up for it, from %s ", instantText(o.From)), until)
	case whatif.Overdue:
		return "should have ended, and is expected to end any moment"
	case whatif.GivesWay:
		if until == "" || !o.Until.After(now) {
			return "gives way; its time is over, and it is not gone yet"
		}
		return "gives way, and has until " + until
	case whatif.Leaves:
		return "is over; " + podsText(o.Pods, "has not left its node yet", "have not left their nodes yet")
	case whatif.Removed:
		return podsText(o.Pods, "was", "were") + " removed by force; what is left on the node has ended by " + until
	case whatif.Runs:
	}
	if until == "" {
		return "runs without a limit: nobody knows until when"
	}
	return "runs until " + until + " at the latest"
}

func orForever(text, until string) string {
	if until == "" {
		return text + "without a limit"
	}
	return text + "until " + until
}

// podsText says how many pods of what is named are meant; 0: it is a pod itself.
func podsText(n int, one, many string) string {
	switch n {
	case 0:
		return one
	case 1:
		return "a pod of it " + one
	}
	return fmt.Sprintf("%d of its pods %s", n, many)
}

func printChanges(out io.Writer, a whatif.Answer) {
	if len(a.Sooner) == 0 {
		if len(a.Tried) > 0 {
			fmt.Fprintf(out, "\n%s would let it start sooner.\n", neither(a.Tried))
		}
		return
	}
	if a.Verdict.PlannedStart.IsZero() {
		fmt.Fprintln(out, "\nWith a change it would start:")
	} else {
		fmt.Fprintln(out, "\nIt would start sooner:")
	}
	t := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	for _, c := range a.Sooner {
		fmt.Fprintf(t, "  %s\t%s\n", startText(c.Start, a.Now), changeText(c))
	}
	_ = t.Flush() // what it is written to is the user's terminal
}

// neither names what was tried in vain.
func neither(tried []whatif.ChangeKind) string {
	words := map[whatif.ChangeKind]string{
		whatif.ShorterWalltime: "a shorter walltime", whatif.FewerPods: "fewer pods", whatif.OtherQueue: "another queue of the namespace",
	}
	if len(tried) == 1 {
		return map[whatif.ChangeKind]string{
			whatif.ShorterWalltime: "No shorter walltime", whatif.FewerPods: "No smaller number of pods", whatif.OtherQueue: "No other queue of the namespace",
		}[tried[0]]
	}
	parts := make([]string, 0, len(tried))
	for _, kind := range tried {
		parts = append(parts, words[kind])
	}
	return "Neither " + strings.Join(parts, " nor ")
}

func startText(start, now time.Time) string {
	if !start.After(now) {
		return "now"
	}
	return "at " + instantText(start)
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
