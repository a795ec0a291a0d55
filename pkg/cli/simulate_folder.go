package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/berth-dev/berth/pkg/scenario"
)

// expand puts the scenario files of a folder in its place, by name.
func (o *simulateOptions) expand() error {
	var files []string
	for _, path := range o.files {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			files = append(files, path) // what can't be read is told when it is its turn
			continue
		}
		o.folder = true
		found, err := scenariosIn(path)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("%s: has no scenario: no file *.yaml or *.yml with a document of kind Scenario", path)
		}
		files = append(files, found...)
	}
	o.files = files
	return nil
}

// scenariosIn are the files of a folder that have a Scenario, by name. Others may
// lie beside them: policies to compare with, job logs. What can't be read as YAML
// is left in, so that it is told.
func scenariosIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder) // by name
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(entry.Name())) {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if _, alone, err := scenario.Objects(path, content); err != nil || !alone {
			found = append(found, path)
		}
	}
	return found, nil
}
