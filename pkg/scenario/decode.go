package scenario

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// nodesMax bounds how many YAML nodes a document may expand to: a few
// thousand jobs need a fraction, a bomb of anchors needs more.
const nodesMax = 2_000_000

// depthMax is how deep values may lie in each other. A scenario needs ten.
const depthMax = 50

// decoder fills Go values from one YAML document, strictly.
type decoder struct {
	*findings
	document int
	// absent are fields that the format has and this version does not, by
	// path without indices: what is missing.
	absent map[string]string
	nodes  int
	depth  int
	// lines are where fields stand, by path.
	lines map[string]int
}

// withoutIndices is a path of a field whichever item of a list it is in:
// spec.jobs[].name.
func withoutIndices(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		b.WriteByte(path[i])
		if path[i] == '[' {
			for i+1 < len(path) && path[i+1] >= '0' && path[i+1] <= '9' {
				i++
			}
		}
	}
	return b.String()
}

func (d *decoder) fail(node *yaml.Node, path, format string, args ...any) {
	d.add(Problem{Document: d.document, Line: node.Line, Path: path, Text: fmt.Sprintf(format, args...)})
}

// resolve follows an alias and counts, so that no document grows without end.
// Whoever calls it goes one deeper, and must call up on return.
func (d *decoder) resolve(node *yaml.Node, path string) (*yaml.Node, bool) {
	d.nodes++
	d.depth++
	if d.depth > depthMax {
		if d.nodes < nodesMax {
			d.fail(node, path, "lies more than %d values deep", depthMax)
		}
		d.nodes = nodesMax // enough of this document
		return nil, false
	}
	if d.nodes == nodesMax {
		d.fail(node, path, "the document has more than %d values, anchors expanded", nodesMax)
	}
	if d.nodes >= nodesMax {
		return nil, false
	}
	if node.Kind == yaml.AliasNode {
		return node.Alias, true
	}
	return node, true
}

func (d *decoder) up() { d.depth-- }

// value is a node as JSON would have it.
func (d *decoder) value(node *yaml.Node, path string) any {
	defer d.up()
	node, ok := d.resolve(node, path)
	if !ok {
		return nil
	}
	switch node.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		d.pairs(node, path, func(key string, _, value *yaml.Node) {
			object[key] = d.value(value, join(path, key))
		})
		return object
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for i, item := range node.Content {
			list = append(list, d.value(item, fmt.Sprintf("%s[%d]", path, i)))
		}
		return list
	case yaml.ScalarNode:
		v, err := plain(node)
		if err != nil {
			d.fail(node, path, "%v", err)
		}
		return v
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return nil
}

