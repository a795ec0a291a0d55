package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/berth-dev/berth/pkg/journal"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// keptJournal is the journal of a simulated run: a segment for each time that
// the controller begins.
type keptJournal struct {
	file    *os.File
	buffer  *bufio.Writer
	writer  *journal.Writer
	header  journal.Header
	problem error
}

// keep makes a run record itself, if that is wanted; nil: it is not.
func keep(path string, file *scenario.File, play *sim.Options) (*keptJournal, error) {
	if path == "" {
		return nil, nil
	}
	out, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	k := &keptJournal{file: out, buffer: bufio.NewWriter(out), header: journal.Header{Program: "simulate", At: file.Start}}
	play.Began, play.Pass = k.begin, k.pass
	return k, nil
}

func (k *keptJournal) begin(image sim.Image) {
	k.header.Segment++
	if k.problem == nil {
		k.writer, k.problem = journal.NewWriter(k.buffer, k.header, image)
	}
}

func (k *keptJournal) pass(p sim.Pass) {
	if k.problem == nil {
		k.problem = k.writer.Write(journal.Pass{Events: p.Events, Plan: p.Plan, Issued: p.Issued})
	}
}

func (k *keptJournal) close() error {
	if k == nil {
		return nil
	}
	if err := errors.Join(k.problem, k.buffer.Flush(), k.file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", k.file.Name(), err)
	}
	return nil
}
