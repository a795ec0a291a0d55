package scenario

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
)

// TestTheReferenceHasEachField of the format, in the section of its type, and
// says of those, and of no others, that they are refused.
func TestTheReferenceHasEachField(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../site/reference/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|(.*)$")
	for _, text := range strings.Split(string(page), "\n## ")[1:] {
		heading, body, _ := strings.Cut(text, "\n")
		fields := map[string]string{}
		for _, found := range row.FindAllStringSubmatch(body, -1) {
			fields[found[1]] = found[2]
		}
		sections[heading] = fields
	}
	absent := absentFields()
	for _, section := range []struct {
		heading string
		of      reflect.Type
		path    string
	}{
		{"Scenario", reflect.TypeFor[v1alpha1.Scenario](), ""},
		{"spec", reflect.TypeFor[v1alpha1.ScenarioSpec](), "spec."},
		{"Node group", reflect.TypeFor[v1alpha1.NodeGroup](), "spec.nodes[]."},
		{"Job", reflect.TypeFor[v1alpha1.Job](), "spec.jobs[]."},
		{"Pod set", reflect.TypeFor[v1alpha1.PodSet](), "spec.jobs[].podSets[]."},
		{"Checkpoint", reflect.TypeFor[v1alpha1.Checkpoint](), "spec.jobs[].checkpoint."},
		{"Trace", reflect.TypeFor[v1alpha1.Trace](), "spec.trace."},
		{"Columns", reflect.TypeFor[v1alpha1.TraceColumns](), "spec.trace.columns."},
		{"Event", reflect.TypeFor[v1alpha1.Event](), "spec.events[]."},
		{"Edit", reflect.TypeFor[v1alpha1.Edit](), "spec.events[].set."},
		{"Expectation", reflect.TypeFor[v1alpha1.Expectation](), "spec.expect[]."},
	} {
		told := sections[section.heading]
		for field := range section.of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			words, is := told[name]
			delete(told, name)
			if _, refused := absent[section.path+name]; !is || refused != strings.Contains(words, "**refused**") {
				t.Errorf("%s: %s stands there: %t; this version refuses it: %t; it says%s", section.heading, name, is, refused, words)
			}
		}
		for name := range told {
			t.Errorf("%s: there is no field %s", section.heading, name)
		}
	}
	for _, name := range Metrics() {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the metric %s is not there", name)
		}
	}
	for _, name := range states() {
		if !strings.Contains(string(page), name) {
			t.Errorf("the state %s is not there", name)
		}
	}
}
