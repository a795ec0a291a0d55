package core_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/pkg/batch"
)

// movedBy are the texts about one that was moved later.
func (w *world) movedBy(name string) (texts []string) {
	for _, text := range w.moved {
		if by, of := strings.CutPrefix(text, name+": "); of {
			texts = append(texts, by)
		}
	}
	return texts
}

// Who overruns is named to whom he pushes back, also where that is the second: the
// first has gone to the nodes of the other, and starts when it was to.
func TestAnOverrunIsNamedToWhoeverItPushesBack(t *testing.T) {
	t.Parallel()
	for _, late := range []string{"a", "b"} {
		w := newWorld(t)
		w.nodes(2, 8)
		for _, name := range []string{"a", "b"} {
			runs := 10
			if name == late {
				runs = 13
			}
			w.submit(job{name: name, gpu: 8, walltime: 10, runs: runs})
		}
		w.until(1)
		w.submit(job{name: "first", gpu: 8, walltime: 5, priority: 1}, job{name: "second", gpu: 8, walltime: 5})
		w.until(11)
		if got := w.started("first"); got != 10 {
			t.Errorf("%s overruns: first starts at %d, want 10", late, got)
		}
		got := w.movedBy("second")
		if len(got) == 0 || got[0] != "overrun of ns/"+late {
			t.Errorf("%s overruns, and second was told %q", late, got)
		}
	}
}

// Who is planned behind a preemptor whose victims are late is told of them, also where
// none of them is on his own nodes.
func TestLateVictimsAreNamedToWhoeverIsPushedBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.giving(batch.Preemption{Mode: batch.PreemptRequeue})
	w.lingers = func(batch.WorkloadID) int { return 3 }
	w.submit(job{name: "a", gpu: 8, walltime: 2}, job{name: "victim", gpu: 8, walltime: 60})
	w.until(2)
	w.submit(job{name: "top", queue: "front", pods: 2, gpu: 8, walltime: 5})
	w.until(2)
	w.submit(job{name: "low", queue: "front", gpu: 8, walltime: 5})
	w.until(4)
	w.reason("top", batch.ReasonPreempting)
	got := w.movedBy("low")
	if len(got) == 0 || !strings.HasPrefix(got[0], "those that give way and are not gone yet: ns/victim") {
		t.Errorf("low was told %q", got)
	}
}
