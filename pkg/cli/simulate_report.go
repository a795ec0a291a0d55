package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-dev/berth/pkg/report"
	"github.com/berth-dev/berth/pkg/scenario"
)

// other is what is played for comparison: another scenario, or the same with
// some of its objects replaced.
func (o *simulateOptions) other(options scenario.Options) (string, scenario.Options, error) {
	if isLog(o.compare) {
		return "", options, fmt.Errorf("--compare %s: a job log is not taken; give Berth objects, or a scenario that has the log as its trace", o.compare)
	}
	content, err := os.ReadFile(o.compare)
	if err != nil {
		return "", options, err
	}
	objects, alone, err := scenario.Objects(o.compare, content)
	if err != nil {
		return "", options, err
	}
	if !alone {
		return o.compare, options, nil
	}
	if len(objects) == 0 {
		return "", options, fmt.Errorf("%s: has neither a Scenario nor Berth objects", o.compare)
	}
	options.Instead, options.Overrides = objects, nil
	return o.files[0], options, nil
}

// labels are what tells the run and the one that it is compared with apart, on
// the page and above their tables.
func (o *simulateOptions) labels() (first, second string) {
	base := func(path string) string { return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) }
	if len(o.files) > 1 {
		return "", "" // each by its own name
	}
	if o.compare == "" {
		return base(o.files[0]), ""
	}
	first, second = base(o.files[0]), base(o.compare)
	if len(o.overrides) > 0 {
		first += " with " + strings.Join(o.overrides, ", ")
	}
	if first == second {
		return o.files[0], o.compare
	}
	return first, second
}

func writeReport(path string, pages []report.Run) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := report.Write(file, pages...); err != nil {
		_ = file.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return file.Close()
}
