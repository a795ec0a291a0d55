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

// label names the runs by what tells them apart.
func label(pages []report.Run, o *simulateOptions) {
	for i := range pages {
		path := o.files[0]
		if i > 0 {
			path = o.compare
		}
		pages[i].Label = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	if len(pages) > 1 && len(o.overrides) > 0 {
		pages[0].Label += " with " + strings.Join(o.overrides, ", ")
	}
	if len(pages) > 1 && pages[0].Label == pages[1].Label {
		pages[0].Label, pages[1].Label = o.files[0], o.compare
	}
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
