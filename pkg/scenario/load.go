package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// defaultStart is the time at 0s, a Monday.
func defaultStart() time.Time { return time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) }

// Admitter treats a Berth object as a cluster would: it validates, sets
// defaults and converts. Old is what the object replaces; nil: nothing. The
// error is the one that the cluster would give, or says that this version does
// not have the kind.
type Admitter interface {
	Admit(object, old map[string]any) (Object, error)
	// Malformed says why a cluster would refuse a text of a node or a pod, and what
	// would do; empty: it takes it.
	Malformed(form Form, text string) (why string)
}

// Options say how a file is read.
type Options struct {
	Admitter Admitter
	// Overrides are set in the SchedulingPolicy, which is made if there is none.
	Overrides []Override
	// Instead are objects that replace those of the same kind and name.
	Instead []Replacement
}

// Replacement is an object of another file than the scenario's.
type Replacement struct {
	File           string
	Document, Line int
	Object         map[string]any
}

// Override is a field of the SchedulingPolicy's spec and its value.
type Override struct {
	Path  []string
	Value any
}

// loader turns the documents of one file into a File.
type loader struct {
	findings
	options  Options
	out      *File
	decoder  *decoder
	document int // of the Scenario
	lines    map[string]int

	store    map[string]map[string]any // admitted objects, by key
	classes  map[string]int32
	nodes    map[batch.NodeName]bool
	numbered map[string]int
	jobs     map[batch.WorkloadID]int // index in out.Jobs
	named    map[string][]batch.WorkloadID
	arrays   map[string][]batch.WorkloadID // members, by NAME and by NAMESPACE/NAME
	ranks    map[batch.WorkloadID]rank
	known    known
}

// Load reads a scenario file. The error is a *FileError.
func Load(path string, content []byte, options Options) (*File, error) {
	l := &loader{
		options: options,
		out:     &File{Path: path, Start: defaultStart(), Seed: 1},
		store:   map[string]map[string]any{}, classes: map[string]int32{},
		nodes: map[batch.NodeName]bool{}, numbered: map[string]int{},
		jobs: map[batch.WorkloadID]int{}, named: map[string][]batch.WorkloadID{}, arrays: map[string][]batch.WorkloadID{}, ranks: map[batch.WorkloadID]rank{},
	}
	documents := l.documents(content)
	spec := l.sort(documents)
	l.applyInstead(spec.objects)
	l.admitAll(spec)
	if len(l.list) == 0 {
		l.convert(spec.scenario)
	}
	if err := l.err(path); err != nil {
		return nil, err
	}
	l.out.Notes = l.out.notes()
	return l.out, nil
}

// Objects reads the Berth objects of a file that has no Scenario; false: it has
// one. They are not admitted yet.
func Objects(path string, content []byte) (objects []Replacement, alone bool, err error) {
	l := &loader{}
	for i, node := range l.documents(content) {
		if len(node.Content) == 0 || node.Content[0].Kind == yaml.ScalarNode {
			continue
		}
		if kindWord(node.Content[0], "kind") == v1alpha1.KindScenario {
			return nil, false, nil
		}
		d := &decoder{findings: &l.findings, document: i + 1}
		object, ok := d.value(node.Content[0], "").(map[string]any)
		if !ok {
			d.fail(node.Content[0], "", "must be an object with apiVersion and kind")
			continue
		}
		objects = append(objects, Replacement{File: path, Document: i + 1, Line: node.Content[0].Line, Object: object})
	}
	return objects, true, l.err(path)
}

// contents are the documents of a file, sorted.
type contents struct {
	objects  []*document
	scenario *v1alpha1.Scenario
}

// document is one document that is not the Scenario.
type document struct {
	file         string // empty: the one that is read
	number, line int
	object       map[string]any
	// plain is the object without what was set in it by flags; nil: nothing was.
	plain map[string]any
}

// replaced is the document that stands in the place of another.
func (r Replacement) document() *document {
	return &document{file: r.File, number: r.Document, line: r.Line, object: r.Object}
}

func (l *loader) documents(content []byte) []*yaml.Node {
	var all []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		node := &yaml.Node{}
		err := decoder.Decode(node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			l.add(Problem{Document: len(all) + 1, Text: err.Error()})
			return nil
		}
		all = append(all, node)
	}
	return all
}

// sort tells the Scenario from the Berth objects.
func (l *loader) sort(documents []*yaml.Node) contents {
	var out contents
	for i, node := range documents {
		if len(node.Content) == 0 {
			continue
		}
		root := node.Content[0]
		if root.Kind == yaml.ScalarNode && kindOf(root) == kindNull {
			continue // only comments
		}
		d := &decoder{findings: &l.findings, document: i + 1, absent: absentFields(), lines: map[string]int{}}
		if root.Kind != yaml.MappingNode {
			d.fail(root, "", "must be an object with apiVersion and kind")
			continue
		}
		if kindWord(root, "kind") != v1alpha1.KindScenario {
			object, _ := d.value(root, "").(map[string]any)
			out.objects = append(out.objects, &document{number: i + 1, line: root.Line, object: object})
			continue
		}
		if out.scenario != nil {
			d.fail(root, "", "is a second Scenario; a file has exactly one (the first is document %d)", l.document)
			continue
		}
		out.scenario = l.scenario(d, root)
		l.document = i + 1
	}
	if out.scenario == nil && len(l.list) == 0 {
		l.add(Problem{Text: "has no document of kind Scenario (apiVersion " + v1alpha1.GroupVersion + ")"})
	}
	return out
}

