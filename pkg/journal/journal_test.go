package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
	"github.com/berth-dev/berth/pkg/journal"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// recorded plays a scenario and records it, with a new segment after so many
// passes; 0: one segment.
func recorded(t *testing.T, path string, admitter scenario.Admitter, passes int) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := scenario.Load(path, text, scenario.Options{Admitter: admitter})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var writer *journal.Writer
	segment, written := 0, 0
	begin := func(image core.Image) {
		segment++
		written = 0
		if writer, err = journal.NewWriter(&out, journal.Header{Segment: segment, At: file.Start}, image); err != nil {
			t.Fatal(err)
		}
	}
	_, err = sim.Run(file, sim.Options{Began: begin, Pass: func(p sim.Pass) {
		if err := writer.Write(journal.Pass{Events: p.Events, Plan: p.Plan, Issued: p.Issued}); err != nil {
			t.Fatal(err)
		}
		if written++; written == passes {
			begin(p.Image())
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func ownScenarios(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../../test/scenarios/*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios are found: %v", err)
	}
	var out []string
	for _, path := range paths {
		if !strings.Contains(path, "/trace/") {
			out = append(out, path)
		}
	}
	return out
}

// Every plan comes out again, wherever a segment begins: its image is all that
// later plans depend on.
func TestReplayGivesEveryPlanAgain(t *testing.T) {
	t.Parallel()
	admitter, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range ownScenarios(t) {
		for _, passes := range []int{0, 1, 3} {
			var sum journal.Summary
			visit := func(s journal.Step) {
				if !s.Same {
					t.Errorf("%s, %d passes a segment, at %s: another plan:\n%v", path, passes, s.At, journal.Differences(s.Recorded, s.Now))
				}
			}
			text := recorded(t, path, admitter, passes)
			if err := journal.Replay(bytes.NewReader(text), journal.Options{Visit: visit}, &sum); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if sum.Plans == 0 || sum.Differ != 0 {
				t.Errorf("%s: %+v", path, sum)
			}
		}
	}
}

func TestWhatIfTellsTheDecisionsThatDiffer(t *testing.T) {
	t.Parallel()
	admitter, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	text := recorded(t, "../../test/scenarios/backfill/a-wide-short-job-passes-a-narrow-long-one.yaml", admitter, 0)
	none := batch.DefaultPolicy()
	none.Backfill = batch.BackfillNone
	var got []journal.Difference
	var sum journal.Summary
	err = journal.Replay(bytes.NewReader(text), journal.Options{
		Replace: func(e batch.Event) batch.Event {
			if _, ok := e.(batch.PolicyObserved); ok {
				return batch.PolicyObserved{Policy: none}
			}
			return e
		},
		Visit: func(s journal.Step) { got = append(got, journal.Differences(s.Recorded, s.Now)...) },
	}, &sum)
	if err != nil {
		t.Fatal(err)
	}
	want := journal.Difference{
		ID: "default/head", Recorded: "waits (Resources), planned for 2026-01-05T01:00:00Z", Now: "waits (Resources), no start planned",
	}
	if len(got) == 0 || got[0] != want {
		t.Errorf("the first difference is not that no start is planned:\n%s", cmp.Diff([]journal.Difference{want}, got))
	}
}

func TestAJournalThatWasCutCountsUpToThere(t *testing.T) {
	t.Parallel()
	admitter, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	text := recorded(t, "../../test/scenarios/gang/all-or-nothing.yaml", admitter, 0)
	var sum journal.Summary
	if err := journal.Replay(bytes.NewReader(text[:len(text)-20]), journal.Options{}, &sum); err != nil {
		t.Fatal(err)
	}
	if !sum.Cut || sum.Differ != 0 || sum.Plans == 0 {
		t.Errorf("%+v", sum)
	}
}

func TestWhatIsNoJournalIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"hello\n", "line 1: invalid character"},
		{"{\"event\":\"NodeGone\",\"of\":{\"Name\":\"n\"}}\n", "does not begin with a header"},
		{"{\"journal\":9}\n", "form 9; this program reads form 1"},
		{"{\"journal\":1}\n{\"event\":\"Nonsense\",\"of\":{}}\n", `unknown kind "Nonsense"`},
		{"{\"journal\":1}\n{}\n", "says nothing"},
	} {
		err := journal.Replay(strings.NewReader(test.text), journal.Options{}, &journal.Summary{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}

func TestDigestTellsPlansApartAndNotCounts(t *testing.T) {
	t.Parallel()
	plan := batch.Plan{At: time.Unix(0, 0).UTC(), Finish: []batch.FinishDecision{{ID: "a/b", End: batch.End{State: batch.Completed}}}}
	counted := plan
	counted.Stats.Waiting = 7
	other := plan
	other.Wake = time.Unix(60, 0).UTC()
	digest := func(p batch.Plan) string {
		d, err := journal.Digest(p)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if digest(plan) != digest(counted) || digest(plan) == digest(other) {
		t.Errorf("digests: %s, counted %s, other %s", digest(plan), digest(counted), digest(other))
	}
}
