package journal

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

// Writer writes one segment.
type Writer struct {
	encoder *json.Encoder
	counter counter
}

// NewWriter begins a segment with its header and the working set.
func NewWriter(to io.Writer, header Header, image core.Image) (*Writer, error) {
	w := &Writer{counter: counter{to: to}}
	w.encoder = json.NewEncoder(&w.counter)
	w.encoder.SetEscapeHTML(false)
	header.Journal = Version
	if err := w.write(line{Header: &header}); err != nil {
		return nil, err
	}
	return w, w.write(line{Image: &image})
}

// Size is how many bytes have been written.
func (w *Writer) Size() int64 { return w.counter.size }

// Pass is what one planning pass took in and made.
type Pass struct {
	Events []batch.Event // folded in before the plan was made
	Plan   batch.Plan
	Issued bool // it was carried out
}

// Write writes a pass.
func (w *Writer) Write(p Pass) error {
	for _, e := range p.Events {
		l, err := encodeEvent(e)
		if err != nil {
			return err
		}
		if err := w.write(l); err != nil {
			return err
		}
	}
	digest, err := Digest(p.Plan)
	if err != nil {
		return err
	}
	if err := w.write(line{Plan: &Mark{At: p.Plan.At, Digest: digest, Issued: p.Issued}}); err != nil || !p.Issued {
		return err
	}
	// The placements of planned starts are made again when the plan is: they
	// are most of it, and the digest vouches for them.
	p.Plan.Holds = nil
	l, err := encodeEvent(batch.PlanIssued{Plan: p.Plan})
	if err != nil {
		return err
	}
	return w.write(l)
}

func (w *Writer) write(l line) error {
	if err := w.encoder.Encode(l); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// counter counts what goes through.
type counter struct {
	to   io.Writer
	size int64
}

// Write passes on and counts.
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.size += int64(n)
	return n, err
}
