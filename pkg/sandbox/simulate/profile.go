package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// Profile is a cluster's hardware, as a file tells it.
type Profile struct {
	NodeGroups []NodeGroup `json:"nodeGroups"`
}

// Limits of a profile. They are far beyond what one machine can play, and
// there so that a slip of the finger is answered at once.
const (
	maxNodes  = 20000
	maxGroups = 100
)

// ParseProfile reads a profile. It takes no field that it does not know, and
// its error names every field that is wrong.
func ParseProfile(raw []byte) (Profile, error) {
	p, err := decodeProfile(raw)
	if err != nil {
		return Profile{}, fmt.Errorf("%w; a profile is nodeGroups: [{prefix, count, resources, labels, taints, racks, blocks}]", err)
	}
	if problems := p.problems(); len(problems) > 0 {
		return Profile{}, fmt.Errorf("%s", strings.Join(problems, "\n"))
	}
	return p, nil
}

// decodeProfile goes by way of JSON, because YAML's own decoder would turn the
// prefix n into the word "false" without a sound. It takes the groups one by
// one, so that an error can name the group.
func decodeProfile(raw []byte) (Profile, error) {
	text, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return Profile{}, err
	}
	var file struct {
		NodeGroups []json.RawMessage `json:"nodeGroups"`
	}
	if err := decodeStrictly(text, &file); err != nil {
		return Profile{}, err
	}
	var p Profile
	for i, text := range file.NodeGroups {
		var g NodeGroup
		if err := decodeStrictly(text, &g); err != nil {
			return Profile{}, fmt.Errorf("nodeGroups[%d].%w", i, err)
		}
		p.NodeGroups = append(p.NodeGroups, g)
	}
	return p, nil
}

// decodeStrictly decodes JSON into a struct that has all its fields. Its
// errors begin with a field.
func decodeStrictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Value == "bool":
		return fmt.Errorf("%s: %s is a word that YAML reads as true or false, as it does y, n, yes, no, on and off; put it in quotes", wrong.Field, valueAt(text, wrong.Field))
	case errors.As(err, &wrong):
		return fmt.Errorf("%s: %s is a %s, want a value of type %s", wrong.Field, valueAt(text, wrong.Field), wrong.Value, wrong.Type)
	case err == nil:
		return nil
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		return fmt.Errorf("%s: there is no such field", strings.Trim(name, `"`))
	}
	return err
}

// valueAt is the value of a field, its names separated by dots, as JSON; empty
// if there is none.
func valueAt(text []byte, field string) string {
	for name := range strings.SplitSeq(field, ".") {
		var fields map[string]json.RawMessage
		if json.Unmarshal(text, &fields) != nil {
			break // the rest of the path is a key with dots in it
		}
		text = fields[name]
	}
	return string(text)
}

func (p Profile) problems() []string {
	if len(p.NodeGroups) == 0 {
		return []string{"nodeGroups: empty; give at least one group, such as {prefix: node, count: 16}"}
	}
	if len(p.NodeGroups) > maxGroups {
		return []string{fmt.Sprintf("nodeGroups: %d groups, at most %d are allowed", len(p.NodeGroups), maxGroups)}
	}
	var problems []string
	first := map[string]int{}
	nodes := 0
	for i, g := range p.NodeGroups {
		field := fmt.Sprintf("nodeGroups[%d]", i)
		problems = append(problems, g.Problems(field)...)
		if j, taken := first[g.Prefix]; taken {
			problems = append(problems, fmt.Sprintf("%s.prefix: %q is that of nodeGroups[%d] too; two nodes can't have one name", field, g.Prefix, j))
		} else {
			first[g.Prefix] = i
		}
		nodes += g.Count
	}
	if len(problems) == 0 && nodes > maxNodes {
		problems = append(problems, fmt.Sprintf("nodeGroups: %d nodes together, at most %d are allowed", nodes, maxNodes))
	}
	return problems
}

