package scenario

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
)

// columns are the indices of a csv file's columns; -1: there is none.
type columns struct {
	job, submit, runtime, walltime, gpus, nodes, user, queue int
	scale                                                    float64 // a unit in seconds
}

// openCSV reads the line with the names of the columns.
func (t *Trace) openCSV(file *File) error {
	t.read, t.unit = t.readCSV, batch.ResourceGPU
	if len(file.Nodes) == 0 {
		return errors.New("a csv file says nothing of the machine: give nodes in the scenario")
	}
	for i := range file.Nodes {
		t.each = max(t.each, int(file.Nodes[i].Capacity[t.unit]))
	}
	if err := t.machine(file, 0); err != nil {
		return err
	}
	if !t.lines.Scan() {
		return errors.New("has no line with the names of its columns")
	}
	header, err := cells(t.lines.Text())
	if err != nil {
		return fmt.Errorf("the names of its columns: %w", err)
	}
	c, want := &t.columns, t.spec.Columns
	c.scale = map[string]float64{"ms": 0.001, "": 1, "s": 1, "m": 60, "h": 3600}[t.spec.Unit]
	for _, one := range []struct {
		index *int
		name  string
	}{
		{&c.job, want.Job},
		{&c.submit, want.Submit},
		{&c.runtime, want.Runtime},
		{&c.walltime, want.Walltime},
		{&c.gpus, want.GPUs},
		{&c.nodes, want.Nodes},
		{&c.user, want.User},
		{&c.queue, want.Queue},
	} {
		*one.index = -1
		if one.name == "" {
			continue
		}
		if *one.index = slices.Index(header, one.name); *one.index < 0 {
			return fmt.Errorf("has no column %q; it has %s", one.name, strings.Join(header, ", "))
		}
	}
	if c.gpus < 0 && c.nodes < 0 {
		return errors.New("columns: give gpus or nodes, or the jobs have no size")
	}
	return nil
}

func cells(line string) ([]string, error) {
	reader := csv.NewReader(strings.NewReader(line))
	reader.TrimLeadingSpace = true
	return reader.Read()
}

func (t *Trace) readCSV(line string) (record, string) {
	row, err := cells(line)
	if err != nil {
		return record{}, unusedUnreadable
	}
	c := &t.columns
	r := record{job: strconv.Itoa(t.Log.Lines), submit: -1, user: "user"}
	if c.job >= 0 && c.job < len(row) {
		r.job = row[c.job]
	}
	if !batch.IsName("j" + r.job) {
		return record{}, unusedUnreadable
	}
	var gpus, nodes float64
	if !numbers(row, []cell{{c.submit, &r.submit}, {c.runtime, &r.run}, {c.walltime, &r.walltime}, {c.gpus, &gpus}, {c.nodes, &nodes}}) {
		return record{}, unusedUnreadable
	}
	r.submit, r.run, r.walltime = r.submit*c.scale, r.run*c.scale, r.walltime*c.scale
	if gpus != math.Trunc(gpus) || nodes != math.Trunc(nodes) {
		return record{}, unusedSize
	}
	r.procs, r.nodes = int(min(gpus, 1<<31)), int(min(nodes, 1<<31))
	if c.user >= 0 && c.user < len(row) {
		r.user = row[c.user]
	}
	if c.queue >= 0 && c.queue < len(row) {
		r.queue = row[c.queue]
	}
	return r, ""
}

// cell is a column and the number that it gives.
type cell struct {
	column int
	number *float64
}

// numbers reads cells; those that are empty or not there leave theirs alone.
// False: one cannot be read.
func numbers(row []string, cells []cell) bool {
	for _, c := range cells {
		if c.column < 0 || c.column >= len(row) || row[c.column] == "" {
			continue
		}
		n, err := strconv.ParseFloat(row[c.column], 64)
		if err != nil || math.Abs(n) > 1e15 || math.IsNaN(n) {
			return false
		}
		*c.number = n
	}
	return true
}
