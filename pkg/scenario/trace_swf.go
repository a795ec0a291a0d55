package scenario

import (
	"bufio"
	"math"
	"strconv"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
)

// Fields of a line of the Standard Workload Format, from 0.
const (
	swfJob        = 0
	swfSubmit     = 1
	swfRun        = 3
	swfProcs      = 4
	swfAskedProcs = 7
	swfAskedTime  = 8
	swfUser       = 11
	swfQueue      = 14
	swfPartition  = 15
	swfFields     = 9 // those that a job cannot do without
)

// openSWF reads the header: comment lines before the first job.
func (t *Trace) openSWF(file *File, in *bufio.Reader) error {
	t.read = t.readSWF
	t.each, t.unit = 1, batch.ResourceCPU
	if t.spec.ProcsPerNode != nil {
		t.each = *t.spec.ProcsPerNode
	}
	if t.spec.Resource != "" {
		t.unit = batch.ResourceName(t.spec.Resource)
	}
	procs, nodes := 0, 0
	for {
		start, err := in.Peek(1)
		if err != nil || (start[0] != ';' && start[0] != '\n' && start[0] != '\r') {
			break
		}
		line, err := in.ReadString('\n')
		name, value, _ := strings.Cut(strings.TrimLeft(line, "; \t"), ":")
		n, parseErr := strconv.Atoi(strings.TrimSpace(value))
		if parseErr == nil {
			switch strings.TrimSpace(name) {
			case "MaxProcs":
				procs = n
			case "MaxNodes":
				nodes = n
			}
		}
		if err != nil {
			break
		}
	}
	if procs <= 0 {
		procs = nodes
	}
	return t.machine(file, procs)
}

// readSWF reads a line: 18 numbers, -1 where one is unknown.
func (t *Trace) readSWF(line string) (record, string) {
	fields := strings.Fields(line)
	if len(fields) < swfFields {
		return record{}, unusedUnreadable
	}
	r := record{job: fields[swfJob]}
	if _, err := strconv.ParseUint(r.job, 10, 63); err != nil {
		return record{}, unusedUnreadable
	}
	numbers := map[int]*float64{swfSubmit: &r.submit, swfRun: &r.run, swfAskedTime: &r.walltime}
	var procs, asked float64
	numbers[swfProcs], numbers[swfAskedProcs] = &procs, &asked
	for i, number := range numbers { //order:any each sets its own
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil || math.Abs(n) > 1e15 || math.IsNaN(n) {
			return record{}, unusedUnreadable
		}
		*number = n
	}
	if asked > 0 {
		procs = asked
	}
	r.procs = int(min(procs, 1<<31))
	if t.spec.UseRequestedTime != nil && !*t.spec.UseRequestedTime {
		r.walltime = 0
	}
	r.user = "user" + fieldOf(fields, swfUser)
	r.queue, r.section = fieldOf(fields, swfQueue), fieldOf(fields, swfPartition)
	return r, ""
}

func fieldOf(fields []string, i int) string {
	if i < len(fields) {
		return fields[i]
	}
	return "-1"
}
