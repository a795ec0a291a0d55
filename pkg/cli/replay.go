package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/journal"
	"github.com/berth-dev/berth/pkg/options"
	"github.com/berth-dev/berth/pkg/scenario"
)

// differencesMax bounds what --diff prints: the first differences are the
// cause, the rest follows from them.
const differencesMax = 200

type replayOptions struct {
	diff bool
	with []string
	out  io.Writer
	told int
	// standing is what would be decided now and was not then, by workload:
	// history goes on without it, so that each later plan says it again.
	standing map[batch.WorkloadID]string
}

func replayCommand() *cobra.Command {
	o := &replayOptions{standing: map[batch.WorkloadID]string{}}
	cmd := &cobra.Command{
		Use:   "replay JOURNAL",
		Short: "Play a controller's journal again and compare each plan with the one that was made",
		Long: `Play what a controller recorded (--journal-dir) with this program's planner, and
compare each plan, to the digest, with the one that was made then. JOURNAL is a
file, or the folder of all its segments.

With --with, Berth objects replace those of the same kind and name throughout:
what would have been decided under another policy? History goes on as it was;
only the decisions are compared.

Exit code: 0 every plan is the same; 1 some differ; 2 the journal cannot be
read, or has no plan.`,
		Example: `  kubectl berth replay /var/lib/berth/journal
  kubectl berth replay berth-000007.journal --diff --with policy.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.out = cmd.OutOrStdout()
			return o.run(args[0])
		},
	}
	cmd.Flags().BoolVar(&o.diff, "diff", false, "print the decisions that differ")
	cmd.Flags().StringArrayVar(&o.with, "with", nil, "`FILE` of Berth objects that replace those of the same kind and name; may be repeated")
	return cmd
}

func (o *replayOptions) run(path string) error {
	names, err := segments(path)
	if err != nil {
		return err
	}
	replace, err := o.replacement()
	if err != nil {
		return err
	}
	options.CollectRarely()
	options := journal.Options{Replace: replace, Visit: o.tell}
	var sum journal.Summary
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		err = journal.Replay(file, options, &sum)
		_ = file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if sum.Plans == 0 {
		return fmt.Errorf("%s: has no plan (segments: %d, events: %d): there is nothing to compare", path, sum.Segments, sum.Events)
	}
	o.summary(sum)
	if sum.Differ > 0 {
		return exitError{exitFailed}
	}
	return nil
}

// segments are the files of a journal, oldest first.
func segments(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	names, err := filepath.Glob(filepath.Join(path, "*.journal"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no files *.journal", path)
	}
	slices.Sort(names)
	return names, nil
}

// replacement changes what the journal saw of the objects that are given; nil:
// none are.
func (o *replayOptions) replacement() (func(batch.Event) batch.Event, error) {
	if len(o.with) == 0 {
		return nil, nil
	}
	server, err := admission.New()
	if err != nil {
		return nil, err
	}
	var given []batch.Event
	for _, path := range o.with {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		objects, alone, err := scenario.Objects(path, text)
		if err != nil {
			return nil, err
		}
		if !alone {
			return nil, fmt.Errorf("%s: is a scenario; --with takes Berth objects", path)
		}
		for _, other := range objects {
			object, err := server.Admit(other.Object, nil)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if object.Seen == nil {
				return nil, fmt.Errorf("%s: a %s is in no journal", path, object.Kind)
			}
			given = append(given, object.Seen)
		}
	}
	if len(given) == 0 {
		return nil, errors.New("--with: the files hold no objects")
	}
	return func(e batch.Event) batch.Event {
		for _, other := range given {
			if sameObject(e, other) {
				return other
			}
		}
		return e
	}, nil
}

// sameObject says whether two events are about one configured object.
func sameObject(a, b batch.Event) bool {
	switch a := a.(type) {
	case batch.PolicyObserved:
		_, ok := b.(batch.PolicyObserved)
		return ok
	case batch.QueueObserved:
		b, ok := b.(batch.QueueObserved)
		return ok && a.Queue.Name == b.Queue.Name
	case batch.CohortObserved:
		b, ok := b.(batch.CohortObserved)
		return ok && a.Cohort.Name == b.Cohort.Name
	case batch.AccountObserved:
		b, ok := b.(batch.AccountObserved)
		return ok && a.Account.Name == b.Account.Name
	case batch.LocalQueueObserved:
		b, ok := b.(batch.LocalQueueObserved)
		return ok && a.LocalQueue.Name == b.LocalQueue.Name
	case batch.TopologyObserved:
		b, ok := b.(batch.TopologyObserved)
		return ok && a.Topology.Name == b.Topology.Name
	case batch.FlavorObserved:
		b, ok := b.(batch.FlavorObserved)
		return ok && a.Flavor.Name == b.Flavor.Name
	}
	return false
}

func (o *replayOptions) tell(s journal.Step) {
	if s.Same || !o.diff {
		return
	}
	differences := journal.Differences(s.Recorded, s.Now)
	if len(differences) == 0 && o.told < differencesMax {
		o.told++
		fmt.Fprintf(o.out, "%s  the same decisions, with other placements of planned starts, facts or wake-up\n", s.At.Format(time.RFC3339))
	}
	for _, d := range differences {
		if d.Recorded == "" && o.standing[d.ID] == d.Now {
			continue
		}
		o.standing[d.ID] = d.Now
		if o.told++; o.told > differencesMax {
			return
		}
		fmt.Fprintf(o.out, "%s  %s\n    then: %s\n    now:  %s\n", s.At.Format(time.RFC3339), d.ID, orNothing(d.Recorded), orNothing(d.Now))
	}
}

func orNothing(text string) string {
	if text == "" {
		return "nothing is decided"
	}
	return text
}

func (o *replayOptions) summary(sum journal.Summary) {
	if o.told > differencesMax {
		fmt.Fprintf(o.out, "and %d differences more\n", o.told-differencesMax)
	}
	fmt.Fprintf(o.out, "segments: %d, events: %d, plans: %d; ", sum.Segments, sum.Events, sum.Plans)
	if sum.Differ == 0 {
		fmt.Fprintln(o.out, "every plan comes out the same")
	} else {
		fmt.Fprintf(o.out, "%d of %d plans differ\n", sum.Differ, sum.Plans)
	}
	if sum.Lost > 0 {
		fmt.Fprintf(o.out, "%d passes were not recorded: the disk was slow or full\n", sum.Lost)
	}
	if sum.Cut {
		fmt.Fprintln(o.out, "the journal ends in the middle of a line: the process died while it wrote")
	}
}
