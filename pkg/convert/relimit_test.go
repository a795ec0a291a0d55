package convert_test

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// TestAnEditThatNobodyHasAnsweredIsReadBack: whoever comes after the one that has
// noted an edit of the walltime of a run, and has died, sees it in the record.
// One that was answered, be it by a refusal, is not answered again.
func TestAnEditThatNobodyHasAnsweredIsReadBack(t *testing.T) {
	t.Parallel()
	qw := gang()
	qw.Spec.Walltime = "1h"
	read := func(what string, relimited bool, deadline time.Time) {
		t.Helper()
		if w := convert.Workload(qw); w.Relimited != relimited || w.Allocation != nil && !w.Allocation.Deadline.Equal(deadline) {
			t.Errorf("%s: edited %t, deadline %v; want %t, %v", what, w.Relimited, w.Allocation.Deadline, relimited, deadline)
		}
	}
	read("it waits", false, time.Time{})
	allocation := someAllocation()
	first := allocation.Deadline
	convert.RecordStart(qw, batch.StartDecision{Allocation: allocation, Walltime: batch.Walltime(time.Hour)}, at(10))
	read("it was started", false, first)
	qw.Spec.Walltime = "60m"
	read("the same in other words", false, first)
	qw.Spec.Walltime = "2h"
	read("it was edited", true, first)

	convert.RecordRelimit(qw, batch.RelimitDecision{Run: 1, Walltime: batch.Walltime(2 * time.Hour), Deadline: at(99)})
	read("another run was answered", true, first)
	convert.RecordRelimit(qw, batch.RelimitDecision{Walltime: batch.Walltime(2 * time.Hour), Deadline: at(99)})
	read("it was answered", false, at(99))
	qw.Spec.Walltime = ""
	read("it was taken away", true, at(99))
	convert.RecordRelimit(qw, batch.RelimitDecision{Deadline: at(99), Refused: "its ClusterQueue is gone"})
	read("that was refused", false, at(99))
	qw.Spec.Walltime = v1alpha1.UnlimitedWalltime
	read("it was edited again", true, at(99))
	qw.Status.Allocation.Walltime = nil
	read("an older version has started it", false, at(99))
}
