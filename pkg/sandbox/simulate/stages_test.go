package simulate

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// documents are those of kwok's file.
func documents(t *testing.T) []map[string]any {
	t.Helper()
	file, err := KwokConfig()
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for raw := range bytes.SplitSeq(file, []byte("---\n")) {
		var document map[string]any
		if err := yaml.Unmarshal(raw, &document); err != nil {
			t.Fatalf("%v in\n%s", err, raw)
		}
		if document != nil {
			all = append(all, document)
		}
	}
	return all
}

func TestKwoksFileHoldsItsOptionsAndOurStages(t *testing.T) {
	t.Parallel()
	var got []string
	for _, document := range documents(t) {
		name := ""
		if metadata, ok := document["metadata"].(map[string]any); ok {
			name = metadata["name"].(string)
		}
		got = append(got, strings.TrimSuffix(document["kind"].(string)+" "+name, " "))
	}
	want := []string{
		"KwokConfiguration",
		"Stage pod-reject", "Stage pod-start", "Stage pod-ready", "Stage pod-exit", "Stage pod-deadline",
		"Stage pod-cancel", "Stage pod-terminate", "Stage pod-leave", "Stage pod-kill", "Stage pod-remove",
		"Stage node-ready",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A pod that is removed before it is terminal leaves its Job waiting for ever.
func TestOnlyTerminalPodsAreRemoved(t *testing.T) {
	t.Parallel()
	for _, s := range podStages() {
		if s.then == "" && (!slices.Equal(s.phases, terminal) || s.deleted != isDeleted) {
			t.Errorf("stage %s removes pods in %v, deleted: %s", s.name, s.phases, s.deleted)
		}
	}
}

// Each template is one that Go reads, and none writes an annotation or status
// of another pod than it was made for.
func TestTemplatesAreSound(t *testing.T) {
	t.Parallel()
	functions := template.FuncMap{}
	for _, name := range []string{
		"dateInZone", "now", "default", "dict", "Quote", "hasKey", "not", "index", "int", "eq", "hasPrefix",
		"PodIPWith", "dateModify", "printf", "NodeConditions", "range",
	} {
		functions[name] = func(...any) string { return "" }
	}
	for _, s := range slices.Concat(podStages(), nodeStages()) {
		if s.then == "" {
			continue
		}
		if _, err := template.New(s.name).Funcs(functions).Parse(s.then); err != nil {
			t.Errorf("stage %s: %v", s.name, err)
		}
		if s.kind == "" && !strings.Contains(s.then, "uid: {{ .metadata.uid | Quote }}") {
			t.Errorf("stage %s does not name the pod's UID", s.name)
		}
	}
}
