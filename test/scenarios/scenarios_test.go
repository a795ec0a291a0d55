package scenarios_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

var update = flag.Bool("update", false, "write the event logs that exist anew")

// linesMax keeps a scenario to one idea.
const linesMax = 60

func server(t *testing.T) *admission.Server {
	t.Helper()
	s, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// files are the scenarios under a folder, by theme and name.
func files(t *testing.T, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// play plays a scenario and returns what came of it and its event log.
func play(path string, admitter scenario.Admitter) (*scenario.File, *sim.Result, []byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, nil, err
	}
	file, err := scenario.Load(path, content, scenario.Options{Admitter: admitter})
	if err != nil {
		return nil, nil, nil, err
	}
	var log bytes.Buffer
	encoder := json.NewEncoder(&log)
	encoder.SetEscapeHTML(false)
	var failed error
	options := sim.Options{Log: func(e sim.Entry) { failed = errors.Join(failed, encoder.Encode(e)) }}
	if file.Trace != nil {
		in, err := os.Open(filepath.Join(filepath.Dir(path), file.Trace.File))
		if err != nil {
			return nil, nil, nil, err
		}
		defer in.Close()
		if options.Source, err = scenario.OpenTrace(file, in); err != nil {
			return nil, nil, nil, err
		}
	}
	result, err := sim.Run(file, options)
	return file, result, log.Bytes(), errors.Join(err, failed)
}

func judge(t *testing.T, result *sim.Result) {
	t.Helper()
	for _, o := range result.Outcomes {
		if !o.Hold {
			t.Errorf("line %d: %s\n    %s", o.Line, o.Text, o.Got)
		}
	}
	if result.Breach != nil {
		t.Errorf("an invariant is breached %s", result.Breach)
	}
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	admitter := server(t)
	all := files(t, ".")
	if len(all) < 60 {
		t.Errorf("%d scenarios are found; where are the others?", len(all))
	}
	for _, path := range all {
		t.Run(strings.TrimSuffix(path, ".yaml"), func(t *testing.T) {
			t.Parallel()
			file, result, log, err := play(path, admitter)
			if err != nil {
				t.Fatal(err)
			}
			judge(t, result)
			readable(t, path, file)
			golden(t, strings.TrimSuffix(path, ".yaml")+".events", log)
		})
	}
}

// readable holds a scenario to the rules of the house.
func readable(t *testing.T, path string, file *scenario.File) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines >= linesMax {
		t.Errorf("has %d lines: one idea takes fewer than %d", lines, linesMax)
	}
	if want := strings.TrimSuffix(filepath.Base(path), ".yaml"); file.Name != want {
		t.Errorf("its name is %q, that of its file %q", file.Name, want)
	}
	if file.About == "" || !bytes.Contains(text, []byte("  # why: ")) {
		t.Error("says neither its idea (about) nor its reckoning (# why:)")
	}
}

// golden compares the event log where one is kept.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, diff)
	}
}

// The same file gives the same run, to the byte.
func TestRunsRepeat(t *testing.T) {
	t.Parallel()
	admitter := server(t)
	for _, path := range files(t, ".") {
		_, _, once, err1 := play(path, admitter)
		_, _, twice, err2 := play(path, admitter)
		if err1 != nil || err2 != nil {
			t.Fatalf("%s: %v, %v", path, err1, err2)
		}
		if !bytes.Equal(once, twice) {
			t.Errorf("%s: two runs differ:\n%s", path, cmp.Diff(string(once), string(twice)))
		}
	}
}

// sharedFolder holds the scenarios that all parts of Berth are built to. It is
// no part of the project: where it is missing, the test skips.
const sharedFolder = "../../../shared/scenarios"

// Each of them holds, or is refused for what is missing: none is half-played.
func TestSharedScenariosHoldOrAreRefusedByName(t *testing.T) {
	t.Parallel()
	all := files(t, sharedFolder)
	if len(all) == 0 {
		t.Skipf("the shared scenarios are not there (%s)", sharedFolder)
	}
	admitter := server(t)
	for _, path := range all {
		name, _ := filepath.Rel(sharedFolder, path)
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			t.Parallel()
			if why := underWay()[strings.TrimSuffix(name, ".yaml")]; why != "" {
				t.Skip(why)
			}
			_, result, _, err := play(path, admitter)
			switch {
			case err != nil && refusedByName(err):
				t.Skipf("refused: %v", err)
			case err != nil:
				t.Fatal(err)
			default:
				judge(t, result)
			}
		})
	}
}

// underWay are scenarios whose fields the API has, and whose behaviour is being
// built.
func underWay() map[string]string {
	return map[string]string{}
}

// refusedByName says whether an error names what this version does not have.
func refusedByName(err error) bool {
	for _, words := range []string{scenario.NotBuilt("X")[:26], "unknown field", "Unsupported value", "Too many"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}
