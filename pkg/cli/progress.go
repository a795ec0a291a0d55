package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-dev/berth/pkg/sim"
)

const (
	progressAfter = 2 * time.Second // shorter runs need no bar
	progressEach  = 200 * time.Millisecond
	progressWidth = 30
)

// progress draws how far a long run is, on a terminal alone.
type progress struct {
	to          io.Writer
	clock       clock.PassiveClock
	name        string
	began, last time.Time
	read, size  int64 // of the trace's file
	drawn       bool
}

// newProgress returns nil where nobody would see it.
func newProgress(to io.Writer, name string) *progress {
	file, ok := to.(*os.File)
	if !ok {
		return nil
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	p := &progress{to: to, clock: clock.RealClock{}, name: name}
	p.began = p.clock.Now()
	return p
}

// reader counts what is read of a trace's file.
func (p *progress) reader(in io.Reader, size int64) io.Reader {
	if p == nil {
		return in
	}
	p.size = size
	return io.TeeReader(in, p)
}

// Write counts.
func (p *progress) Write(b []byte) (int, error) {
	p.read += int64(len(b))
	return len(b), nil
}

// draw is for sim.Options.Progress.
func (p *progress) draw(at sim.Progress) {
	now := p.clock.Now()
	if now.Sub(p.began) < progressAfter || now.Sub(p.last) < progressEach {
		return
	}
	p.last, p.drawn = now, true
	bar := ""
	if p.size > 0 {
		done := float64(p.read) / float64(p.size)
		full := min(progressWidth, int(done*progressWidth))
		bar = fmt.Sprintf("[%s%s] %3.0f %% ", strings.Repeat("#", full), strings.Repeat(".", progressWidth-full), 100*done)
	}
	fmt.Fprintf(p.to, "\r\033[K%s %s%s simulated, %d jobs submitted, %d ended, %d wait", p.name, bar, length(at.Now), at.Submitted, at.Ended, at.Waiting)
}

// clear takes the bar away.
func (p *progress) clear() {
	if p != nil && p.drawn {
		fmt.Fprint(p.to, "\r\033[K")
	}
}
