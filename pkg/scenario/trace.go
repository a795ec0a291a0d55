package scenario

import (
	"maps"
	"slices"
	"strings"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// ofTrace says whether a job may be one of a trace.
func ofTrace(id batch.WorkloadID) bool { return strings.HasPrefix(string(id), defaultName+"/j") }

// trace checks what a file says of its trace; the log is opened later.
func (l *loader) trace(spec *v1alpha1.ScenarioSpec) {
	t := spec.Trace
	if t == nil {
		return
	}
	const path = "spec.trace"
	l.out.Trace = t
	l.oneOf(path+".format", t.Format, []string{"swf", "csv"})
	if t.File == "" {
		l.wrong(path+".file", "is missing")
	}
	if t.ProcsPerNode != nil && *t.ProcsPerNode < 1 {
		l.wrong(path+".procsPerNode", "is %d: a node has at least 1 processor", *t.ProcsPerNode)
	}
	if t.Limit != nil && *t.Limit < 1 {
		l.wrong(path+".limit", "is %d: take at least 1 job, or leave it out for all", *t.Limit)
	}
	if t.Resource != "" {
		l.form(path+".resource", FormRequest, t.Resource)
	}
	for _, from := range slices.Sorted(maps.Keys(t.Queues)) {
		l.name(join(path+".queues", from), t.Queues[from])
	}
	l.oneOf(path+".unit", t.Unit, []string{"ms", "s", "m", "h"})
	l.ofFormat(path, t)
}

// ofFormat checks that a trace says what its format needs, and nothing of another's.
func (l *loader) ofFormat(path string, t *v1alpha1.Trace) {
	if t.Format == "csv" && t.Columns == nil {
		l.wrong(path+".columns", "is missing: a csv file needs at least {submit: NAME, runtime: NAME}")
	}
	if t.Format == "swf" && (t.Columns != nil || t.Unit != "") {
		l.wrong(path, "columns and unit are of csv files; an swf log has fields of its own")
	}
	if t.Format == "csv" && t.ProcsPerNode != nil {
		l.wrong(path+".procsPerNode", "is of swf logs; give a csv file the columns gpus and nodes")
	}
}