// Problems says what is wrong with a group, each line beginning with the
// field; nothing if it is valid.
func (g NodeGroup) Problems(field string) []string {
	var problems []string
	report := func(name, format string, args ...any) {
		problems = append(problems, field+"."+name+": "+fmt.Sprintf(format, args...))
	}
	if errs := validation.IsDNS1123Label(g.Prefix); len(errs) > 0 {
		report("prefix", "%q: %s", g.Prefix, errs[0])
	} else if len(g.Prefix) > 50 {
		report("prefix", "%q has %d characters, at most 50 are allowed", g.Prefix, len(g.Prefix))
	}
	if g.Count < 1 || g.Count > maxNodes {
		report("count", "%d: must be 1 to %d", g.Count, maxNodes)
	}
	g.placeProblems(report)
	g.resourceProblems(report)
	g.labelProblems(report)
	g.taintProblems(report)
	return problems
}

type reporter func(name, format string, args ...any)

func (g NodeGroup) placeProblems(report reporter) {
	switch {
	case g.Racks < 0:
		report("racks", "%d: must not be negative", g.Racks)
	case g.Racks > g.Count:
		report("racks", "%d: must not be above count, %d, or racks would be empty", g.Racks, g.Count)
	}
	switch {
	case g.Blocks < 0:
		report("blocks", "%d: must not be negative", g.Blocks)
	case g.Racks > 0 && g.Blocks > g.Racks:
		report("blocks", "%d: must not be above racks, %d, because a rack stands in one block", g.Blocks, g.Racks)
	case g.Blocks > g.Count:
		report("blocks", "%d: must not be above count, %d, or blocks would be empty", g.Blocks, g.Count)
	}
}

func (g NodeGroup) resourceProblems(report reporter) {
	for _, name := range slices.Sorted(maps.Keys(g.Resources)) {
		field, amount := "resources["+name+"]", string(g.Resources[name])
		if errs := validation.IsQualifiedName(name); len(errs) > 0 {
			report(field, "%q is not the name of a resource: %s", name, errs[0])
			continue
		}
		quantity, err := resource.ParseQuantity(amount)
		switch {
		case err != nil:
			report(field, "%q is not a quantity; write 8, 96 or 1Ti", amount)
		case quantity.Sign() < 0:
			report(field, "%q: must not be negative", amount)
		case strings.Contains(name, "/") && quantity.MilliValue()%1000 != 0:
			report(field, "%q: an extended resource is counted in whole units", amount)
		}
	}
}

func (g NodeGroup) labelProblems(report reporter) {
	for _, key := range slices.Sorted(maps.Keys(g.Labels)) {
		field, value := "labels["+key+"]", g.Labels[key]
		if key == corev1.LabelHostname {
			report(field, "%q: is each node's own name and can't be set", value)
		}
		if errs := validation.IsQualifiedName(key); len(errs) > 0 {
			report(field, "%q is not a label: %s", key, errs[0])
		}
		if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
			report(field, "%q: %s", value, errs[0])
		}
	}
}

func (g NodeGroup) taintProblems(report reporter) {
	effects := []string{string(corev1.TaintEffectNoSchedule), string(corev1.TaintEffectPreferNoSchedule), string(corev1.TaintEffectNoExecute)}
	for i, t := range g.Taints {
		field := fmt.Sprintf("taints[%d]", i)
		if errs := validation.IsQualifiedName(t.Key); len(errs) > 0 {
			report(field+".key", "%q: %s", t.Key, errs[0])
		}
		if errs := validation.IsValidLabelValue(t.Value); len(errs) > 0 {
			report(field+".value", "%q: %s", t.Value, errs[0])
		}
		if !slices.Contains(effects, t.Effect) {
			report(field+".effect", "%q: must be one of %s", t.Effect, strings.Join(effects, ", "))
		}
	}
}

// FirstProblem is the first problem of a group as an error, its field replaced
// by what the names map it to; nil if the group is valid.
func FirstProblem(g NodeGroup, names map[string]string) error {
	const field = "group"
	problems := g.Problems(field)
	if len(problems) == 0 {
		return nil
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(problems[0], field+"."), ": ")
	if other, ok := names[name]; ok {
		name = other
	}
	return fmt.Errorf("%s: %s", name, rest)
}
