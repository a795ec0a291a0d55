// Package evidence is what the test program in a pod writes down of its life,
// and how a test reads it: a file for each pod, with a line for each thing that
// happens to it, on a folder of the node. It outlives the pod, and its last
// line tells when the process died, whoever killed it and whatever the API
// says.
package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Kind is what happens to a process.
type Kind string

// The kinds of events. Detail says which signal, request or annotation.
const (
	Started      Kind = "Started"
	Alive        Kind = "Alive" // every Pulse
	Signal       Kind = "Signal"
	Request      Kind = "Request" // over HTTP
	Command      Kind = "Command" // run in the container
	Notice       Kind = "Notice"  // the annotation has appeared
	Saving       Kind = "Saving"
	Saved        Kind = "Saved"
	Acknowledged Kind = "Acknowledged"
	Failed       Kind = "Failed" // to acknowledge, or to listen
	Leaving      Kind = "Leaving"
)

// Pulse is the time between two signs of life.
const Pulse = 100 * time.Millisecond

// Event is one line.
type Event struct {
	At     time.Time `json:"at"`
	Kind   Kind      `json:"kind"`
	Detail string    `json:"detail,omitempty"`
}

func (e Event) String() string {
	return fmt.Sprintf("%s %s %s", e.At.Format("15:04:05.000"), e.Kind, e.Detail)
}

// Book is one pod's file, open for writing.
type Book struct{ file *os.File }

// Open opens the book of a pod.
func Open(dir, pod string) (*Book, error) {
	file, err := os.OpenFile(filepath.Join(dir, pod), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the evidence: %w", err)
	}
	return &Book{file: file}, nil
}

// Write adds a line. Each is one write, so that several processes may share a
// book.
func (b *Book) Write(e Event) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = b.file.Write(append(raw, '\n'))
	return err
}

// Life is a pod's evidence, in the order in which it was written.
type Life []Event

// Read reads the book of a pod; empty if it has not written any.
func Read(dir, pod string) (Life, error) {
	raw, err := os.ReadFile(filepath.Join(dir, pod))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all Life
	for line := range bytes.Lines(raw) {
		if !bytes.HasSuffix(line, []byte{'\n'}) {
			break // it is being written
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("evidence of %s: %w in %q", pod, err, line)
		}
		all = append(all, e)
	}
	return all, nil
}

// First is the first event of a kind, with a detail if one is given.
func (l Life) First(kind Kind, detail string) (Event, bool) {
	for _, e := range l {
		if e.Kind == kind && (detail == "" || e.Detail == detail) {
			return e, true
		}
	}
	return Event{}, false
}

// Count is how often something has happened.
func (l Life) Count(kind Kind) int {
	n := 0
	for _, e := range l {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// End is the last sign of life, zero if there was none.
func (l Life) End() time.Time {
	if len(l) == 0 {
		return time.Time{}
	}
	return l[len(l)-1].At
}

// Told is the life without its pulse.
func (l Life) Told() Life {
	var out Life
	for _, e := range l {
		if e.Kind != Alive {
			out = append(out, e)
		}
	}
	return out
}
