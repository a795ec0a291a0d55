package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
	"github.com/berth-dev/berth/pkg/journal"
)

const (
	// journalSegments is how many segments the ring has. The oldest goes when
	// a new one begins.
	journalSegments = 8

	// journalQueue is how many passes may wait to be written. A disk that is
	// slower than that costs the rest of a segment, never a decision.
	journalQueue = 256

	// journalRest is how long nothing is written after a failure.
	journalRest = time.Minute

	journalPattern = "berth-*.journal"
)

// Journal records what the driver sees and decides in a ring of files. The
// driver hands over and goes on; a goroutine of its own writes. What cannot be
// written in time is lost, with everything up to the next segment, which
// begins with the whole working set.
type Journal struct {
	folder  string
	size    int64 // of a segment
	program string
	clock   clock.Clock
	queue   chan entry
	// wants says that the writer would like a new segment.
	wants atomic.Bool

	// Of the driver's goroutine.
	open bool // a segment has been begun, and all since was handed over
	lost int  // passes that were not
}

// JournalOptions are what a Journal needs.
type JournalOptions struct {
	Folder  string
	Size    int64 // of all segments together, in bytes
	Program string
	Clock   clock.Clock
}

// entry is what the driver hands over: the beginning of a segment or a pass.
type entry struct {
	header *journal.Header
	image  core.Image
	pass   journal.Pass
	done   chan<- struct{} // closed when all before it is on disk
}

// NewJournal makes a journal in a folder, which is made if it is not there.
// Run must be called for it to write.
func NewJournal(o JournalOptions) (*Journal, error) {
	if err := os.MkdirAll(o.Folder, 0o750); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{
		folder: o.Folder, size: max(1, o.Size/journalSegments), program: o.Program, clock: o.Clock,
		queue: make(chan entry, journalQueue),
	}
	j.wants.Store(true)
	return j, nil
}

// begin hands over the working set if a new segment is wanted. It must be
// called before the events of a pass are folded in. It never blocks.
func (j *Journal) begin(c *core.Core) {
	if j == nil || !j.wants.Load() || len(j.queue) == cap(j.queue) {
		return
	}
	header := &journal.Header{Program: j.program, At: j.clock.Now().UTC(), Lost: j.lost}
	select {
	case j.queue <- entry{header: header, image: c.Image()}:
		j.wants.Store(false)
		j.open, j.lost = true, 0
	default:
	}
}

// record hands over a pass. It never blocks.
func (j *Journal) record(pass journal.Pass) {
	switch {
	case j == nil:
	case !j.open:
		j.lost++
	default:
		select {
		case j.queue <- entry{pass: pass}:
		default:
			j.open = false
			j.lost++
			j.wants.Store(true)
		}
	}
}

// flush waits until what was handed over is on disk, or for a moment: a driver
// that dies has no more time.
func (j *Journal) flush() {
	if j == nil {
		return
	}
	const patience = 2 * time.Second
	done := make(chan struct{})
	timer := j.clock.NewTimer(patience)
	defer timer.Stop()
	select {
	case j.queue <- entry{done: done}:
	case <-timer.C():
		return
	}
	select {
	case <-done:
	case <-timer.C():
	}
}

// Run writes until the context ends, then what is still waiting.
func (j *Journal) Run(ctx context.Context) {
	w := ringWriter{journal: j, number: lastSegment(j.folder)}
	defer func() { w.close(ctx) }()
	for {
		select {
		case <-ctx.Done():
			for len(j.queue) > 0 {
				w.take(ctx, <-j.queue)
			}
			return
		case e := <-j.queue:
			w.take(ctx, e)
		case <-w.rested:
			w.rested = nil
			j.wants.Store(true)
		}
	}
}

// ringWriter is the writing side of a journal.
type ringWriter struct {
	journal *Journal
	number  int
	file    *os.File
	buffer  *bufio.Writer
	segment *journal.Writer  // nil: passes are dropped until the next begins
	dropped int              // passes
	rested  <-chan time.Time // after a failure: when to try again
}

func (w *ringWriter) take(ctx context.Context, e entry) {
	var err error
	switch {
	case e.done != nil:
		err = w.sync()
		close(e.done)
	case e.header != nil:
		err = w.begin(e)
	case w.segment != nil:
		err = w.write(e.pass)
	default:
		w.dropped++
	}
	if err == nil {
		return
	}
	log.FromContext(ctx).Error(err, "the journal cannot be written; it rests", "folder", w.journal.folder, "rest", journalRest)
	w.close(ctx)
	w.rested = w.journal.clock.After(journalRest)
}

func (w *ringWriter) write(pass journal.Pass) error {
	if err := w.segment.Write(pass); err != nil {
		return err
	}
	if w.segment.Size() > w.journal.size {
		w.journal.wants.Store(true)
	}
	if len(w.journal.queue) == 0 {
		return w.buffer.Flush()
	}
	return nil
}

// begin begins a segment and drops the oldest.
func (w *ringWriter) begin(e entry) error {
	if err := w.finish(); err != nil {
		return err
	}
	w.number++
	e.header.Segment = w.number
	e.header.Lost += w.dropped
	w.dropped = 0
	var err error
	w.file, err = os.Create(filepath.Join(w.journal.folder, fmt.Sprintf("berth-%06d.journal", w.number)))
	if err != nil {
		return err
	}
	w.buffer = bufio.NewWriterSize(w.file, 1<<16)
	if w.segment, err = journal.NewWriter(w.buffer, *e.header, e.image); err != nil {
		return err
	}
	if err := w.buffer.Flush(); err != nil {
		return err
	}
	return w.prune()
}

func (w *ringWriter) prune() error {
	names, err := filepath.Glob(filepath.Join(w.journal.folder, journalPattern))
	if err != nil {
		return err
	}
	slices.Sort(names)
	for len(names) > journalSegments {
		if err := os.Remove(names[0]); err != nil {
			return err
		}
		names = names[1:]
	}
	return nil
}

func (w *ringWriter) sync() error {
	if w.segment == nil {
		return nil
	}
	return errors.Join(w.buffer.Flush(), w.file.Sync())
}

func (w *ringWriter) finish() error {
	if w.file == nil {
		return nil
	}
	var err error
	if w.buffer != nil {
		err = w.buffer.Flush()
	}
	err = errors.Join(err, w.file.Close())
	w.file, w.buffer, w.segment = nil, nil, nil
	return err
}

func (w *ringWriter) close(ctx context.Context) {
	if err := w.finish(); err != nil {
		log.FromContext(ctx).Error(err, "the journal could not be closed", "folder", w.journal.folder)
	}
	w.segment = nil
}

// lastSegment is the highest number of a segment in a folder.
func lastSegment(folder string) int {
	last := 0
	names, _ := filepath.Glob(filepath.Join(folder, journalPattern)) // the pattern is good
	for _, name := range names {
		var number int
		if _, err := fmt.Sscanf(filepath.Base(name), "berth-%d.journal", &number); err == nil {
			last = max(last, number)
		}
	}
	return last
}

// keep makes the pass that a journal records.
func keep(events []batch.Event, plan batch.Plan) journal.Pass {
	return journal.Pass{Events: events, Plan: plan, Issued: !plan.Empty()}
}
