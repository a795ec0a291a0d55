package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-dev/berth/pkg/sandbox/process"
)

// phase says how far `up` has come.
//
//	starting ──► running
//
// A state that says starting while nobody holds the folder's lock was left by
// an `up` that was killed.
type phase string

const (
	phaseStarting phase = "starting"
	phaseRunning  phase = "running"
)

// stateVersion changes when an older program could not read the file.
const stateVersion = 1

// state is what a sandbox remembers of itself between commands.
type state struct {
	Version    int              `json:"version"`
	Phase      phase            `json:"phase"`
	Created    time.Time        `json:"created"`
	Servers    string           `json:"servers"` // folder of the programs
	Components []componentState `json:"components,omitempty"`
}

// componentState is one started program.
type componentState struct {
	Name string `json:"name"`
	process.Identity
	Port int `json:"port"` // where its health is asked
}

// component returns the state of the component of that name, nil if there is none.
func (s *state) component(name string) *componentState {
	for i := range s.Components {
		if s.Components[i].Name == name {
			return &s.Components[i]
		}
	}
	return nil
}

// set adds a component, in place of an earlier one of its name.
func (s *state) set(c componentState) {
	if old := s.component(c.Name); old != nil {
		*old = c
		return
	}
	s.Components = append(s.Components, c)
}

const (
	stateFile     = "state.json"
	stateFileTemp = stateFile + ".tmp"
)

// readState reads a folder's state; nil without error if there is none.
func readState(dir string) (*state, error) {
	path := filepath.Join(dir, stateFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's state: %w", err)
	}
	var s state
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("read the sandbox's state %s: %w", path, err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("%s has version %d, this berth-sandbox writes %d: take it down with the one that started it", path, s.Version, stateVersion)
	}
	return &s, nil
}

// write replaces the file in one step, so that a reader, or a command after a
// kill in between, sees the old state or the new one.
func (s *state) write(dir string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, stateFileTemp)
	if err := os.WriteFile(temp, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the sandbox's state: %w", err)
	}
	if err := os.Rename(temp, filepath.Join(dir, stateFile)); err != nil {
		return fmt.Errorf("write the sandbox's state: %w", err)
	}
	return nil
}