func (l *loader) scenario(d *decoder, root *yaml.Node) *v1alpha1.Scenario {
	scenario := &v1alpha1.Scenario{}
	if version := kindWord(root, "apiVersion"); version != v1alpha1.GroupVersion {
		d.fail(root, "apiVersion", "is %q; a Scenario's is %s", version, v1alpha1.GroupVersion)
		return scenario
	}
	d.into(root, reflect.ValueOf(scenario).Elem(), "")
	l.decoder, l.lines = d, d.lines
	l.out.Expect = expectTexts(root)
	return scenario
}

// kindWord is a top-level field that holds a word.
func kindWord(root *yaml.Node, key string) string {
	if value := child(root, key); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

func child(node *yaml.Node, key string) *yaml.Node {
	for i := 0; node != nil && node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// expectTexts keeps each expectation as it stands in the file, on one line.
func expectTexts(root *yaml.Node) []Expectation {
	list := child(child(root, "spec"), "expect")
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil
	}
	out := make([]Expectation, len(list.Content))
	for i, item := range list.Content {
		flow := *item
		flow.Style = yaml.FlowStyle
		flow.HeadComment, flow.LineComment, flow.FootComment = "", "", ""
		text, err := yaml.Marshal(&flow)
		if err != nil {
			text = []byte(item.Value)
		}
		out[i] = Expectation{Text: string(bytes.Join(bytes.Fields(text), []byte(" "))), Line: item.Line, Path: fmt.Sprintf("spec.expect[%d]", i)}
	}
	return out
}

// wrong notes a problem of the Scenario document.
func (l *loader) wrong(path, format string, args ...any) {
	l.add(Problem{Document: l.document, Line: l.line(path), Path: path, Text: fmt.Sprintf(format, args...)})
}

// line is that of the field, or of the nearest thing around it.
func (l *loader) line(path string) int {
	for path != "" {
		if line, ok := l.lines[path]; ok {
			return line
		}
		cut := len(path) - 1
		for cut > 0 && path[cut] != '.' && path[cut] != '[' {
			cut--
		}
		path = path[:cut]
	}
	return 0
}

func (l *loader) convert(scenario *v1alpha1.Scenario) {
	spec := &scenario.Spec
	l.out.Name, l.out.About = scenario.Metadata.Name, spec.About
	if spec.Start != "" {
		l.out.Start = l.start("spec.start", spec.Start)
	}
	l.out.Until = l.offset("spec.until", spec.Until)
	if spec.Until != "" && l.out.Until == 0 && len(l.list) == 0 {
		l.wrong("spec.until", "is 0s: a run that stops before it begins shows nothing; leave it out to run to the end")
	}
	if spec.Seed != nil {
		l.out.Seed = *spec.Seed
	}
	l.out.Live = spec.Live != nil && *spec.Live
	l.out.LiveScale = time.Minute
	if spec.LiveScale != "" {
		l.out.LiveScale = l.offset("spec.liveScale", spec.LiveScale)
	}
	if l.out.LiveScale <= 0 {
		l.wrong("spec.liveScale", "is 0s: its time would stand still")
	}
	for i := range spec.Nodes {
		l.out.Nodes = append(l.out.Nodes, l.nodeGroup(fmt.Sprintf("spec.nodes[%d]", i), &spec.Nodes[i])...)
	}
	for i := range spec.Jobs {
		l.job(fmt.Sprintf("spec.jobs[%d]", i), &spec.Jobs[i])
	}
	l.trace(spec)
	if len(spec.Jobs) == 0 && spec.Trace == nil {
		l.wrong("spec", "has no jobs and no trace: nothing would happen")
	}
	l.events(spec.Events)
	l.undecided(spec)
	l.known = l.everKnown()
	for i := range spec.Expect {
		l.expectation(&l.out.Expect[i], &spec.Expect[i])
	}
}

// start reads the time at 0s. The planner counts whole seconds since 1970, and 0 is no
// time to it.
func (l *loader) start(path, text string) time.Time {
	start, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		l.wrong(path, "%q is not a time: write it as 2026-01-05T00:00:00Z", text)
	case start.Nanosecond() != 0:
		l.wrong(path, "%q has a fraction of a second: write a whole one, such as %s", text, start.Truncate(time.Second).Format(time.RFC3339))
	case start.Unix() <= 0:
		l.wrong(path, "%q is before times are counted: write 1970-01-01T00:00:01Z or later", text)
	}
	return start.UTC()
}

// offset reads a length of time; empty is 0.
func (l *loader) offset(path string, text v1alpha1.Offset) time.Duration {
	if text == "" {
		return 0
	}
	length, err := batch.ParseDuration(string(text))
	if err != nil {
		l.wrong(path, "%v", err)
	}
	return length
}
