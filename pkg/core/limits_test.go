package core_test

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// deadline is the minute at which a started job must have ended.
func (w *world) deadline(name string) int {
	workload, ok := w.core.Workload(id(name))
	if !ok || workload.Allocation == nil || workload.Allocation.Deadline.IsZero() {
		return -1
	}
	return minuteOf(workload.Allocation.Deadline)
}

func timeMin(minutes int) func(*batch.Workload) {
	return func(w *batch.Workload) { w.TimeMin = batch.Walltime(time.Duration(minutes) * time.Minute) }
}

func endBefore(minute int, also ...func(*batch.Workload)) func(*batch.Workload) {
	return func(w *batch.Workload) {
		w.EndBefore = zero.Add(time.Duration(minute) * time.Minute)
		for _, edit := range also {
			edit(w)
		}
	}
}

func TestTimeMinTakesTheLongestLimitThatFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(job{name: "r", gpu: 8, walltime: 60})
	w.until(1)
	w.submit(job{name: "t", pods: 2, gpu: 8, walltime: 60})
	w.until(2)
	w.submit(job{name: "picky", gpu: 8, walltime: 120, runs: 60, edit: timeMin(59)})
	w.until(3)
	w.want("picky~120")
	w.submit(job{name: "flexible", gpu: 8, walltime: 120, runs: 57, edit: timeMin(30)})
	w.until(3)
	w.want("flexible=3", "picky~120")
	if got := w.deadline("flexible"); got != 60 {
		t.Errorf("deadline of flexible: %d", got)
	}
	if via := w.jobs["flexible"].via; via != batch.ViaBackfill {
		t.Errorf("flexible started via %s", via)
	}
	w.until(200)
	w.want("t=60", "picky=120")
}

func TestTimeMinOfUnlimitedWorkEndsAtTheNextPlannedStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(job{name: "r", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "t", pods: 2, gpu: 8, walltime: 60}, job{name: "forever", gpu: 8, runs: 60, edit: timeMin(10)})
	w.until(0)
	w.want("t~60", "forever=0")
	if got := w.deadline("forever"); got != 60 {
		t.Errorf("deadline: %d", got)
	}
	w.until(60)
	w.want("t=60")
}

func TestTimeMinHoldsAlsoWithoutPlansAndBeyondTheDepth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy(func(p *batch.Policy) { p.Depth = 1 })
	w.nodes(2, 8)
	w.submit(job{name: "r", gpu: 8, walltime: 60})
	w.until(0)
	w.submit(job{name: "t", pods: 2, gpu: 8, walltime: 60}, job{name: "second", gpu: 8, walltime: 90, edit: timeMin(20)})
	w.until(0)
	w.want("t~60", "second=0")
	if got := w.deadline("second"); got != 60 {
		t.Errorf("deadline: %d", got)
	}
}

func TestWorkThatCannotEndInTimeIsNotStartedAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "blocker", gpu: 8, walltime: 120})
	w.until(1)
	w.submit(job{name: "missed", gpu: 8, walltime: 60, priority: 5, edit: endBefore(90)})
	w.until(2)
	w.submit(job{name: "next", gpu: 8, walltime: 60})
	w.until(30)
	w.reason("missed", batch.ReasonResources, "no start is known")
	w.until(31)
	w.reason("missed", batch.ReasonDeadlineMissed, "must have ended by 2026-03-02T09:30:00Z and asks for 1h at least, so it had to start by 2026-03-02T08:30:00Z",
		"unless its author gives it a later end-before, or a shorter walltime or time-min")
	w.until(300)
	w.want("missed=-", "next=120")
}

func TestEndBeforeCapsTheLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(
		job{name: "short", gpu: 8, walltime: 120, runs: 20, edit: endBefore(90, timeMin(30))},
		job{name: "open", gpu: 8, runs: 20, edit: endBefore(45)})
	w.until(0)
	w.want("short=0", "open=0")
	if a, b := w.deadline("short"), w.deadline("open"); a != 90 || b != 45 {
		t.Errorf("deadlines %d and %d", a, b)
	}
	w.until(20)
	w.submit(job{name: "r", pods: 2, gpu: 8, walltime: 40})
	w.until(20)
	// 60+30 is in time; a planned start would use the whole walltime.
	w.submit(job{name: "late", gpu: 8, walltime: 60, runs: 5, edit: endBefore(90, timeMin(30))})
	w.until(21)
	w.want("late~-")
	w.until(60)
	w.want("late=60")
	if got := w.deadline("late"); got != 90 {
		t.Errorf("deadline %d", got)
	}
}

// TestEndlessWorkThatMustEndTakesAllThatIsLeft or nothing: it is not cut short
// by a planned start, has none of its own, and says why.
func TestEndlessWorkThatMustEndTakesAllThatIsLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.submit(job{name: "r", gpu: 8, walltime: 30})
	w.until(1)
	w.submit(job{name: "gang", pods: 2, gpu: 8, walltime: 20}, job{name: "open", gpu: 8, runs: -1, edit: endBefore(90)},
		job{name: "over", gpu: 8, runs: -1, edit: endBefore(20)})
	w.until(1)
	w.want("gang~30", "open=-", "open~-", "over=1")
	w.reason("open", batch.ReasonResources, "no start is planned for what has no walltime and must have ended by 2026-03-02T09:30:00Z", "all the time until then")
	if got := w.deadline("over"); got != 20 {
		t.Errorf("over may run until %d, want 20: it meets no planned start before", got)
	}
	w.endAs("over", batch.Timeout)
	w.until(50)
	w.want("gang=30", "open=50")
	if got := w.deadline("open"); got != 90 {
		t.Errorf("open may run until %d, want 90", got)
	}
	w.submit(job{name: "full", pods: 1, gpu: 8, walltime: 60}, job{name: "late", gpu: 8, runs: -1, edit: endBefore(80)})
	w.until(80)
	w.reason("late", batch.ReasonDeadlineMissed, "must have ended by 2026-03-02T09:20:00Z, and that time has passed")
}

func TestWorkTakesNoPartBeforeItsBeginTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(1, 8)
	w.submit(job{name: "later", gpu: 8, walltime: 60, priority: 5, edit: func(w *batch.Workload) { w.Begin = zero.Add(30 * time.Minute) }},
		job{name: "a", gpu: 8, walltime: 60}, job{name: "b", gpu: 8, walltime: 60})
	w.until(0)
	w.want("a=0", "b~60", "later~-")
	w.reason("later", batch.ReasonBeginTime, "may not begin before 2026-03-02T08:30:00Z")
	w.until(30)
	w.want("later~60", "b~120")
	w.reason("b", batch.ReasonResources, "higher-ranked arrival ns/later")
	w.until(200)
	w.want("later=60", "b=120")
}

func TestOverrunDelaysMinuteByMinuteAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("main", func(q *batch.Queue) { q.Overrun = 10 * time.Minute })
	w.nodes(1, 8)
	w.submit(job{name: "late", gpu: 8, walltime: 60, runs: 65})
	w.until(1)
	w.submit(job{name: "next", gpu: 8, walltime: 30})
	w.until(30)
	w.want("next~60")
	for minute := 60; minute < 65; minute++ {
		w.until(minute)
		if got := w.planned("next"); got != minute+1 {
			t.Errorf("at %d planned for %d", minute, got)
		}
		w.reason("next", batch.ReasonResources, "moved later by: overrun of ns/late")
	}
	w.until(100)
	w.want("next=65")
}
