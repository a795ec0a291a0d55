package cli

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// What is said here stands in the workload's own status: whoever may read that
// needs no other right.

// runsShown is how many of the runs that were taken back are told of.
const runsShown = 3

// printRuns tells of the last runs that were taken back: when, why and by whom.
func printRuns(out io.Writer, qw *v1alpha1.QueuedWorkload) {
	var lines []string
	number := convert.Restarts(qw)
	for _, run := range slices.Backward(qw.Status.Runs) {
		if batch.EndState(run.State) != batch.Requeued {
			continue // it is the one that has ended for good
		}
		lines = append(lines, runText(number, run))
		if number--; len(lines) == runsShown {
			break
		}
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(out, "\nIt was taken back before:")
	for _, line := range slices.Backward(lines) {
		fmt.Fprintf(out, "  %s\n", line)
	}
}

func runText(number int, run v1alpha1.WorkloadRun) string {
	text := fmt.Sprintf("run %d, from %s to %s", number, instantText(run.Start.UTC()), instantText(run.End.UTC()))
	if run.Cause != "" {
		text += ": " + convert.RunWords(run)
	}
	if run.Notice != nil {
		text += fmt.Sprintf(" (it was told at %s)", instantText(run.Notice.UTC()))
	}
	return text
}

// printLastWords says what Berth last wrote of a workload that could start by
// what is seen here: it may know what nobody can list, such as a pod of somebody
// else that was removed by force.
func printLastWords(out io.Writer, qw *v1alpha1.QueuedWorkload) {
	if v := convert.Workload(qw).LastVerdict; v != nil {
		fmt.Fprintf(out, "If it does not, this is why: Berth last said %s: %s\n", v.Reason, v.Message)
	}
}

// printOwnWords says why a workload waits, as Berth last wrote it.
func printOwnWords(out io.Writer, qw *v1alpha1.QueuedWorkload, now time.Time) {
	workload := convert.Workload(qw)
	fmt.Fprintf(out, "%s/%s waits in %s\n", workload.Namespace, workload.Name, workload.LocalQueue)
	v := workload.LastVerdict
	if v == nil {
		fmt.Fprintln(out, "Berth has not said yet why.")
		return
	}
	fmt.Fprintf(out, "%s: %s\n", v.Reason, v.Message)
	printStart(out, v.PlannedStart, now, "")
}