// pairs visits the fields of a mapping; keys are text and stand once.
func (d *decoder) pairs(node *yaml.Node, path string, visit func(key string, at, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		at, value := node.Content[i], node.Content[i+1]
		switch {
		case at.Kind != yaml.ScalarNode:
			d.fail(at, path, "the name of a field must be a word")
		case at.Value == "<<" && at.Tag == "!!merge":
			d.fail(at, path, "merge keys (<<) are not YAML 1.2; write the fields out")
		case seen[at.Value]:
			d.fail(at, join(path, at.Value), "stands twice")
		default:
			seen[at.Value] = true
			visit(at.Value, at, value)
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	if strings.ContainsAny(key, "./") {
		return path + "[" + key + "]"
	}
	return path + "." + key
}

// into fills a value from a node.
func (d *decoder) into(node *yaml.Node, target reflect.Value, path string) {
	defer d.up()
	node, ok := d.resolve(node, path)
	if !ok {
		return
	}
	d.lines[path] = node.Line
	if node.Kind == yaml.ScalarNode && kindOf(node) == kindNull {
		d.fail(node, path, "has no value: give one, or leave the field out")
		return
	}
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	if text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](target.Addr()); ok {
		d.intoText(node, text, path)
		return
	}
	switch target.Kind() {
	case reflect.Struct:
		d.intoStruct(node, target, path)
	case reflect.Map:
		d.intoMap(node, target, path)
	case reflect.Slice:
		d.intoList(node, target, path)
	case reflect.Interface:
		target.Set(reflect.ValueOf(d.value(node, path)))
	default:
		d.intoScalar(node, target, path)
	}
}

func (d *decoder) intoText(node *yaml.Node, target encoding.TextUnmarshaler, path string) {
	if node.Kind != yaml.ScalarNode {
		d.fail(node, path, "must be a single value, not %s", shape(node))
		return
	}
	text := node.Value
	if kindOf(node) == kindInt {
		if n, err := integer(text); err == nil {
			text = strconv.FormatInt(n, 10) // 0x10 is 16
		}
	}
	if err := target.UnmarshalText([]byte(text)); err != nil {
		d.fail(node, path, "%v", err)
	}
}

func (d *decoder) intoScalar(node *yaml.Node, target reflect.Value, path string) {
	if node.Kind != yaml.ScalarNode {
		d.fail(node, path, "must be a single value, not %s", shape(node))
		return
	}
	is := kindOf(node)
	switch target.Kind() {
	case reflect.String:
		if is != kindText {
			d.fail(node, path, "%s is %s, and text is wanted: write %q with the quotes", node.Value, is, node.Value)
			return
		}
		target.SetString(node.Value)
	case reflect.Bool:
		if is != kindBool {
			d.fail(node, path, "%q is not a boolean: write true or false", node.Value)
			return
		}
		target.SetBool(node.Value == "true")
	case reflect.Int, reflect.Int64:
		n, err := integer(node.Value)
		if is != kindInt || err != nil {
			d.fail(node, path, "%q is not a whole number", node.Value)
			return
		}
		target.SetInt(n)
	default:
		panic(fmt.Sprintf("scenario: a field of kind %s at %s", target.Kind(), path))
	}
}

func (d *decoder) intoList(node *yaml.Node, target reflect.Value, path string) {
	if node.Kind != yaml.SequenceNode {
		d.fail(node, path, "must be a list, not %s", shape(node))
		return
	}
	list := reflect.MakeSlice(target.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		d.into(item, list.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	target.Set(list)
}

func (d *decoder) intoMap(node *yaml.Node, target reflect.Value, path string) {
	if node.Kind != yaml.MappingNode {
		d.fail(node, path, "must be a mapping, not %s", shape(node))
		return
	}
	filled := reflect.MakeMap(target.Type())
	d.pairs(node, path, func(key string, _, value *yaml.Node) {
		item := reflect.New(target.Type().Elem()).Elem()
		d.into(value, item, join(path, key))
		filled.SetMapIndex(reflect.ValueOf(key), item)
	})
	target.Set(filled)
}

func (d *decoder) intoStruct(node *yaml.Node, target reflect.Value, path string) {
	if node.Kind != yaml.MappingNode {
		d.fail(node, path, "must be a mapping, not %s", shape(node))
		return
	}
	fields := fieldsOf(target.Type())
	given := map[string]bool{}
	d.pairs(node, path, func(key string, at, value *yaml.Node) {
		given[key] = true
		where := join(path, key)
		field, known := fields[key]
		if !known {
			d.fail(at, where, "unknown field%s", suggestion(key, sortedNames(fields)))
			return
		}
		if what, is := d.absent[withoutIndices(where)]; is {
			d.fail(at, where, "%s", NotBuilt(what))
			return
		}
		d.into(value, target.Field(field.index), where)
	})
	for _, name := range sortedNames(fields) {
		if fields[name].required && !given[name] {
			d.fail(node, join(path, name), "is missing")
		}
	}
}

// NotBuilt is how a field, kind or value is refused whose behaviour this
// version does not have.
func NotBuilt(what string) string {
	return "this version does not have " + what + " yet, and would play the file wrongly without"
}

type field struct {
	index    int
	required bool
}

func fieldsOf(t reflect.Type) map[string]field {
	fields := map[string]field{}
	for i := range t.NumField() {
		name, rest, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = field{index: i, required: !strings.Contains(rest, "omit")}
	}
	return fields
}

func sortedNames(fields map[string]field) []string {
	names := make([]string, 0, len(fields))
	for name := range fields { //order:any sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func shape(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.DocumentNode, yaml.ScalarNode, yaml.AliasNode:
	}
	return fmt.Sprintf("%q", node.Value)
}

// suggestion is the known name that is nearest to an unknown one.
func suggestion(name string, sorted []string) string {
	best, distance := "", 3
	for _, known := range sorted {
		if strings.EqualFold(known, name) {
			return fmt.Sprintf("; did you mean %q?", known)
		}
		if n := edits(known, name); n < distance {
			best, distance = known, n
		}
	}
	if best == "" || len(name) < 3 {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// edits is the number of letters to insert, drop or replace.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
