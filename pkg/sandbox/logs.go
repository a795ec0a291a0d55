package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Follow says whether Logs waits for more.
type Follow string

// The values of Follow.
const (
	NoFollow   Follow = ""
	FollowLogs Follow = "Follow"
)

// Logs writes a component's log. With FollowLogs it goes on until the context
// or the sandbox ends.
func (s *Sandbox) Logs(ctx context.Context, component string, follow Follow, out io.Writer) error {
	if !slices.Contains(Components(), component) {
		return usageErrorf("there is no component %q; there are %s", component, strings.Join(Components(), ", "))
	}
	path := filepath.Join(s.Dir, logFolder, component+".log")
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has not been started in this sandbox", component)
	}
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", component, err)
	}
	defer file.Close()
	for {
		if _, err := io.Copy(out, file); err != nil {
			return fmt.Errorf("read the log of %s: %w", component, err)
		}
		if follow != FollowLogs {
			return nil
		}
		if _, err := os.Stat(path); err != nil {
			return nil // taken down
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}
