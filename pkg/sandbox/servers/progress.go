package servers

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// unit is what a step counts.
type unit string

const (
	unitModules  unit = "modules downloaded"
	unitPackages unit = "packages compiled"
)

// progress tells how far a build step is: on a terminal one line that is
// rewritten each second, in a log file a line each 15 s, so that a CI job that
// kills silent commands lets it live.
type progress struct {
	log      io.Writer
	unit     unit
	total    int // 0: unknown
	terminal bool
	start    time.Time
	done     chan struct{}
	stopped  sync.WaitGroup

	mu   sync.Mutex
	n    int
	last string
}

func newProgress(log io.Writer, unit unit, total int) *progress {
	p := &progress{log: log, unit: unit, total: total, terminal: isTerminal(log), start: time.Now(), done: make(chan struct{})}
	every := 15 * time.Second
	if p.terminal {
		every = time.Second
	}
	p.stopped.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-p.done:
				return
			case <-ticker.C:
				p.print()
			}
		}
	})
	return p
}

func (p *progress) add(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	p.last = name
}

func (p *progress) print() {
	p.mu.Lock()
	line := p.line(time.Since(p.start))
	p.mu.Unlock()
	if p.terminal {
		fmt.Fprintf(p.log, "\r\x1b[K      %s", line)
		return
	}
	fmt.Fprintf(p.log, "      %s\n", line)
}

func (p *progress) finish() {
	close(p.done)
	p.stopped.Wait()
	if p.terminal {
		fmt.Fprint(p.log, "\r\x1b[K")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.log, "      done in %s, %d %s\n", time.Since(p.start).Round(time.Second), p.n, p.unit)
}

// line is one report. When the last packages are compiled a program is linked,
// which prints nothing for up to half a minute.
func (p *progress) line(elapsed time.Duration) string {
	line := fmt.Sprintf("%s  ", elapsed.Round(time.Second))
	switch {
	case p.n == 0 && p.unit == unitPackages:
		return line + "looking up what is compiled already, or linking"
	case p.total > 0:
		line += fmt.Sprintf("%d%%, %d of at most %d %s", min(100*p.n/p.total, 100), p.n, p.total, p.unit)
	default:
		line += fmt.Sprintf("%d %s", p.n, p.unit)
	}
	if p.last == "" {
		return line
	}
	if last := []rune(p.last); len(last) > 50 {
		return line + ", now …" + string(last[len(last)-49:])
	}
	return line + ", now " + p.last
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
