package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrCut says that a journal ends in the middle of a line, as after a crash.
// All before it counts.
var ErrCut = errors.New("the journal ends in the middle of a line")

// Reader reads one segment.
type Reader struct {
	in      *bufio.Reader
	decoder decoder
	lines   int
	begun   bool
}

// NewReader returns a reader of a segment.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 1<<16), decoder: decoder{types: eventTypes()}}
}

// Next is the next entry; io.EOF at the end, ErrCut if the last line is not
// whole.
func (r *Reader) Next() (Entry, error) {
	text, err := r.in.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return Entry{}, err
	}
	if len(text) == 0 {
		return Entry{}, io.EOF
	}
	if err != nil {
		return Entry{}, ErrCut // every line ends in a newline
	}
	r.lines++
	entry, err := r.decoder.decode(bytes.TrimSpace(text))
	if err != nil {
		return Entry{}, fmt.Errorf("line %d: %w", r.lines, err)
	}
	if !r.begun {
		if entry.Header == nil {
			return Entry{}, errors.New("is not a journal: it does not begin with a header")
		}
		if entry.Header.Journal != Version {
			return Entry{}, fmt.Errorf("is a journal of form %d; this program reads form %d", entry.Header.Journal, Version)
		}
		r.begun = true
	}
	return entry, nil
}
