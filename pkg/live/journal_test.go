package live_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/journal"
	"github.com/berth-dev/berth/pkg/live"
)

// journaled runs a driver with a journal of a size over a world.
func journaled(t *testing.T, folder string, size int64, test func(driver *live.Driver)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		kept, err := live.NewJournal(live.JournalOptions{Folder: folder, Size: size, Clock: clock.RealClock{}})
		if err != nil {
			t.Fatal(err)
		}
		driver := live.New(live.Options{Clock: clock.RealClock{}, Carrier: &carried{}, Recorder: &passes{}, Journal: kept})
		observe(driver, world())
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { kept.Run(ctx) })
		group.Go(func() { driver.Run(ctx) })
		synctest.Wait()
		test(driver)
		cancel()
		group.Wait()
	})
}

// replayed plays all segments of a folder.
func replayed(t *testing.T, folder string) (sum journal.Summary, segments int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := journal.Replay(bytes.NewReader(text), journal.Options{}, &sum); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return sum, len(names)
}

func work(i int) []batch.Event {
	id := batch.WorkloadID(fmt.Sprintf("default/w%d", i))
	return []batch.Event{
		batch.OwnerObserved{ID: id, Owner: batch.Owner{Suspended: true}},
		batch.WorkloadObserved{Workload: batch.Workload{
			ID: id, UID: string(id), Namespace: "default", Name: fmt.Sprintf("w%d", i), LocalQueue: "default/q", Walltime: batch.Walltime(time.Hour),
			PodSets: []batch.PodSet{{Name: "main", Count: 1, Requests: batch.Resources{batch.ResourceGPU: 8, batch.ResourcePods: 1}}},
		}},
	}
}

func TestWhatIsRecordedLiveIsReplayedToTheDigest(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	journaled(t, folder, 64<<20, func(driver *live.Driver) {
		for i := range 20 {
			observe(driver, work(i))
			time.Sleep(time.Minute)
			synctest.Wait()
		}
	})
	sum, _ := replayed(t, folder)
	if sum.Plans < 20 || sum.Differ != 0 || sum.Lost != 0 || sum.Cut {
		t.Errorf("%+v", sum)
	}
}

func TestTheRingIsBoundedAndEachSegmentStandsAlone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	journaled(t, folder, 8<<10, func(driver *live.Driver) {
		for i := range 60 {
			observe(driver, work(i))
			time.Sleep(time.Minute)
			synctest.Wait()
		}
	})
	sum, segments := replayed(t, folder)
	if segments > 8 || segments < 2 || sum.Differ != 0 || sum.Lost != 0 {
		t.Errorf("%d segments, %+v", segments, sum)
	}
}

func TestADriverDoesNotWaitForItsJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept, err := live.NewJournal(live.JournalOptions{Folder: t.TempDir(), Size: 1 << 20, Clock: clock.RealClock{}})
		if err != nil {
			t.Fatal(err)
		}
		plans := &carried{}
		driver := live.New(live.Options{Clock: clock.RealClock{}, Carrier: plans, Recorder: &passes{}, Journal: kept}) // and nobody writes
		observe(driver, world())
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { driver.Run(ctx) })
		for i := range 600 {
			observe(driver, work(i))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if view := driver.View(); view == nil || view.Queues["q"].Pending+view.Queues["q"].Running != 600 {
			t.Errorf("after 600 workloads the view is %+v", view)
		}
		cancel()
		group.Wait()
	})
}
